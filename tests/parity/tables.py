"""Real Hudi tables made by Hudi on Spark, one method per table operation, and Hudi's own view of them.

`HudiTable` writes; `rows()` and `file_slices()` are the oracle: what Hudi on Spark reads and which file
slices it reads, with every pruning and push-down switched off. Rows are compared as multisets of canonical
tuples, so NaN equals NaN and -0.0 differs from 0.0.
"""

from __future__ import annotations

import math
import struct
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.serializers import ArrowStreamSerializer
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType, _parse_datatype_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

COW = "COPY_ON_WRITE"
MOR = "MERGE_ON_READ"

SCHEMA = (
    "id string, ts bigint, region string, day string, name string, n int, big bigint, ratio double, "
    "small float, flag boolean, price decimal(20,4), born date, seen timestamp, "
    "address struct<city:string,zip:int>, tags array<string>, raw binary"
)
COLUMNS = tuple(part.split()[0] for part in SCHEMA.split(", "))
META_COLUMNS = ("_hoodie_record_key", "_hoodie_partition_path")
REGIONS = ("eu", "us", "asia")

# Hudi's defaults are about a hundred tasks each, nearly all of them empty here.
_SMALL = {
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "2",
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.delete.shuffle.parallelism": "2",
    "hoodie.simple.index.parallelism": "2",
    "hoodie.bloom.index.parallelism": "2",
    "hoodie.finalize.write.parallelism": "2",
    "hoodie.markers.delete.parallelism": "2",
    "hoodie.rollback.parallelism": "2",
    "hoodie.clean.parallelism": "2",
    "hoodie.file.listing.parallelism": "2",
    "hoodie.archive.delete.parallelism": "2",
    # Hudi writes a bloom filter of the record keys into each base file, by default with room for 60,000.
    "hoodie.index.bloom.num_entries": "100",
}

_PROCEDURE_OPTIONS = (
    *_SMALL,
    "hoodie.write.table.version",
    "hoodie.write.auto.upgrade",
    "hoodie.metadata.enable",
    "hoodie.embed.timeline.server",
)

_PRICES = (None, Decimal("-1.5000"), Decimal("9999999999999999.9999"), Decimal(0), Decimal("0.0001"))
_NAMES = ("", "ascii", "zürich", "日本語", None, "x" * 2000, "a$b,c:d", "line\nbreak", "'quoted'")
_RATIOS = (0.5, math.nan, -0.0, 0.0, math.inf, -math.inf, None, -1e308, 5e-324)
_SEEN = (
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
    None,
    datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=timezone.utc),
    datetime(1901, 1, 1, tzinfo=timezone.utc),
    datetime(1970, 1, 1, tzinfo=timezone.utc),
)
_BORN = (date(1969, 12, 31), date(2024, 2, 29), None, date(1600, 1, 1))


def hostile_row(i: int, *, ts: int = 1, salt: int = 0) -> dict[str, Any]:
    """Row number `i`; another `salt` gives the same key other values."""
    k = i + salt
    return {
        "id": f"k{i:04d}",
        "ts": ts,
        "region": REGIONS[i % len(REGIONS)],
        "day": f"2024-01-{i % 2 + 1:02d}",
        "name": _NAMES[k % len(_NAMES)],
        "n": None if k % 7 == 3 else k * (-1) ** k,
        "big": None if k % 11 == 5 else (1 << 62) - k,
        "ratio": _RATIOS[k % len(_RATIOS)],
        "small": None if k % 5 == 4 else [1.5, math.nan, -0.0, 3.25][k % 4],
        "flag": [True, False, None][k % 3],
        "price": _PRICES[k % len(_PRICES)],
        "born": _BORN[k % len(_BORN)],
        "seen": _SEEN[k % len(_SEEN)],
        "address": None
        if k % 6 == 5
        else {"city": _NAMES[(k + 1) % len(_NAMES)], "zip": k if k % 4 else None},
        "tags": None if k % 5 == 2 else [_NAMES[(k + j) % 4] for j in range(k % 3)],
        "raw": None if k % 8 == 7 else bytes([k % 256, 0, 255]),
    }


