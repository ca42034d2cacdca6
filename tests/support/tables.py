"""Small Hudi tables written file by file: enough for everything that does not need Hudi's own writer."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass, field
from io import BytesIO
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from hudi_index import IndexedTable
from hudi_index.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def schema_of(*fields: pa.Field[Any]) -> pa.Schema:
    """A schema; to mypy a list of fields of several types is one of objects."""
    return pa.schema(list(fields))


COLUMNS = schema_of(
    pa.field("id", pa.string(), nullable=False), pa.field("n", pa.int32()), pa.field("region", pa.string())
)
"""What tables have unless a test says otherwise."""
META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)
T1, T2, T3 = (f"2024010{day}000000000" for day in range(1, 4))
_AVRO_TYPES: dict[pa.DataType, Any] = {
    pa.string(): "string",
    pa.binary(): "bytes",
    pa.int32(): "int",
    pa.int64(): "long",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.bool_(): "boolean",
    pa.date32(): {"type": "int", "logicalType": "date"},
    pa.timestamp("us", "UTC"): {"type": "long", "logicalType": "timestamp-micros"},
    pa.timestamp("us"): {"type": "long", "logicalType": "local-timestamp-micros"},
}

_COMMIT = {
    "type": "record",
    "name": "HoodieReplaceCommitMetadata",
    "fields": [
        {"name": "operationType", "type": ["null", "string"], "default": None},
        {"name": "extraMetadata", "type": ["null", {"type": "map", "values": "string"}], "default": None},
        {
            "name": "partitionToReplaceFileIds",
            "type": ["null", {"type": "map", "values": {"type": "array", "items": "string"}}],
            "default": None,
        },
        {
            "name": "partitionToWriteStats",
            "type": [
                "null",
                {
                    "type": "map",
                    "values": {
                        "type": "array",
                        "items": {
                            "type": "record",
                            "name": "HoodieWriteStat",
                            "fields": [
                                {"name": "fileId", "type": ["null", "string"], "default": None},
                                {"name": "path", "type": ["null", "string"], "default": None},
                            ],
                        },
                    },
                },
            ],
            "default": None,
        },
    ],
}


def avro_schema_of(columns: pa.Schema) -> dict[str, Any]:
    """The schema as Hudi's commits have it."""
    return _avro_record("row", list(columns))


def _avro_record(name: str, fields: Sequence[pa.Field[Any]]) -> dict[str, Any]:
    found = [{"name": each.name, "type": _avro_type(each)} for each in fields]
    return {"type": "record", "name": name, "fields": found}


def _avro_type(field: pa.Field[Any]) -> Any:
    # As Any: pyarrow's stubs don't know which types have fields.
    data_type: Any = field.type
    if pa.types.is_list(data_type):
        found: Any = {"type": "array", "items": _avro_type(data_type.value_field)}
    elif pa.types.is_struct(data_type):
        found = _avro_record(f"{field.name}_record", list(data_type))
    elif pa.types.is_decimal(data_type):
        digits = {"precision": data_type.precision, "scale": data_type.scale}
        found = {"type": "bytes", "logicalType": "decimal", **digits}
    else:
        found = _AVRO_TYPES[data_type]
    return ["null", found] if field.nullable else found


