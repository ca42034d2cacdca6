"""Every name on disk of the index metadata table: format and parse, nowhere else.

The table is a Hudi merge-on-read table, version 8, timeline layout 2:

    .hoodie/hoodie.properties
    .hoodie/timeline/<requested>.<action>.requested | .inflight     pending
    .hoodie/timeline/<requested>_<completed>.<action>               completed: its creation is the commit
    .hoodie/ledger/<20 digits>.json                                 who may complete next (see ledger.py)
    <partition>/.hoodie_partition_metadata
    <partition>/<file id>_<write token>_<requested>.parquet         base file
    <partition>/.<file id>_<requested>.log.1_<write token>          log file
    file id: <partition with - for _>-<shard, 4 digits>-<instant that created the file group>

Instants are UTC times with milliseconds, 17 digits; all of one table are different. A compaction is pending
as `compaction` and completes as `commit`.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from hudi_index.errors import TimelineCorruptError

__all__ = [
    "COMPACTION",
    "DELTA_COMMIT",
    "HUDI_FOLDER",
    "LEDGER",
    "PARTITION_METADATA",
    "PROPERTIES",
    "REPLACE_COMMIT",
    "TIMELINE",
    "CompletedInstant",
    "DataFileName",
    "base_file_name",
    "completed_name",
    "decision_number",
    "decision_path",
    "file_id_of",
    "inflight_name",
    "instant_after",
    "instant_time",
    "is_lease",
    "is_partition_metadata",
    "log_file_name",
    "parse_completed",
    "parse_data_file",
    "parse_pending",
    "properties_text",
    "requested_name",
    "shard_of_file_id",
]

HUDI_FOLDER = ".hoodie"
TIMELINE = ".hoodie/timeline"
LEDGER = ".hoodie/ledger"
PROPERTIES = ".hoodie/hoodie.properties"
PARTITION_METADATA = ".hoodie_partition_metadata"

DELTA_COMMIT = "deltacommit"
REPLACE_COMMIT = "replacecommit"
COMPACTION = "compaction"
_COMPLETED_AS = {COMPACTION: "commit"}

_INSTANT = r"\d{17}"
_COMPLETED = re.compile(rf"({_INSTANT})_({_INSTANT})\.(commit|deltacommit|replacecommit)")
_PENDING = re.compile(rf"({_INSTANT})\.(deltacommit|replacecommit|compaction)\.(requested|inflight)")
_BASE_FILE = re.compile(rf"([^_.][^_]*)_([\d-]+)_({_INSTANT})\.parquet")
_LOG_FILE = re.compile(rf"\.([^_]+)_({_INSTANT})\.log\.(\d+)_([\d-]+)")
_DECISION = re.compile(r"([0-9]{20})\.(json|lease)")
_FILE_ID = re.compile(rf".+-(\d{{4,}})-{_INSTANT}")


@dataclass(frozen=True, slots=True, order=True)
class CompletedInstant:
    """A commit that readers see. Sorts in the order of completion."""

    completed_time: str
    requested_time: str
    action: str

    @property
    def file_name(self) -> str:
        """Its file in the timeline folder."""
        return f"{self.requested_time}_{self.completed_time}.{self.action}"

    @property
    def path(self) -> str:
        """Its file below the table."""
        return f"{TIMELINE}/{self.file_name}"


@dataclass(frozen=True, slots=True)
class DataFileName:
    """What the name of a base or log file says."""

    file_id: str
    requested_time: str
    is_log: bool


def instant_time(moment: datetime) -> str:
    """A moment as an instant: UTC, milliseconds, 17 digits."""
    return moment.astimezone(timezone.utc).strftime("%Y%m%d%H%M%S%f")[:17]


def instant_after(floor: str, now: datetime) -> str:
    """`now` as an instant, or the next free one after `floor` when the clock is not past it."""
    wanted = instant_time(now)
    if wanted > floor:
        return wanted
    moment = datetime.strptime(floor + "000", "%Y%m%d%H%M%S%f").replace(tzinfo=timezone.utc)
    return instant_time(moment + timedelta(milliseconds=1))


def requested_name(requested_time: str, action: str) -> str:
    """Path of the file that announces an instant."""
    return f"{TIMELINE}/{requested_time}.{action}.requested"


def inflight_name(requested_time: str, action: str) -> str:
    """Path of the file that says data is being written."""
    return f"{TIMELINE}/{requested_time}.{action}.inflight"


def completed_name(requested_time: str, completed_time: str, action: str) -> str:
    """Path of the file whose creation is the commit."""
    return f"{TIMELINE}/{requested_time}_{completed_time}.{_COMPLETED_AS.get(action, action)}"


def parse_completed(name: str) -> CompletedInstant | None:
    """The instant of a completed timeline file, None for any other file."""
    match = _COMPLETED.fullmatch(name)
    return CompletedInstant(match[2], match[1], match[3]) if match else None


def parse_pending(name: str) -> tuple[str, str] | None:
    """Requested time and action of a pending timeline file, None for any other file."""
    match = _PENDING.fullmatch(name)
    return (match[1], match[2]) if match else None


def base_file_name(file_id: str, requested_time: str, write_token: str) -> str:
    """Name of a base file."""
    return f"{file_id}_{write_token}_{requested_time}.parquet"


def log_file_name(file_id: str, requested_time: str, write_token: str) -> str:
    """Name of a log file. A commit writes at most one per file group: the version is always 1."""
    return f".{file_id}_{requested_time}.log.1_{write_token}"


def parse_data_file(name: str) -> DataFileName | None:
    """What a base or log file's name says, None for any other file."""
    if match := _BASE_FILE.fullmatch(name):
        return DataFileName(match[1], match[3], is_log=False)
    if match := _LOG_FILE.fullmatch(name):
        return DataFileName(match[1], match[2], is_log=True)
    return None


