"""What a listing tells of a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TypeAlias

__all__ = ["NO_TIME", "TEMPORARY_SUFFIX", "Facts", "StoredFile", "Tree", "time_of"]

TEMPORARY_SUFFIX = ".tmp"
"""Ends the name of a file that `create` or `replace` has not moved to its place yet."""

NO_TIME = datetime.fromtimestamp(0, timezone.utc)
"""Of a folder in an object store, which is but a beginning that names share."""

_MILLISECOND = timedelta(milliseconds=1)

Facts: TypeAlias = tuple[int, int, str]
"""Of a file: its size, its modification time in milliseconds, its tag."""
Tree: TypeAlias = Mapping[str, Mapping[str, Facts]]
"""Files by name, by folder; the empty path is the root."""


def time_of(milliseconds: int) -> datetime:
    """The moment so long after 1970, exactly: by way of a float it could be another millisecond."""
    return NO_TIME + milliseconds * _MILLISECOND


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file or folder of a listing."""

    name: str
    size: int
    modified: datetime
    """In object stores of whole seconds: some tell milliseconds in a listing and not of a file alone.

    Now, if the storage does not know: a file of unknown age must not pass for an old one.
    """
    is_folder: bool = False
    tag: str = ""
    """The ETag: another content has another one. Empty on a file system, whose times are fine enough."""

    @property
    def facts(self) -> Facts:
        """The same without its name, in little."""
        return self.size, (self.modified - NO_TIME) // _MILLISECOND, self.tag
