"""One history written twice: by the indexed writer, and by Hudi's own with a global index."""

from __future__ import annotations

import random
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from hudi_index import IndexedTable
from hudi_index.spark import delete, upsert
from hudi_index.validation import Request
from tests.parity.tables import MOR, REGIONS, SCHEMA, HudiTable, hostile_row

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hudi_index.spark import WriteReport

__all__ = [
    "ALL_KINDS",
    "AND_AN_EXPRESSION",
    "HUDIS_INDEX",
    "RECORDS",
    "SMALL",
    "History",
    "Row",
    "Twins",
    "hold_back",
    "row",
]

Row = Mapping[str, Any]

_WITH_DELETES = f"{SCHEMA}, _hoodie_is_deleted boolean"
SMALL: dict[str, Any] = {
    "schema": "id string, ts bigint, region string, v string, _hoodie_is_deleted boolean"
}
"""The shape of a table of few columns; `row` makes its rows."""
RECORDS = ("CREATE INDEX records ON t USING record_index (id)",)

HUDIS_INDEX = {
    "hoodie.index.type": "GLOBAL_SIMPLE",
    "hoodie.simple.index.update.partition.path": "true",
}

ALL_KINDS = (
    "CREATE INDEX records ON t USING record_index (id)",
    "CREATE INDEX names ON t USING secondary_index (name)",
    "CREATE INDEX flags ON t USING bitmap (flag)",
    "CREATE INDEX numbers ON t USING column_stats (n, big, ts)",
    "CREATE INDEX keys ON t USING bloom_filters (id)",
    "CREATE INDEX grams ON t USING ngram (name)",
    "CREATE INDEX tagged ON t USING array (tags)",
)
AND_AN_EXPRESSION = (*ALL_KINDS, "CREATE FUNCTION INDEX shout ON t USING bitmap (upper(name))")
"""With one of these Spark computes columns of all rows that are described."""


def row(key: str, ts: int | None, region: str | None, v: str, *, deletes: bool = False) -> dict[str, Any]:
    """A row of a table of the shape SMALL."""
    return {"id": key, "ts": ts, "region": region, "v": v, "_hoodie_is_deleted": deletes}


