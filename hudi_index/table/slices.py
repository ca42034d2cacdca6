"""File groups and their slices: what a reader of the table reads.

A file slice is a base file and the log files over it. Its `identity` is what an index may be compared by:
two slices of equal identity hold the same rows. Base files never change under their name. Log files of
version-6 tables may: some storages append to them, and after a restore a new one may take an old one's name.
So a log's size belongs to the identity, and in version 6 its modification time too.

    base file   <file id>_<write token>_<instant>.parquet
    log file    .<file id>_<instant>.log.<version>_<write token>[.cdc]

The instant in a log file's name is that of its delta commit, in version-6 tables that of the base file
below it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import NamedTuple

from hudi_index.errors import MissingSliceFileError

__all__ = ["BASE_SUFFIX", "FileGroupId", "FileSlice", "SliceIdentity"]

_LOG_FILE = re.compile(
    r"\.(?P<file_id>.+)_(?P<instant>\d+)\.log\.(?P<version>\d+)(?:_(?P<token>\d+-\d+-\d+))?"
)
BASE_SUFFIX = ".parquet"
"""Ends the name of a base file, and of no log file."""


class FileGroupId(NamedTuple):
    """The name of a file group. An unpartitioned table's partition path is empty."""

    # A tuple, because these are sorted and looked up by the hundred thousand.
    partition_path: str
    file_id: str

    def path_of(self, file_name: str) -> str:
        """A file of the group, relative to the table."""
        return f"{self.partition_path}/{file_name}" if self.partition_path else file_name


@dataclass(frozen=True, slots=True)
class SliceIdentity:
    """Which rows a slice holds: equal identities, equal rows."""

    group: FileGroupId
    base_file: str | None
    log_files: tuple[str, ...]
    log_sizes: tuple[int, ...]
    log_times: tuple[int, ...] = ()
    """Modification times in milliseconds, where the name does not tell one log from a later one."""
    as_of: str | None = None
    """Set when logs are read up to an instant only, because they hold later records as well."""
    unsettled: str | None = None
    """Set, and different each time, while somebody may be writing to the logs."""


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A base file, the log files over it, or both. File names are relative to the partition path."""

    group: FileGroupId
    base_file: str | None
    log_files: tuple[str, ...] = ()
    """In the order in which their records apply."""
    base_size: int = 0
    log_sizes: tuple[int, ...] = ()
    log_times: tuple[int, ...] = ()
    base_instant: str = ""
    """Requested time of the instant that began the slice."""
    latest_instant: str = ""
    """Requested time of the latest instant in the slice, as far as file names tell."""
    as_of: str | None = None
    unsettled: str | None = None

    @property
    def identity(self) -> SliceIdentity:
        """What the slice is compared by."""
        return SliceIdentity(
            self.group,
            self.base_file,
            self.log_files,
            self.log_sizes,
            self.log_times,
            self.as_of,
            self.unsettled,
        )

    def without_logs(self) -> FileSlice | None:
        """The base file alone; None if there is none."""
        return None if self.base_file is None else replace(self, log_files=(), log_sizes=(), log_times=())

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return self.base_size + sum(self.log_sizes)

    @property
    def base_path(self) -> str | None:
        """The base file, relative to the table."""
        return None if self.base_file is None else self.group.path_of(self.base_file)

    @property
    def log_paths(self) -> tuple[str, ...]:
        """The log files, relative to the table."""
        return tuple(map(self.group.path_of, self.log_files))

    @property
    def paths(self) -> tuple[str, ...]:
        """All files, relative to the table."""
        return self.log_paths if self.base_path is None else (self.base_path, *self.log_paths)

    @classmethod
    def of_identity(cls, identity: SliceIdentity) -> FileSlice:
        """A slice to read again by its names, current or not.

        Raises:
            MissingSliceFileError: the slice was unsettled, so nobody can tell which rows it had.
        """
        if identity.unsettled:
            path = identity.group.path_of(identity.log_files[-1])
            raise MissingSliceFileError(path=path, reason="it was still being written to")
        base = identity.base_file and parse_base_file(identity.base_file, 0)
        logs = [parsed for name in identity.log_files if (parsed := parse_log_file(name, 0))]
        instants = [part.instant for part in (base, *logs) if part]
        return cls(
            group=identity.group,
            base_file=identity.base_file,
            log_files=identity.log_files,
            log_sizes=identity.log_sizes,
            log_times=identity.log_times,
            base_instant=instants[0] if instants else "",
            latest_instant=max(instants, default=""),
            as_of=identity.as_of,
        )


class BaseFileName(NamedTuple):
    """A base file's name, taken apart."""

    name: str
    file_id: str
    instant: str
    size: int


@dataclass(frozen=True, slots=True)
class LogFile:
    """A log file's name, taken apart."""

    name: str
    file_id: str
    instant: str
    version: int
    token: str
    size: int
    modified: int
    """Milliseconds since 1970."""

    @property
    def order(self) -> tuple[str, int, str]:
        """Log files apply in this order."""
        return (self.instant, self.version, self.token)


def parse_base_file(name: str, size: int) -> BaseFileName | None:
    """The base file of this name; None if it names none."""
    parts = name.split("_")
    if len(parts) != 3 or not name.endswith(BASE_SUFFIX):
        return None
    return BaseFileName(name, parts[0], parts[2].removesuffix(BASE_SUFFIX), size)


def parse_log_file(name: str, size: int, modified: int = 0) -> LogFile | None:
    """The log file of this name; None if it names none, or the change log that only CDC queries read."""
    match = _LOG_FILE.fullmatch(name)
    if not match:
        return None
    return LogFile(
        name, match["file_id"], match["instant"], int(match["version"]), match["token"] or "", size, modified
    )
