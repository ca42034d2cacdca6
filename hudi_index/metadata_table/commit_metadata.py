"""What a completed timeline file says: Hudi's commit metadata as Avro, and the little we add to it.

Our additions travel in `extraMetadata`, where Hudi keeps what it does not interpret:

    hudi_index.state       JSON: shards per live partition, the data snapshot the entries describe, the
                           earlier commits needed
    hudi_index.checksums   JSON: path -> CRC-32 (a log file whole; of a base file its footer, pages carry
                           their own)
    hudi_index.contents    JSON: path -> CRC-32 of a whole base file, for those who read all of it
    hudi_index.digest      of all that the file says and of its name

Every commit, compactions too, carries the whole state, so the newest one alone is enough.
"""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import fastavro

from hudi_index.catalog.digest import digest_of
from hudi_index.entries.schema import ENTRY_SCHEMA, avro_schema_of
from hudi_index.errors import TimelineCorruptError
from hudi_index.metadata_table.layout import COMPACTION, DELTA_COMMIT, REPLACE_COMMIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = [
    "CommitMetadata",
    "CompactionOperation",
    "TableState",
    "WriteStat",
    "compaction_plan",
    "decode_commit",
    "encode_commit",
    "requested_content",
]

_STATE = "hudi_index.state"
_CHECKSUMS = "hudi_index.checksums"
_CONTENTS = "hudi_index.contents"
_DIGEST = "hudi_index.digest"
_OPERATION = {DELTA_COMMIT: "UPSERT", REPLACE_COMMIT: "INSERT_OVERWRITE", COMPACTION: "COMPACT"}


@dataclass(frozen=True, slots=True)
class WriteStat:
    """One file that a commit adds. Plain values: Spark tasks send it to the driver."""

    partition: str
    file_id: str
    name: str
    size: int
    checksum: int
    entries: int
    """Rows in the file, tombstones included."""
    tombstones: int
    is_log: bool
    content: int | None = None
    """CRC-32 of the whole of a base file; not known of one that an earlier version wrote."""

    @property
    def path(self) -> str:
        """The file below the table."""
        return f"{self.partition}/{self.name}"


@dataclass(frozen=True, slots=True)
class TableState:
    """What holds for the table as a whole after a commit."""

    shards: Mapping[str, int] = field(default_factory=dict)
    """Live partitions and their number of shards."""
    data_snapshot: Mapping[str, str] = field(default_factory=dict)
    """The snapshot of the data table that the entries describe; opaque here."""
    needed: Sequence[str] = ()
    """Requested times of the earlier commits without which the table is not whole."""


@dataclass(frozen=True, slots=True)
class CommitMetadata:
    """The content of one completed timeline file."""

    action: str
    state: TableState
    stats: Sequence[WriteStat] = ()
    replaced: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """File ids, by partition, that this commit takes out of the table."""


@dataclass(frozen=True, slots=True)
class CompactionOperation:
    """One file group of a compaction plan."""

    partition: str
    file_id: str
    base_instant: str
    """Requested time of the slice's first file."""
    base_file: str | None
    log_files: Sequence[str]


def _optional(*fields: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{"name": name, "type": ["null", kind], "default": None} for name, kind in fields]


def _record(name: str, fields: list[dict[str, Any]]) -> dict[str, Any]:
    return {"type": "record", "name": name, "namespace": "org.apache.hudi.avro.model", "fields": fields}


