"""Stored bytes that are missing, cut or not what they claim to be: of the indexes, or of the table itself."""

from __future__ import annotations

import shlex
from urllib.parse import unquote

from hudi_index.errors.root import ConflictError, CorruptError, HudiIndexError

__all__ = [
    "CatalogCorruptError",
    "EntryCorruptError",
    "KeyCorruptError",
    "MissingFileError",
    "MissingSliceFileError",
    "MissingTableFileError",
    "TableFileError",
    "TimelineCorruptError",
    "ValidationFailedError",
    "way_back",
]

_INDEX_FOLDER = "/.hoodie/.index"
"""Where a table's indexes are kept."""


def way_back(path: str) -> str:
    """The command that mends damage to a file, if it is one of the indexes': they can be made anew."""
    table, below, _ = path.partition(_INDEX_FOLDER)
    if not below:
        return ""
    # A local path as a shell takes it; a URI as it is.
    location = unquote(table.removeprefix("file://")) if table.startswith("file:///") else table
    return f"; mend it by: hudi-index repair --table {shlex.quote(location)}"


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
        location = path if offset is None else f"{path} at byte {offset}"
        super().__init__(f"{location}: {reason}{way_back(path)}")


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
