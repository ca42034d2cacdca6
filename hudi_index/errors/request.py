"""What a person has to change in the request."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from hudi_index.credentials import MASK, is_secret
from hudi_index.errors.root import UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = [
    "AmbiguousColumnError",
    "DdlSyntaxError",
    "IndexExistsError",
    "InvalidDefinitionError",
    "InvalidNameError",
    "InvalidOptionError",
    "NoRecordIndexError",
    "NoSuchIndexError",
    "NoSuchTableError",
    "PredicateSyntaxError",
    "RefusedTextError",
    "RowsRefusedError",
    "SqlSyntaxError",
    "StaleExpressionError",
    "StatementRefusedError",
    "UnknownColumnError",
    "UnknownIndexKindError",
    "UnknownPartitionError",
    "UnsupportedKindError",
    "WrongTypeError",
]


class RowsRefusedError(UserError):
    """Rows of a batch that can't be written to a table as it stands."""

    def __init__(self, *, uri: str, reason: str) -> None:
        self.uri, self.reason = uri, reason
        super().__init__(f"rows for table {uri!r} are refused, nothing was written: {reason}")


class SqlSyntaxError(UserError):
    """A text that does not parse, with the place where it stops making sense."""

    def __init__(self, *, text: str, position: int, expected: str) -> None:
        self.text, self.position, self.expected = text, position, expected
        line_start = text.rfind("\n", 0, position) + 1
        line_end = text.find("\n", position)
        line = text[line_start : line_end if line_end >= 0 else len(text)]
        number, column = text.count("\n", 0, position) + 1, position - line_start
        super().__init__(
            f"expected {expected} at line {number}, column {column + 1}:\n  {line}\n  {' ' * column}^"
        )


class DdlSyntaxError(SqlSyntaxError):
    """A statement, or an index expression in it, does not parse."""


class PredicateSyntaxError(SqlSyntaxError):
    """A predicate does not parse."""


class RefusedTextError(UserError):
    """A query or condition that does more than ask the rows of its table."""

    _LONGEST = 300

    def __init__(self, *, text: str, what: str, way_out: str) -> None:
        self.text, self.what, self.way_out = text, what, way_out
        shown = text if len(text) <= self._LONGEST else f"{text[: self._LONGEST]}…"
        super().__init__(f"refused: {what}; {way_out}. It stands in {shown!r}")


class StatementRefusedError(UserError):
    """One of several statements can't be carried out, so none is."""

    def __init__(self, *, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"CREATE INDEX {name}: {reason}; none of the indexes was created")


class UnknownColumnError(UserError):
    """A column that the table, or whatever was given, does not have."""

    def __init__(self, *, column: str, known: Iterable[str], of: str = "table") -> None:
        self.column, self.known = column, tuple(known)
        near = difflib.get_close_matches(column, self.known, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else f"columns: {', '.join(self.known)}"
        super().__init__(f"the {of} has no column {column!r}; {hint}")


class AmbiguousColumnError(UserError):
    """A name that several columns have in other cases, and none in this one."""

    def __init__(self, *, column: str, candidates: Iterable[str]) -> None:
        self.column, self.candidates = column, tuple(candidates)
        super().__init__(
            f"column {column!r} may be {' or '.join(map(repr, self.candidates))}: write it as the table does"
        )


class UnknownIndexKindError(UserError):
    """`USING something` that is no index kind."""

    def __init__(self, *, kind: str, known: Iterable[str]) -> None:
        self.kind, self.known = kind, tuple(known)
        super().__init__(f"no index kind {kind!r}; kinds: {', '.join(self.known)}")


class UnsupportedKindError(UserError):
    """An index of a kind that nobody here can use."""

    def __init__(self, *, kind: str, reason: str) -> None:
        self.kind, self.reason = kind, reason
        super().__init__(f"indexes of kind {kind} can't be used here: {reason}")


class UnknownPartitionError(UserError):
    """A partition that the index metadata table does not have."""

    def __init__(self, *, partition: str, known: Sequence[str]) -> None:
        self.partition, self.known = partition, tuple(known)
        super().__init__(f"no partition {partition!r}; partitions: {', '.join(known) or 'none'}")


class InvalidNameError(UserError):
    """A name that can't become a folder of the index metadata table."""

    def __init__(self, *, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"index name {name!r} {reason}")


class InvalidOptionError(UserError):
    """An option with a name or value nobody understands."""

    def __init__(self, *, option: str, value: object, reason: str) -> None:
        self.option, self.value, self.reason = option, MASK if is_secret(option) else value, reason
        super().__init__(f"option {option!r} = {self.value!r}: {reason}")


class WrongTypeError(InvalidOptionError, TypeError):
    """A value of a type that can't be meant."""

    def __init__(self, *, option: str, value: object, expected: str, is_secret: bool = False) -> None:
        self.expected = expected
        super().__init__(
            option=option,
            value="…" if is_secret else value,
            reason=f"expected {expected}, not {_article(type(value).__name__)}",
        )


def _article(name: str) -> str:
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


class InvalidDefinitionError(UserError):
    """An index whose parts don't fit together."""

    def __init__(self, *, name: str, reason: str) -> None:
        self.name, self.reason = name, reason
        super().__init__(f"index {name!r} can't be defined like this: {reason}")


class StaleExpressionError(UserError):
    """An index whose expression would not be computed any more as it was."""

    def __init__(self, *, index: str, reason: str) -> None:
        self.index, self.reason = index, reason
        super().__init__(f"index {index}: {reason}; REBUILD INDEX {index} computes it anew")


class IndexExistsError(UserError):
    """CREATE INDEX for a name that is taken."""

    def __init__(self, *, name: str) -> None:
        self.name = name
        super().__init__(f"index {name!r} exists already; drop it first, or say CREATE INDEX IF NOT EXISTS")


class NoSuchIndexError(UserError):
    """An index that was never created, or is gone."""

    def __init__(self, *, name: str, known: Iterable[str]) -> None:
        self.name, self.known = name, tuple(known)
        listed = ", ".join(self.known) or "none"
        super().__init__(f"no index {name!r} on this table; indexes: {listed}")


class NoRecordIndexError(UserError):
    """A table that is written through its record index has none in service."""

    def __init__(self, *, uri: str, reason: str, fields: Sequence[str]) -> None:
        self.uri, self.reason, self.fields = uri, reason, tuple(fields)
        super().__init__(
            f"table {uri!r} {reason}, and records are found by one: CREATE INDEX records ON t USING "
            f"record_index ({', '.join(fields)}) makes it; hudi-index status --table {uri} shows all indexes"
        )


class NoSuchTableError(UserError):
    """No Hudi table at the given place."""

    def __init__(self, *, uri: str, reason: str) -> None:
        self.uri, self.reason = uri, reason
        super().__init__(f"no Hudi table at {uri!r}: {reason}")