_STRINGS = {"type": "array", "items": "string"}
_WRITE_STAT = _record(
    "HoodieWriteStat",
    _optional(
        ("fileId", "string"),
        ("path", "string"),
        ("prevCommit", "string"),
        ("numWrites", "long"),
        ("numDeletes", "long"),
        ("numUpdateWrites", "long"),
        ("totalWriteBytes", "long"),
        ("totalWriteErrors", "long"),
        ("partitionPath", "string"),
        ("numInserts", "long"),
        ("fileSizeInBytes", "long"),
        ("logVersion", "int"),
        ("logOffset", "long"),
        ("baseFile", "string"),
        ("logFiles", _STRINGS),
    ),
)
_VERSION = {"name": "version", "type": ["int", "null"], "default": 1}
_OPERATION_TYPE = {"name": "operationType", "type": ["null", "string"], "default": None}
_EXTRA = ("extraMetadata", {"type": "map", "values": "string"})
_STATS = ("partitionToWriteStats", {"type": "map", "values": {"type": "array", "items": _WRITE_STAT}})
_COMMIT = fastavro.parse_schema(
    _record(
        "HoodieCommitMetadata",
        [*_optional(_STATS, ("compacted", "boolean"), _EXTRA), _VERSION, _OPERATION_TYPE],
    )
)
_REPLACE = fastavro.parse_schema(
    _record(
        "HoodieReplaceCommitMetadata",
        [
            *_optional(_STATS, ("compacted", "boolean"), _EXTRA),
            _VERSION,
            _OPERATION_TYPE,
            *_optional(("partitionToReplaceFileIds", {"type": "map", "values": _STRINGS})),
        ],
    )
)
_PLAN = fastavro.parse_schema(
    _record(
        "HoodieCompactionPlan",
        [
            *_optional(
                (
                    "operations",
                    {
                        "type": "array",
                        "items": _record(
                            "HoodieCompactionOperation",
                            [
                                *_optional(("baseInstantTime", "string"), ("deltaFilePaths", _STRINGS)),
                                *_optional(("dataFilePath", "string"), ("fileId", "string")),
                                *_optional(("partitionPath", "string")),
                                *_optional(("metrics", {"type": "map", "values": "double"})),
                                *_optional(("bootstrapFilePath", "string")),
                            ],
                        ),
                    },
                ),
                ("extraMetadata", {"type": "map", "values": "string"}),
            ),
            {"name": "version", "type": ["int", "null"], "default": 2},
        ],
    )
)
_REQUESTED_REPLACE = fastavro.parse_schema(
    _record("HoodieRequestedReplaceMetadata", [*_optional(("operationType", "string"), _EXTRA), _VERSION])
)
_TABLE_SCHEMA = json.dumps(avro_schema_of(ENTRY_SCHEMA, name="entry"))


def encode_commit(metadata: CommitMetadata, *, name: str | None) -> bytes:
    """The bytes of the completed timeline file of that name; without one it can't be told from a copy."""
    by_partition: dict[str, list[dict[str, Any]]] = {}
    for stat in metadata.stats:
        by_partition.setdefault(stat.partition, []).append(_as_hudi_stat(stat))
    state = {
        "shards": dict(metadata.state.shards),
        "data_snapshot": dict(metadata.state.data_snapshot),
        "needed": list(metadata.state.needed),
    }
    record: dict[str, Any] = {
        "partitionToWriteStats": by_partition,
        "compacted": metadata.action == COMPACTION,
        "extraMetadata": {
            "schema": _TABLE_SCHEMA,
            _STATE: json.dumps(state, sort_keys=True),
            _CHECKSUMS: json.dumps({stat.path: stat.checksum for stat in metadata.stats}),
            _CONTENTS: json.dumps({stat.path: stat.content for stat in metadata.stats if not stat.is_log}),
        },
        "version": 1,
        "operationType": _OPERATION[metadata.action],
    }
    is_replacing = metadata.action == REPLACE_COMMIT
    if is_replacing:
        record["partitionToReplaceFileIds"] = {each: list(ids) for each, ids in metadata.replaced.items()}
    if name is not None:
        record["extraMetadata"][_DIGEST] = _digest_of(record, name)
    return _encode(_REPLACE if is_replacing else _COMMIT, record)


def _check_digest(record: dict[str, Any], name: str) -> None:
    noted = record["extraMetadata"].get(_DIGEST)
    if noted is not None and noted != _digest_of(record, name):
        raise ValueError("it was changed, or is another commit's")