def hostile_rows(keys: Iterable[int], *, ts: int = 1, salt: int = 0) -> list[dict[str, Any]]:
    """One hostile row per key."""
    return [hostile_row(i, ts=ts, salt=salt) for i in keys]


@dataclass
class HudiTable:
    """A Hudi table at a local path, written by Hudi on Spark."""

    spark: SparkSession
    path: Path
    table_type: str = COW
    version: int = 9
    partition_by: str = "region"
    record_key: str = "id"
    ordering: str | None = "ts"
    schema: str = SCHEMA
    options: Mapping[str, str] = field(default_factory=dict)
    """Write options of every write, over the ones above."""

    @property
    def uri(self) -> str:
        return self.path.as_uri()

    @property
    def write_options(self) -> dict[str, str]:
        options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.table.type": self.table_type,
            "hoodie.write.table.version": str(self.version),
            # A version-6 table stays one only if the writer may not upgrade it.
            "hoodie.write.auto.upgrade": "false",
            "hoodie.datasource.write.recordkey.field": self.record_key,
            "hoodie.datasource.write.partitionpath.field": self.partition_by,
            "hoodie.metadata.enable": "false",
            "hoodie.embed.timeline.server": "false",
            **_SMALL,
            "hoodie.compact.inline": "false",
            "hoodie.clean.automatic": "false",
            "hoodie.archive.automatic": "false",
        }
        if self.table_type == MOR:
            # Else Hudi rewrites the small base files of these small tables, and few logs are written.
            options["hoodie.parquet.small.file.limit"] = "0"
        if self.ordering:
            options["hoodie.datasource.write.precombine.field"] = self.ordering
        return {**options, **self.options}

    def frame(self, rows: Sequence[Mapping[str, Any]]) -> DataFrame:
        """Rows as a DataFrame of one partition; columns that a row lacks are null.

        As Arrow, which the JVM holds: rows of `createDataFrame` go through Python workers, each time Hudi
        looks at them.
        """
        schema = _parse_datatype_string(self.schema)
        assert isinstance(schema, StructType)
        batch = pa.RecordBatch.from_pylist(list(rows), schema=to_arrow_schema(schema))
        jvm = self.spark._jvm
        assert jvm is not None
        batches = self.spark.sparkContext._serialize_to_jvm(
            [batch],
            ArrowStreamSerializer(),
            jvm.PythonSQLUtils.readArrowStreamFromFile,
            jvm.ArrowIteratorServer,
        )
        made = jvm.PythonSQLUtils.toDataFrame(batches, schema.json(), self.spark._jsparkSession)
        return DataFrame(made, self.spark).coalesce(1)

    def write(
        self,
        frame: DataFrame,
        operation: str,
        *,
        mode: str = "append",
        options: Mapping[str, str] | None = None,
    ) -> str:
        """Write with any operation; the requested time of its instant."""
        before = set(self.completed())
        settings = {
            **self.write_options,
            "hoodie.datasource.write.operation": operation,
            **(options or {}),
        }
        frame.write.format("hudi").options(**settings).mode(mode).save(str(self.path))
        written = sorted(set(self.completed()) - before)
        return written[-1] if written else ""

    def bulk_insert(self, rows: Sequence[Mapping[str, Any]], **options: str) -> str:
        return self.write(self.frame(rows), "bulk_insert", options=_dotted(options))

    def insert(self, rows: Sequence[Mapping[str, Any]], **options: str) -> str:
        return self.write(self.frame(rows), "insert", options=_dotted(options))

    def upsert(self, rows: Sequence[Mapping[str, Any]], **options: str) -> str:
        return self.write(self.frame(rows), "upsert", options=_dotted(options))

    def delete(self, rows: Sequence[Mapping[str, Any]], **options: str) -> str:
        """Delete by key and partition of the given rows."""
        return self.write(self.frame(rows), "delete", options=_dotted(options))

    def insert_overwrite(self, rows: Sequence[Mapping[str, Any]], **options: str) -> str:
        """Replace the partitions that the rows are in."""
        return self.write(self.frame(rows), "insert_overwrite", options=_dotted(options))

    def delete_partition(self, *partition_paths: str) -> str:
        """Drop whole partitions."""
        chosen = {"hoodie.datasource.write.partitions.to.delete": ",".join(partition_paths)}
        return self.write(self.frame([]), "delete_partition", options=chosen)

    def compact(self) -> str:
        """Compact every file group with logs."""
        before = set(self.completed())
        self.call(
            "run_compaction", op="scheduleandexecute", options="hoodie.compact.inline.max.delta.commits=1"
        )
        return (sorted(set(self.completed()) - before) or [""])[-1]

    def schedule_compaction(self) -> None:
        """Plan a compaction and leave it pending."""
        self.call("run_compaction", op="schedule", options="hoodie.compact.inline.max.delta.commits=1")

    def cluster(self) -> str:
        """Rewrite all file groups into new ones."""
        before = set(self.completed())
        self.call("run_clustering", op="scheduleandexecute")
        return (sorted(set(self.completed()) - before) or [""])[-1]

    def schedule_clustering(self) -> None:
        """Plan to rewrite all file groups and leave it pending."""
        self.call("run_clustering", op="schedule")

    def run_pending_clustering(self) -> None:
        """Do what was planned."""
        self.call("run_clustering", op="execute")

    def clean(self) -> None:
        """Delete the files that only superseded slices name."""
        name = "table_to_clean"
        self.spark.sql(f"drop table if exists {name}")
        self.spark.sql(f"create table {name} using hudi location '{self.path}'")
        try:
            self.call("run_clean", path=None, table=name, retain_commits=1)
        finally:
            self.spark.sql(f"drop table {name}")

    def savepoint(self) -> str:
        """Save the latest instant, so that `restore` can return to it."""
        instant = self.completed()[-1]
        self.call("create_savepoint", commit_time=instant)
        return instant

    def restore(self, savepoint: str) -> None:
        """Return to a savepoint: later commits are undone."""
        self.call("rollback_to_savepoint", instant_time=savepoint)

    def crash_a_write(self, rows: Sequence[Mapping[str, Any]], operation: str = "upsert") -> str:
        """A writer that died after its data files and before its commit: the completed instant is missing."""
        before = set(self._completed_files())
        instant = self.write(self.frame(rows), operation)
        for name in set(self._completed_files()) - before:
            (self._timeline / name).unlink()
            (self._timeline / f".{name}.crc").unlink(missing_ok=True)
        return instant

    def call(self, procedure: str, **arguments: object) -> list[Any]:
        """Run one of Hudi's SQL procedures on this table."""
        given = {"path": str(self.path), **arguments}
        text = ", ".join(f"{name} => {value!r}" for name, value in given.items() if value is not None)
        # Procedures take their write options from the session; without these they upgrade the table.
        with self._session({name: self.write_options[name] for name in _PROCEDURE_OPTIONS}):
            return self.spark.sql(f"call {procedure}({text})").collect()

    @contextmanager
    def _session(self, settings: Mapping[str, str]) -> Iterator[None]:
        for name, value in settings.items():
            self.spark.conf.set(name, value)
        try:
            yield
        finally:
            for name in settings:
                self.spark.conf.unset(name)

    @property
    def _timeline(self) -> Path:
        return self.path / ".hoodie" / ("timeline" if self.version >= 8 else "")

    def _completed_files(self) -> list[str]:
        if not self._timeline.exists():
            return []
        actions = ("commit", "deltacommit", "replacecommit")
        return sorted(
            p.name for p in self._timeline.iterdir() if p.name[0] != "." and p.suffix[1:] in actions
        )

    def completed(self) -> list[str]:
        """Requested times of the completed commits, oldest first."""
        return [name.partition(".")[0].partition("_")[0] for name in self._completed_files()]

    def read(self, as_of: str | None = None) -> DataFrame:
        """The table as Hudi on Spark reads it, without Hudi's own indexes."""
        reader = self.spark.read.format("hudi").options(
            **{"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
        )
        if as_of:
            reader = reader.option("as.of.instant", as_of)
        return reader.load(str(self.path))

    def rows(
        self, as_of: str | None = None, columns: Sequence[str] | None = None
    ) -> Counter[tuple[Any, ...]]:
        """All rows as Hudi on Spark reads them: (file id, record key, partition path, columns …).

        Only the columns, where the table has no meta columns.
        """
        frame = self.read(as_of)
        chosen = list(columns or self.data_columns(frame))
        with self._session({"spark.sql.parquet.filterPushdown": "false"}):
            if "_hoodie_record_key" not in frame.columns:
                return canonical_rows(frame.select(*chosen)._collect_as_arrow())
            batches = frame.select("_hoodie_file_name", *META_COLUMNS, *chosen)._collect_as_arrow()
        return canonical_rows(batches, file_id_of=_file_id_of)

    @staticmethod
    def data_columns(frame: DataFrame) -> list[str]:
        """The columns of a frame that are not Hudi's."""
        return [name for name in frame.columns if not name.startswith("_hoodie_")]

    def file_slices(self, as_of: str | None = None) -> set[tuple[str, str, str | None, tuple[str, ...]]]:
        """Hudi's file slices: (partition path, file id, base file name, log file names by name).

        As of an earlier instant Hudi lists later logs too, and leaves their records out when reading.
        """
        jvm = self.spark.sparkContext._jvm
        assert jvm is not None
        hudi = jvm.org.apache.hudi
        conf = hudi.storage.hadoop.HadoopStorageConfiguration(
            self.spark.sparkContext._jsc.hadoopConfiguration()
        )
        client = (
            hudi.common.table.HoodieTableMetaClient.builder()
            .setConf(conf)
            .setBasePath(str(self.path))
            .build()
        )
        context = hudi.client.common.HoodieSparkEngineContext(self.spark.sparkContext._jsc)
        config = hudi.common.config.HoodieMetadataConfig.newBuilder().enable(False).build()
        timeline = client.getCommitsAndCompactionTimeline().filterCompletedAndCompactionInstants()
        manager = hudi.common.table.view.FileSystemViewManager
        view = manager.createInMemoryFileSystemViewWithTimeline(context, client, config, timeline)
        instant = as_of or timeline.lastInstant().get().requestedTime()
        found = set()
        for partition in hudi.common.fs.FSUtils.getAllPartitionPaths(context, client, config):
            for item in view.getLatestMergedFileSlicesBeforeOrOn(partition, instant).iterator():
                base = item.getBaseFile()
                base_name = base.get().getFileName() if base.isPresent() else None
                names = (log.getFileName() for log in item.getLogFiles().iterator())
                # Change logs are for CDC queries only.
                logs = tuple(sorted(name for name in names if not name.endswith(".cdc")))
                found.add((partition, item.getFileId(), base_name, logs))
        return found


def canonical_rows(batches: Iterable[pa.RecordBatch], *, file_id_of: Any = None) -> Counter[tuple[Any, ...]]:
    """Rows of Arrow batches as a multiset; the first column goes through `file_id_of` if given."""
    found: Counter[tuple[Any, ...]] = Counter()
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns]
        for row in zip(*columns, strict=True):
            first = file_id_of(row[0]) if file_id_of else canonical(row[0])
            rest = tuple(canonical(value) for value in row[1:])
            found[(first,) + rest] += 1  # noqa: RUF005  mypy takes a star here for the syntax of 3.11
    return found


def canonical(value: Any) -> Any:
    """A value that can be hashed and compared: NaN equals NaN, -0.0 is not 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else struct.pack(">d", value)
    if isinstance(value, dict):
        return tuple((name, canonical(part)) for name, part in value.items())
    if isinstance(value, list | tuple):
        return tuple(canonical(part) for part in value)
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc).isoformat() if value.tzinfo else value.isoformat()
    return value


def _file_id_of(file_name: str | None) -> str | None:
    """A base file's rows name the file, a log's rows the file id alone."""
    return file_name.partition("_")[0] if file_name else None


def _dotted(options: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("__", "."): value for name, value in options.items()}