@dataclass
class Fabricated:
    """A table in a local folder, made of the files a test asks for."""

    path: Path
    version: int = 9
    table_type: str = "COPY_ON_WRITE"
    partition_fields: str = "region"
    properties: Mapping[str, str] = field(default_factory=dict)
    columns: pa.Schema = field(default=COLUMNS)

    def __post_init__(self) -> None:
        layout = "2" if self.version >= 8 else "1"
        properties = {
            "hoodie.table.name": "t",
            "hoodie.table.type": self.table_type,
            "hoodie.table.version": str(self.version),
            "hoodie.timeline.layout.version": layout,
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.partition.fields": self.partition_fields,
            "hoodie.table.base.file.format": "PARQUET",
            "hoodie.table.keygenerator.type": "SIMPLE",
            "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
            **self.properties,
        }
        text = "".join(f"{key}={value}\n" for key, value in properties.items())
        self.write(".hoodie/hoodie.properties", text.encode())

    @property
    def storage(self) -> Storage:
        return Storage.open(self.path)

    @property
    def timeline_folder(self) -> str:
        return ".hoodie/timeline" if self.version >= 8 else ".hoodie"

    def write(self, path: str, data: bytes = b"") -> None:
        target = self.path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)

    def commit(
        self,
        requested: str,
        action: str = "commit",
        *,
        completed: str | None = None,
        replaced: Mapping[str, Sequence[str]] | None = None,
        extra: Mapping[str, str] | None = None,
        written: Sequence[str] = (),
    ) -> None:
        """A completed instant, which says that it wrote some files."""
        stats: dict[str, list[dict[str, str]]] = {}
        for path in written:
            partition_path, _, name = path.rpartition("/")
            file_id = name.lstrip(".").partition("_")[0]
            stats.setdefault(partition_path, []).append({"fileId": file_id, "path": path})
        record = {
            "operationType": "upsert",
            "extraMetadata": {"schema": json.dumps(avro_schema_of(self.columns))}
            if extra is None
            else dict(extra),
            "partitionToWriteStats": stats,
            "partitionToReplaceFileIds": {key: list(ids) for key, ids in (replaced or {}).items()},
        }
        if self.version >= 8:
            sink = BytesIO()
            fastavro.writer(sink, _COMMIT, [record])
            self.write(
                f"{self.timeline_folder}/{requested}_{completed or requested}.{action}", sink.getvalue()
            )
        else:
            self.write(f"{self.timeline_folder}/{requested}.{action}", json.dumps(record).encode())

    def clean(self, requested: str, earliest: str | None) -> None:
        """A completed cleaning, which says from which commit on it left files, or nothing."""
        schema = {
            "type": "record",
            "name": "HoodieCleanMetadata",
            "fields": [
                {"name": "startCleanTime", "type": "string"},
                {"name": "earliestCommitToRetain", "type": "string"},
            ],
        }
        sink = BytesIO()
        fastavro.writer(
            sink, schema, [{"startCleanTime": requested, "earliestCommitToRetain": earliest or ""}]
        )
        name = f"{requested}_{requested}.clean" if self.version >= 8 else f"{requested}.clean"
        self.write(f"{self.timeline_folder}/{name}", sink.getvalue())

    def partition(self, path: str) -> None:
        self.write(f"{path}/.hoodie_partition_metadata" if path else ".hoodie_partition_metadata")

    def base_file(
        self,
        partition_path: str,
        file_id: str,
        instant: str,
        rows: Sequence[Mapping[str, Any]] = (),
        **options: Any,
    ) -> str:
        """A base file with Hudi's meta columns in front."""
        name = f"{file_id}_0-1-2_{instant}.parquet"
        self._write_to(partition_path, name, self._parquet(partition_path, name, instant, rows, **options))
        return name

    def _parquet(
        self, partition_path: str, name: str, instant: str, rows: Sequence[Mapping[str, Any]], **options: Any
    ) -> bytes:
        values = [
            [instant] * len(rows),
            [f"{instant}_0_{i}" for i in range(len(rows))],
            [row["id"] for row in rows],
            [partition_path] * len(rows),
            [name] * len(rows),
        ]
        meta = pa.table(values, schema=pa.schema([(column, pa.string()) for column in META_COLUMNS]))
        data = pa.Table.from_pylist(list(rows), schema=self.columns)
        for column in self.columns:
            meta = meta.append_column(column, data.column(column.name))
        sink = BytesIO()
        pq.write_table(meta, sink, **options)
        return sink.getvalue()

    def _write_to(self, partition_path: str, name: str, data: bytes) -> None:
        self.partition(partition_path)
        self.write(f"{partition_path}/{name}" if partition_path else name, data)

    def log_file(
        self, partition_path: str, file_id: str, instant: str, *, version: int = 1, size: int = 1
    ) -> str:
        """A log file of this name; its content is no log."""
        name = f".{file_id}_{instant}.log.{version}_0-1-2"
        self._write_to(partition_path, name, b"x" * size)
        return name

    def log_of_rows(
        self,
        partition_path: str,
        file_id: str,
        base_instant: str,
        instant: str,
        rows: Sequence[Mapping[str, Any]],
    ) -> str:
        """A log file that an instant wrote, with new versions of some rows."""
        name = f".{file_id}_{instant if self.version >= 8 else base_instant}.log.1_0-1-2"
        meta = [pa.field(column, pa.string()) for column in META_COLUMNS]
        schema = json.dumps(avro_schema_of(pa.schema([*meta, *self.columns])))
        content = self._parquet(partition_path, name, instant, rows)
        self._write_to(partition_path, name, log_block({0: instant, 2: schema}, content))
        return name

    def avro_log(
        self, partition_path: str, file_id: str, instant: str, *blocks: Sequence[Mapping[str, Any]]
    ) -> str:
        """The same with an Avro block for each of some lists of rows, as Hudi on Spark writes it."""
        name = f".{file_id}_{instant}.log.1_0-1-2"
        meta = [pa.field(column, pa.string()) for column in META_COLUMNS]
        described = avro_schema_of(pa.schema([*meta, *self.columns]))
        schema = fastavro.parse_schema(json.loads(json.dumps(described)))
        written = b""
        for rows in blocks:
            content = struct.pack(">ii", 3, len(rows))
            for number, row in enumerate(rows):
                values = (instant, f"{instant}_0_{number}", row["id"], partition_path, file_id)
                sink = BytesIO()
                meta_values = dict(zip(META_COLUMNS, values, strict=True))
                fastavro.schemaless_writer(sink, schema, {**meta_values, **row})
                content += struct.pack(">i", len(sink.getvalue())) + sink.getvalue()
            written += log_block({0: instant, 2: json.dumps(described)}, content, AVRO_BLOCK)
        self._write_to(partition_path, name, written)
        return name


PARQUET_BLOCK, AVRO_BLOCK = 5, 3


def log_block(header: Mapping[int, str], content: bytes, kind: int = PARQUET_BLOCK) -> bytes:
    """A block of Hudi's log format 1."""
    fields = [struct.pack(">ii", key, len(text.encode())) + text.encode() for key, text in header.items()]
    start = struct.pack(">ii", 1, kind)
    start += struct.pack(">i", len(fields)) + b"".join(fields) + struct.pack(">q", len(content))
    end = struct.pack(">i", 0)  # nothing in the footer
    body = b"#HUDI#" + struct.pack(">q", len(start + content + end) + 8) + start + content + end
    return body + struct.pack(">q", len(body))


def fabricated(path: Path, *, indexed: bool = True) -> Fabricated:
    """A table of one file group, with one index."""
    table = Fabricated(path)
    write(table, T1, "a", range(10))
    if indexed:
        IndexedTable.open(table.path).sql("CREATE INDEX by_n ON t (n)")
    return table


def write(table: Fabricated, instant: str, file_id: str, numbers: range, region: str = "eu") -> None:
    """Give a file group a new base file."""
    rows = [{"id": f"{region}-{n}", "n": n, "region": region} for n in numbers]
    table.base_file(region, file_id, instant, rows)
    table.commit(instant)