def _digest_of(record: dict[str, Any], name: str) -> str:
    """Of what is said, in whatever bytes: fields that stand empty and keys in another order are the same."""
    extra = {key: value for key, value in record["extraMetadata"].items() if key not in (_DIGEST, "schema")}
    stats = {
        partition: [{field: value for field, value in stat.items() if value is not None} for stat in written]
        for partition, written in record["partitionToWriteStats"].items()
    }
    facts = {
        "stats": stats,
        "extra": extra,
        "compacted": record["compacted"],
        "operation": record["operationType"],
        "replaced": record.get("partitionToReplaceFileIds") or {},
    }
    return digest_of(facts, name)


def decode_commit(content: bytes, *, action: str, path: str, name: str) -> CommitMetadata:
    """The content of the completed timeline file of that name."""
    try:
        # To the end: the marker after the last block tells a whole file from a cut one.
        (record,) = cast("list[dict[str, Any]]", list(fastavro.reader(io.BytesIO(content))))
        extra = record["extraMetadata"]
        _check_digest(record, name)
        state, checksums = json.loads(extra[_STATE]), json.loads(extra[_CHECKSUMS])
        contents = json.loads(extra.get(_CONTENTS, "{}"))
        stats = tuple(
            _as_stat(stat, checksums, contents)
            for written in record["partitionToWriteStats"].values()
            for stat in written
        )
        return CommitMetadata(
            action,
            TableState(state["shards"], state["data_snapshot"], tuple(state["needed"])),
            stats,
            record.get("partitionToReplaceFileIds") or {},
        )
    except Exception as error:  # fastavro lets whatever the garbage provokes through
        raise TimelineCorruptError(path=path, reason=f"no commit metadata of ours ({error!r})") from error


def compaction_plan(operations: Sequence[CompactionOperation]) -> bytes:
    """Hudi's compaction plan, which its readers parse while the compaction is pending."""
    planned: list[dict[str, Any]] = [
        {
            "baseInstantTime": operation.base_instant,
            "deltaFilePaths": list(operation.log_files),
            "dataFilePath": operation.base_file,
            "fileId": operation.file_id,
            "partitionPath": operation.partition,
            "metrics": {},
        }
        for operation in operations
    ]
    return _encode(_PLAN, {"operations": planned, "version": 2})


def requested_content(action: str) -> bytes:
    """What the requested file of an instant holds: Hudi's readers parse some of them."""
    if action == REPLACE_COMMIT:
        return _encode(_REQUESTED_REPLACE, {"operationType": _OPERATION[action], "version": 1})
    return b""


def _encode(schema: Any, record: dict[str, Any]) -> bytes:
    sink = io.BytesIO()
    fastavro.writer(sink, schema, [record])
    return sink.getvalue()


def _as_hudi_stat(stat: WriteStat) -> dict[str, Any]:
    hudi = {
        "fileId": stat.file_id,
        "path": stat.path,
        "prevCommit": "null",
        "numWrites": stat.entries,
        "numDeletes": stat.tombstones,
        "numInserts": 0 if stat.is_log else stat.entries,
        "numUpdateWrites": stat.entries if stat.is_log else 0,
        "totalWriteBytes": stat.size,
        "totalWriteErrors": 0,
        "partitionPath": stat.partition,
        "fileSizeInBytes": stat.size,
    }
    if stat.is_log:
        hudi |= {"logVersion": 1, "logOffset": 0, "baseFile": "", "logFiles": [stat.name]}
    return hudi


def _as_stat(hudi: dict[str, Any], checksums: dict[str, int], contents: dict[str, int]) -> WriteStat:
    return WriteStat(
        partition=hudi["partitionPath"],
        file_id=hudi["fileId"],
        name=hudi["path"].rpartition("/")[2],
        size=hudi["fileSizeInBytes"],
        checksum=checksums[hudi["path"]],
        entries=hudi["numWrites"],
        tombstones=hudi["numDeletes"],
        is_log=hudi["logVersion"] is not None,
        content=contents.get(hudi["path"]),
    )
