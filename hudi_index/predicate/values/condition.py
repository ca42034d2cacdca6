"""What an index is asked: that a term's value meets a condition.

    Domain         the value is in it
    TextPattern    what stands in a text: a beginning, pieces in order, an end
    HasElement     an array has an element in a domain

Null meets no pattern. A pattern has no complement, as a domain has none: NOT LIKE is no condition.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from hudi_index.predicate.values.domain import Domain

__all__ = ["Condition", "Constraint", "HasElement", "Pattern", "Term", "TextPattern"]


@dataclass(frozen=True, slots=True)
class Term:
    """What a constraint speaks of: a column, or an expression in its canonical text."""

    text: str
    is_expression: bool = False
    meaning: str = ""
    """Which meaning an expression's text has, where that is known (`Meaning.digest`)."""


@dataclass(frozen=True, slots=True)
class TextPattern:
    """Texts with a beginning, pieces in order and an end, none of which overlaps another.

    `LIKE 'a%b%c'` is `TextPattern("a", ("b",), "c")`. Any of them may be empty.
    """

    start: str = ""
    pieces: tuple[str, ...] = ()
    end: str = ""

    def contains(self, value: str | None) -> bool:
        """Whether a text meets it."""
        if value is None or not value.startswith(self.start):
            return False
        position = len(self.start)
        for piece in self.pieces:
            # The first place leaves most room for the others.
            found = value.find(piece, position)
            if found < 0:
                return False
            position = found + len(piece)
        return value.endswith(self.end) and len(value) - len(self.end) >= position

    def __str__(self) -> str:
        # On one line, whatever stands in it: plans and logs show it.
        return repr("%".join([self.start, *self.pieces, self.end]))


@dataclass(frozen=True, slots=True)
class HasElement:
    """Arrays with an element in a domain, which may be null if null is in it."""

    domain: Domain

    def contains(self, value: Any) -> bool:
        """Whether an array meets it."""
        return value is not None and any(map(self.domain.contains, value))


Pattern: TypeAlias = TextPattern | HasElement
Condition: TypeAlias = Domain | Pattern


@dataclass(frozen=True, slots=True)
class Constraint:
    """The term's value must meet the condition. The only shape of a predicate that an index sees."""

    term: Term
    condition: Condition

    @property
    def domain(self) -> Domain | None:
        """The values that meet it; None for a pattern."""
        return self.condition if isinstance(self.condition, Domain) else None

    def contains(self, value: Any) -> bool:
        """Whether a value, None for null, meets it."""
        return self.condition.contains(value)