def file_id_of(partition: str, shard: int, created: str) -> str:
    """The file id of a shard; `created` keeps a rebuilt partition's groups apart from the replaced ones."""
    return f"{partition.replace('_', '-')}-{shard:04d}-{created}"


def shard_of_file_id(file_id: str, *, path: str) -> int:
    """The shard a file group holds."""
    match = _FILE_ID.fullmatch(file_id)
    if match is None:
        raise TimelineCorruptError(path=path, reason=f"file id {file_id!r} names no shard")
    return int(match[1])


def properties_text(name: str) -> str:
    """hoodie.properties of a new table.

    Meta columns are off: they would hold a second copy of every key. The checksum is Hudi's: CRC-32 of
    database name, a dot, table name.
    """
    return "\n".join(
        [
            f"hoodie.table.name={name}",
            "hoodie.table.type=MERGE_ON_READ",
            "hoodie.table.version=8",
            "hoodie.table.initial.version=8",
            "hoodie.timeline.layout.version=2",
            "hoodie.timeline.path=timeline",
            "hoodie.timeline.history.path=history",
            "hoodie.table.base.file.format=PARQUET",
            "hoodie.table.recordkey.fields=key",
            "hoodie.table.partition.fields=partition",
            "hoodie.table.keygenerator.type=SIMPLE",
            "hoodie.populate.meta.fields=false",
            "hoodie.datasource.write.hive_style_partitioning=false",
            "hoodie.datasource.write.partitionpath.urlencode=false",
            "hoodie.datasource.write.drop.partition.columns=false",
            "hoodie.record.merge.mode=COMMIT_TIME_ORDERING",
            "hoodie.table.cdc.enabled=false",
            "hoodie.table.timeline.timezone=UTC",
            f"hoodie.table.checksum={zlib.crc32(f'.{name}'.encode())}",
            "",
        ]
    )


def decision_path(number: int) -> str:
    """Path of a decision of the ledger."""
    return f"{LEDGER}/{number:020d}.json"


def decision_number(name: str) -> int | None:
    """The number of a decision's file, None for any other file."""
    match = _DECISION.fullmatch(name)
    return int(match[1]) if match and match[2] == "json" else None


def is_lease(name: str) -> bool:
    """Whether it is the file that renews a lease."""
    match = _DECISION.fullmatch(name)
    return match is not None and match[2] == "lease"


def is_partition_metadata(content: bytes) -> bool:
    """Whether it is what a partition's folder is marked by."""
    return re.fullmatch(rb"commitTime=[0-9]{17}\npartitionDepth=1\n", content) is not None