@dataclass
class Twins:
    """Two tables that get the same writes."""

    spark: SparkSession
    folder: Path
    table_type: str
    version: int = 9
    shape: Mapping[str, Any] = field(default_factory=dict)
    """Fields of HudiTable."""
    statements: Sequence[str] = ALL_KINDS
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """For our writer."""
    hudis_index: Mapping[str, str] = field(default_factory=lambda: HUDIS_INDEX)
    """What Hudi's own writer finds records by."""

    def __post_init__(self) -> None:
        made = {"schema": _WITH_DELETES, **self.shape}
        self.ours = HudiTable(self.spark, self.folder / "ours", self.table_type, self.version, **made)
        options = {**self.hudis_index, **self.ours.options}
        self.hudis = replace(self.ours, path=self.folder / "hudis", options=options)

    def copied(self, folder: Path) -> Twins:
        """The same tables once more, elsewhere."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return replace(self, folder=folder)

    @property
    def indexed(self) -> IndexedTable:
        return IndexedTable.open(self.ours.path)

    def begin(self, rows: Sequence[Mapping[str, Any]], operation: str = "bulk_insert") -> None:
        """Make both tables, and all indexes over ours."""
        for table in (self.ours, self.hudis):
            table.write(table.frame(rows), operation)
        self.indexed.create_all(self.statements, spark=self.spark)

    def upsert(self, rows: Sequence[Mapping[str, Any]], **arguments: Any) -> WriteReport:
        self.hudis.upsert(rows)
        return upsert(self.ours.frame(rows), self.ours.path, **{**self._given, **arguments})

    def delete(self, rows: Sequence[Mapping[str, Any]], **arguments: Any) -> WriteReport:
        self.hudis.delete(rows)
        return delete(self.ours.frame(rows), self.ours.path, **{**self._given, **arguments})

    def both(self, verb: str, *given: Any) -> None:
        """What others do to both tables, by Hudi's own means."""
        for table in (self.ours, self.hudis):
            getattr(replace(table, options=self.hudis.options), verb)(*given)

    @property
    def _given(self) -> dict[str, Any]:
        options = {
            name: value
            for name, value in self.ours.write_options.items()
            if name.startswith(
                ("hoodie.parquet", "hoodie.compact", "hoodie.clean", "hoodie.archive", "hoodie.embed")
            )
            or name.endswith("shuffle.parallelism")
        }
        return {**self.arguments, "options": {**options, **self.arguments.get("options", {})}}

    def check(self, *, validates: bool = True, queries: int = 2) -> None:
        """Both hold the same rows, and the indexes are what they would be if they were built now."""
        ours, hudis = self.rows_of(self.ours), self.rows_of(self.hudis)
        assert ours == hudis
        if validates:
            report = self.indexed.validate(Request(queries=queries, sample=None), spark=self.spark)
            assert report.exit_code == 0, str(report)
            assert self.indexed.status().commits_behind == 0

    def records(self, table: HudiTable | None = None) -> set[tuple[Any, ...]]:
        """Key, ordering value, partition path and `v` of each record of a table of the shape SMALL; ours."""
        names = ("id", "ts", "_hoodie_partition_path", "v")
        found = [tuple(each) for each in (table or self.ours).read().select(*names).collect()]
        assert len(found) == len(set(found))
        return set(found)

    def rows_of(self, table: HudiTable) -> list[str]:
        """All rows, with the partition that they are in, in an order that does not depend on files."""
        frame = self.spark.read.format("hudi").load(str(table.path))
        names = [
            "_hoodie_record_key",
            "_hoodie_partition_path",
            *(n for n in frame.columns if n[:8] != "_hoodie_"),
        ]
        return sorted(
            row[0] for row in frame.select(names).selectExpr(f"to_json(struct({_listed(names)}))").collect()
        )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def hold_back(table: HudiTable, rows: Sequence[Row], options: Mapping[str, str]) -> Callable[[], None]:
    """Another's commit that has begun, written its files and is not completed; what is returned does that."""
    before = set(table._completed_files())
    table.write(table.frame(rows), "upsert", options=options)
    (name,) = set(table._completed_files()) - before
    file = table._timeline / name
    # Checksums would name a file that is not there.
    file.with_name(f".{name}.crc").unlink(missing_ok=True)
    aside = file.rename(table.path.parent / name)

    def complete() -> None:
        if aside.exists():
            aside.rename(file)

    return complete


class History:
    """Random batches: inserts, updates, moves, late rows, ties, keys that come twice, deletes."""

    def __init__(self, seed: int, keys: int = 24) -> None:
        self.random, self.keys, self.moment = random.Random(seed), keys, 10

    def begin(self) -> list[dict[str, Any]]:
        """The rows of a new table."""
        return [hostile_row(i, ts=5) for i in range(0, self.keys, 2)]

    def batch(self, count: int = 8) -> list[dict[str, Any]]:
        """The next batch."""
        self.moment += 1
        rows = []
        for _ in range(count):
            key, salt = self.random.randrange(self.keys), self.random.randrange(50)
            row = hostile_row(key, ts=self.moment - self.random.choice([0, 0, 0, 1, 3, 7]), salt=salt)
            if self.random.random() < 0.4:
                row["region"] = self.random.choice(REGIONS)
            row["_hoodie_is_deleted"] = self.random.random() < 0.15
            rows.append(row)
        return rows

    def some_keys(self, count: int = 3) -> list[dict[str, Any]]:
        """Keys to delete."""
        return [hostile_row(self.random.randrange(self.keys)) for _ in range(count)]

    def step(self, twins: Twins) -> None:
        """One more batch, by one writer or the other, and now and then what Hudi does to tables."""
        match self.random.randrange(11):
            case 0:
                twins.delete(self.some_keys())
            case 1:
                twins.both("upsert", self.batch())
            case 2 if twins.table_type == MOR:
                twins.both("compact")
            case 2:
                twins.both("cluster")
            case 3:
                twins.upsert(self.batch(), index="async")
            case 4:
                twins.upsert(self.batch(), lag="maintain")
            case 10:
                twins.both("delete_partition", self.random.choice(REGIONS))
            case _:
                twins.upsert(self.batch(), lag=self.random.choice(["auto", "read"]))
