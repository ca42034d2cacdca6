"""How Hudi's own metadata table is, by the names of its files: nothing of it is read, and no JVM is needed.

base file   <file id>_<write token>_<instant>.hfile
log file    .<file id>_<instant>.log.<version>_<write token>
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hudi_index.table import TableConfig

if TYPE_CHECKING:
    from hudi_index.storage import Storage

__all__ = ["METADATA", "NativePartition", "NativeStatus", "native_status"]

METADATA = ".hoodie/metadata"

_BASE = re.compile(r"(?P<file_id>.+)_(?P<token>[^_]*)_(?P<instant>\d+)\.hfile")
_LOG = re.compile(r"\.(?P<file_id>.+)_(?P<instant>\d+)\.log\.\d+(_\d+-\d+-\d+)?")
_COMPACTION = re.compile(r"(?P<instant>\d+)(_\d+)?\.commit")


@dataclass(frozen=True, slots=True)
class NativePartition:
    """How one partition of Hudi's metadata table is."""

    partition: str
    file_groups: int
    base_files: int
    log_files: int
    """Over the newest base files."""
    deepest_log: int
    """Most log files of one file group: what a look-up merges at worst."""
    bytes: int


@dataclass(frozen=True, slots=True)
class NativeStatus:
    """How Hudi's metadata table is."""

    table: str
    exists: bool
    last_compaction: str | None = None
    """Requested time of the newest completed one."""
    partitions: list[NativePartition] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if not self.exists:
            return f"{self.table} has no metadata table"
        lines = [f"last compaction  {self.last_compaction or 'none'}"]
        lines += [
            f"{each.partition}: {each.file_groups} file groups, {each.log_files} log files, "
            f"at most {each.deepest_log} over one base file, {each.bytes} bytes"
            for each in self.partitions
        ]
        return "\n".join(lines)


def native_status(storage: Storage) -> NativeStatus:
    """How Hudi's metadata table is, by its file names, without a JVM."""
    metadata = storage.child(METADATA)
    if not metadata.exists(".hoodie/hoodie.properties"):
        return NativeStatus(storage.uri, exists=False)
    listed = TableConfig.load(storage).properties.get("hoodie.table.metadata.partitions", "")
    partitions = [_native_partition(metadata, folder) for folder in sorted(filter(None, listed.split(",")))]
    # Where versions before 8 keep their timeline, and where later ones do.
    names = [file.name for folder in (".hoodie", ".hoodie/timeline") for file in metadata.list(folder)]
    newest = max((match["instant"] for name in names if (match := _COMPACTION.fullmatch(name))), default=None)
    return NativeStatus(storage.uri, exists=True, last_compaction=newest, partitions=partitions)


def _native_partition(metadata: Storage, folder: str) -> NativePartition:
    bases: dict[str, str] = {}
    logs: dict[str, list[str]] = {}
    count = size = 0
    for file in metadata.list(folder):
        if match := _BASE.fullmatch(file.name):
            count, size = count + 1, size + file.size
            bases[match["file_id"]] = max(bases.get(match["file_id"], ""), match["instant"])
        elif match := _LOG.fullmatch(file.name):
            size += file.size
            logs.setdefault(match["file_id"], []).append(match["instant"])
    depths = [
        sum(instant > bases.get(file_id, "") for instant in instants) for file_id, instants in logs.items()
    ]
    groups = len({*bases, *logs})
    return NativePartition(folder, groups, count, sum(depths), max(depths, default=0), size)
