"""What can go wrong, by what the caller can do about it.

    HudiIndexError
      UserError       fix the request            exit code 2
      CorruptError    the stored bytes lie       exit code 1 (3 for a failed validation)
      ConflictError   somebody else won: retry   exit code 4
      TableFileError  the table itself is hurt   exit code 1

The file system's refusals are a fifth branch, in `storage_errors`.

Every error takes keyword fields, keeps them as attributes and builds its own message: what happened, the
offending value, the way out.
"""

from __future__ import annotations

import difflib
import shlex
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import unquote

from hudi_index.credentials import MASK, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AmbiguousColumnError",
    "CatalogCorruptError",
    "CommitConflictError",
    "ConflictError",
    "CorruptError",
    "DdlSyntaxError",
    "EntryCorruptError",
    "HudiIndexError",
    "IndexExistsError",
    "IndexesMovedError",
    "InvalidDefinitionError",
    "InvalidNameError",
    "InvalidOptionError",
    "KeyCorruptError",
    "LeaseHeldError",
    "MissingFileError",
    "MissingSliceFileError",
    "MissingTableFileError",
    "NoSuchIndexError",
    "NoSuchTableError",
    "PredicateSyntaxError",
    "RefusedTextError",
    "SliceGoneError",
    "SliceRefusedError",
    "SqlSyntaxError",
    "StateConflictError",
    "TableFileError",
    "TableMovedError",
    "TimelineCorruptError",
    "TimelineMovedError",
    "UnencodableValueError",
    "UnknownColumnError",
    "UnknownIndexKindError",
    "UnsupportedExpressionError",
    "UnsupportedKindError",
    "UnsupportedPredicateError",
    "UnsupportedStorageError",
    "UnsupportedTableError",
    "UnsupportedTypeError",
    "UserError",
    "ValidationFailedError",
]

_INDEX_FOLDER = "/.hoodie/.index"
"""Where a table's indexes are kept."""


class HudiIndexError(Exception):
    """Root of everything this package raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __reduce__(self) -> tuple[object, ...]:
        # By its fields: the pickled form of an exception would call it with its message alone.
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[HudiIndexError], args: tuple[object, ...], fields: dict[str, object]) -> object:
    made = kind.__new__(kind, *args)
    made.args = args
    made.__dict__.update(fields)
    return made


class UserError(HudiIndexError):
    """The request can't be carried out as it stands."""

    exit_code = 2


class CorruptError(HudiIndexError):
    """Stored bytes are missing, cut or not what they claim to be."""


class ConflictError(HudiIndexError):
    """Another process was first; the same request may succeed later."""

    exit_code = 4


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


class UnknownColumnError(UserError):
    """A column that the table does not have."""

    def __init__(self, *, column: str, known: Iterable[str]) -> None:
        self.column, self.known = column, tuple(known)
        near = difflib.get_close_matches(column, self.known, n=3)
        hint = f"did you mean {', '.join(near)}?" if near else f"columns: {', '.join(self.known)}"
        super().__init__(f"the table has no column {column!r}; {hint}")


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


class UnsupportedExpressionError(UserError):
    """An expression whose value an index can't keep."""

    def __init__(self, *, expression: str, reason: str) -> None:
        self.expression, self.reason = expression, reason
        super().__init__(f"expression {expression!r} can't be indexed: {reason}")


class UnsupportedPredicateError(UserError):
    """A predicate that only Spark can evaluate exactly."""

    def __init__(self, *, parts: Iterable[tuple[str, str]]) -> None:
        self.parts = tuple(parts)
        listed = "; ".join(f"{text!r} ({reason})" for text, reason in self.parts)
        super().__init__(
            f"rows can't be filtered here exactly as Spark would: {listed}; use read_indexed on Spark, or "
            "leave that part out, or scan with unfiltered=True, and filter the rows yourself"
        )


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


class NoSuchTableError(UserError):
    """No Hudi table at the given place."""

    def __init__(self, *, uri: str, reason: str) -> None:
        self.uri, self.reason = uri, reason
        super().__init__(f"no Hudi table at {uri!r}: {reason}")


class UnsupportedTableError(UserError):
    """A real Hudi table of a shape that can't be indexed."""

    def __init__(self, *, uri: str, reason: str) -> None:
        self.uri, self.reason = uri, reason
        super().__init__(f"table {uri!r} is not supported: {reason}")


class SliceRefusedError(UnsupportedTableError):
    """A file slice that is whole, and that only Hudi on Spark reads right."""

    def __init__(self, *, uri: str, path: str, reason: str, identity: Any = None) -> None:
        self.path, self.identity = path, identity
        """`identity` is the slice's own, for whoever can have it read through Spark."""
        way_out = "use read_indexed on Spark, and for the indexes run the verb with a Spark session"
        super().__init__(uri=uri, reason=f"{path} can only be read through Spark, since {reason}; {way_out}")
        self.reason = reason


class UnsupportedTypeError(UserError):
    """A type without an order, or without an encoding."""

    def __init__(self, *, column: str, type_name: str, reason: str) -> None:
        self.column, self.type_name, self.reason = column, type_name, reason
        super().__init__(f"column {column!r} of type {type_name} can't be indexed: {reason}")


