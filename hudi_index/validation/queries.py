"""Queries that put indexes to the test: given by the user, or made from the table's own values.

Made queries ask one index alone, or about several at once, with values that are there, that are just beside
one that is, that are at an end, that are null, or that indexes have been seen to get wrong. What is asked
follows the type: of texts also patterns, of arrays their elements. The same seed on the same values makes the
same queries.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyarrow import types

from hudi_index.validation.literals import column_text, hostile_values, literal_of, neighbours_of
from hudi_index.validation.patterns import membership, text_pattern

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

__all__ = ["Query", "Subject", "generate_queries", "parse_queries"]

PREDICATE, SQL = "predicate", "sql"
_COMPARISONS = ("=", "=", "=", "<", "<=", ">", ">=", "!=", "<=>")
_MOST_WANTED = 4


@dataclass(frozen=True, slots=True)
class Query:
    """One question that is asked twice."""

    text: str
    form: str = PREDICATE
    """`predicate`, or `sql` for a whole statement over the view."""
    is_given: bool = False
    about: tuple[str, ...] = ()
    """The indexes that it was made for."""
    only: tuple[str, ...] | None = None
    """The indexes that are asked, whatever that costs; None for those that any query would ask."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What made queries speak of: a column or an expression that an index is over."""

    index: str
    text: str
    """As a query spells it."""
    data_type: pa.DataType
    column: str | None = None
    """The column, or field inside one; None for an expression."""

    @classmethod
    def of_column(cls, index: str, path: str, data_type: pa.DataType) -> Subject:
        """A column, or a field inside one."""
        return cls(index, column_text(path), data_type, path)

    @property
    def is_array(self) -> bool:
        """Whether its elements are asked for."""
        return types.is_list(self.data_type) or types.is_large_list(self.data_type)

    @property
    def is_text(self) -> bool:
        """Whether patterns are asked for."""
        return types.is_string(self.data_type) or types.is_large_string(self.data_type)

    @property
    def element(self) -> Subject:
        """The same for the elements of an array."""
        # As Any: pyarrow's stubs don't know that it is a list.
        data_type: Any = self.data_type
        return replace(self, data_type=data_type.value_type)


def parse_queries(where: Sequence[str], sql: Sequence[str]) -> list[Query]:
    """The user's own."""
    return [
        *(Query(text, PREDICATE, is_given=True) for text in where),
        *(Query(text, SQL, is_given=True) for text in sql),
    ]


def generate_queries(
    subjects: Sequence[Subject], values: Mapping[str, Sequence[Any]], *, seed: int
) -> Iterator[Query]:
    """Queries without end, one index after the other, every third one mixed.

    Args:
        subjects: What to ask about.
        values: Values that are in the table, by the text of the subject.
        seed: Which queries.
    """
    if not subjects:
        return
    maker = _Maker(subjects, values, random.Random(seed))
    position = 0
    while True:
        position += 1
        yield (
            maker.mixed()
            if position % 3 == 0
            else maker.single(subjects[(position - position // 3) % len(subjects)])
        )


class _Maker:
    def __init__(
        self, subjects: Sequence[Subject], values: Mapping[str, Sequence[Any]], chance: random.Random
    ) -> None:
        self._subjects, self._chance = subjects, chance
        self._values = {each.text: _plain_values(each, values.get(each.text, ())) for each in subjects}

    def single(self, subject: Subject) -> Query:
        # A cheaper index, or one that answers as well, would hide what this one says.
        return Query(self._leaf(subject), about=(subject.index,), only=(subject.index,))

    def mixed(self) -> Query:
        wanted = self._chance.randint(2, _MOST_WANTED)
        chosen = [self._chance.choice(self._subjects) for _ in range(wanted)]
        text = self._leaf(chosen[0])
        for subject in chosen[1:]:
            joint = self._chance.choice(("AND", "AND", "OR"))
            text = f"({text}) {joint} ({self._leaf(subject)})"
        return Query(text, about=tuple(dict.fromkeys(each.index for each in chosen)))

    def _leaf(self, subject: Subject) -> str:
        text = self._plain_leaf(subject)
        return f"NOT ({text})" if self._chance.random() < 0.15 else text

    def _plain_leaf(self, subject: Subject) -> str:
        draw = self._chance.random()
        if draw < 0.08:
            return f"{subject.text} IS NULL"
        if draw < 0.14:
            return f"{subject.text} IS NOT NULL"
        if subject.is_array:
            return membership(self._chance, subject.text, lambda: self._literal(subject.element))
        if subject.is_text and draw < 0.55 and (pattern := self._pattern(subject)) is not None:
            return pattern
        draw = self._chance.uniform(0.14, 1)
        if draw < 0.30:
            return self._in(subject)
        if draw < 0.42:
            low, high = self._literal(subject), self._literal(subject)
            return f"{subject.text} BETWEEN {low} AND {high}"
        return f"{subject.text} {self._chance.choice(_COMPARISONS)} {self._literal(subject)}"

    def _in(self, subject: Subject) -> str:
        listed = [self._literal(subject) for _ in range(self._chance.randint(1, _MOST_WANTED))]
        if self._chance.random() < 0.1:
            listed.append("NULL")
        word = "NOT IN" if self._chance.random() < 0.2 else "IN"
        return f"{subject.text} {word} ({', '.join(listed)})"

    def _pattern(self, subject: Subject) -> str | None:
        value = self._value(subject)
        return text_pattern(self._chance, subject.text, value) if isinstance(value, str) else None

    def _literal(self, subject: Subject) -> str:
        for _ in range(8):
            found = literal_of(self._value(subject), subject.data_type)
            if found is not None:
                return found
        return "NULL"

    def _value(self, subject: Subject) -> Any:
        there = self._values[subject.text]
        draw = self._chance.random()
        if there and draw < 0.55:
            return self._chance.choice(there)
        if there and draw < 0.65:
            return self._chance.choice((_least(there), _greatest(there)))
        if there and draw < 0.82:
            near = neighbours_of(self._chance.choice(there))
            return self._chance.choice(near) if near else None
        if draw < 0.98:
            hostile = hostile_values(subject.data_type)
            return self._chance.choice(hostile) if hostile else None
        return None


def _plain_values(subject: Subject, values: Sequence[Any]) -> list[Any]:
    """Values of a subject; of an array, its elements."""
    if not subject.is_array:
        return list(values)
    return [element for array in values if array is not None for element in array]


def _least(values: Sequence[Any]) -> Any:
    return min(values, key=_sort_key)


def _greatest(values: Sequence[Any]) -> Any:
    return max(values, key=_sort_key)


def _sort_key(value: Any) -> tuple[bool, bool, Any]:
    is_nan = isinstance(value, float) and math.isnan(value)
    return (value is not None, is_nan, 0 if value is None or is_nan else value)