class UnencodableValueError(UserError):
    """A value of an indexable type that no entry key can hold exactly."""

    def __init__(self, *, column: str, type_name: str, reason: str) -> None:
        self.column, self.type_name, self.reason = column, type_name, reason
        super().__init__(f"a value of column {column!r} of type {type_name} can't become a key: {reason}")


class UnsupportedStorageError(UserError):
    """A storage that lacks an operation the engine can't do without."""

    def __init__(self, *, uri: str, operation: str, reason: str) -> None:
        self.uri, self.operation, self.reason = uri, operation, reason
        super().__init__(f"storage {uri!r} can't {operation}: {reason}")


def way_back(path: str) -> str:
    """The command that mends damage to a file, if it is one of the indexes': they can be made anew."""
    table, below, _ = path.partition(_INDEX_FOLDER)
    if not below:
        return ""
    # A local path as a shell takes it; a URI as it is.
    place = unquote(table.removeprefix("file://")) if table.startswith("file:///") else table
    return f"; mend it by: hudi-index repair --table {shlex.quote(place)}"


class MissingFileError(CorruptError):
    """A file that committed metadata names is not there."""

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(f"{path}: named by a completed commit, but missing{way_back(path)}")


class MissingSliceFileError(CorruptError):
    """A file of a table's slice is gone, or no longer what it was when the slice was current."""

    exit_code = ConflictError.exit_code
    """The next look at the table tells whether Hudi cleaned the file or the table lost it."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: the slice can't be read any more, {reason}; take a new snapshot")


class TableFileError(HudiIndexError):
    """A file of the table, not of an index, is not what it should be: nobody can give its rows."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason}; the table itself is damaged: bring the file back from a copy, or restore the "
            "table to a savepoint"
        )


class MissingTableFileError(TableFileError):
    """A file that the table's timeline names is not there."""

    def __init__(self, *, path: str, instant: str, others: int = 0) -> None:
        self.instant, self.others = instant, others
        more = f", and {others} other files like it" if others else ""
        super().__init__(path=path, reason=f"commit {instant} wrote it, but the storage lacks it{more}")


class TimelineCorruptError(CorruptError):
    """A timeline file that can't be read."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}{way_back(path)}")


class CatalogCorruptError(CorruptError):
    """A file of index definitions that can't be read."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}{way_back(path)}")


class EntryCorruptError(CorruptError):
    """A base or log file of the index metadata table that can't be read."""

    def __init__(self, *, path: str, reason: str, offset: int | None = None) -> None:
        self.path, self.reason, self.offset = path, reason, offset
        place = path if offset is None else f"{path} at byte {offset}"
        super().__init__(f"{place}: {reason}{way_back(path)}")


class KeyCorruptError(CorruptError):
    """An entry key that nothing encodes to."""

    def __init__(self, *, key: str, reason: str) -> None:
        self.key, self.reason = key, reason
        super().__init__(f"entry key {key!r}: {reason}; `hudi-index repair` mends what is stored")


class ValidationFailedError(CorruptError):
    """An index that does not say what the table holds."""

    exit_code = 3

    def __init__(self, *, table: str, reason: str, report: object = None) -> None:
        self.table, self.reason, self.report = table, reason, report
        super().__init__(f"validation of {table} failed: {reason}")


class LeaseHeldError(ConflictError):
    """Another process is writing the index metadata table."""

    def __init__(self, *, role: str, owner: str, until: str) -> None:
        self.role, self.owner, self.until = role, owner, until
        super().__init__(
            f"the {role} lease is held by {owner} until {until}; retry when it is released or expired"
        )


class SliceGoneError(ConflictError):
    """A file that a scan had yet to read was cleaned, or written anew, meanwhile."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason} while it was still to be scanned; the rows so far are not all, scan again "
            "(and let Hudi's cleaner retain commits for longer than a scan takes)"
        )


class TableMovedError(ConflictError):
    """A table changed faster than it could be listed."""

    def __init__(self, *, uri: str) -> None:
        self.uri = uri
        super().__init__(f"table {uri!r}: files were deleted while they were being listed; retry")


class TimelineMovedError(ConflictError):
    """A table's commits were taken back, or completed, before its files could be read by them."""

    def __init__(self, *, uri: str, instant: str) -> None:
        self.uri, self.instant = uri, instant
        super().__init__(
            f"table {uri!r}: delta commit {instant} was completed or taken back meanwhile; retry"
        )


class CommitConflictError(ConflictError):
    """This commit lost: another writer took over before it completed."""

    def __init__(self, *, instant: str, winner: str) -> None:
        self.instant, self.winner = instant, winner
        super().__init__(f"commit {instant} was not made: {winner} took over; retry from the new state")


class IndexesMovedError(ConflictError):
    """Another commit was made to the indexes after they were looked at."""

    def __init__(self, *, uri: str) -> None:
        self.uri = uri
        super().__init__(f"the indexes at {uri} were changed after they were looked at; retry")


class StateConflictError(ConflictError):
    """An index that another process has moved on meanwhile."""

    def __init__(self, *, name: str, state: str, wanted: str) -> None:
        self.name, self.state, self.wanted = name, state, wanted
        super().__init__(f"index {name!r} is {state} and can't become {wanted}; look at it again")
