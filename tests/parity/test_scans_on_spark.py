"""Scans against Spark: the rows of a full scan with every skipping off, or a refusal; never others."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable, ScanReport
from hudi_index.errors import SliceGoneError, UnsupportedPredicateError
from hudi_index.predicate import bind, parse_predicate
from hudi_index.scan.row_filter import row_filter_of
from hudi_index.table.paths import values_at
from tests.lifecycle.test_lifecycle_on_spark import STATEMENTS
from tests.parity.tables import COW, MOR, REGIONS, HudiTable, canonical, canonical_rows, hostile_rows
from tests.parity.test_plans_on_spark import LEAVES
from tests.parity.test_predicates_on_spark import (
    SCHEMA,
    accepted_leaves,
    predicate,
    table,
    time_zone,
    truths,
)
from tests.repository.test_documents import python_blocks
from tests.repository.tree import ROOT
from tests.support.engines import EngineParity

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tests.parity.test_predicates_on_spark import Table

__all__ = ["table", "time_zone"]  # fixtures

pytestmark = pytest.mark.spark

MORE_LEAVES = [
    *(
        "name LIKE '%i%'",
        "name NOT LIKE '_scii'",
        "name LIKE '%\\n%'",
        "name LIKE '日__'",
        "name LIKE '%\\%%'",
    ),
    *(
        "address.city LIKE '%$b,_:d'",
        "address.city = name",
        "name < address.city",
        "NOT name <=> address.city",
    ),
    *("n < address.zip", "n >= big", "ratio > small", "ratio = small", "ratio <=> small", "id != name"),
    *("region > day", "day BETWEEN region AND name", "(name < id) IS NOT TRUE", "(n = address.zip) IS NULL"),
    *("address IS NULL", "tags IS NOT NULL", "tags IS NULL AND n > 0", "ratio NOT IN (0.5, double('NaN'))"),
    *("small IN (1.5, -0.0)", "seen >= '1970-01-01'", "seen BETWEEN '1901-01-01' AND '1970-01-01'"),
    *("born IN ('1600-01-01', '2024-02-29')", "raw > X'10'", "raw IS NULL", "big > 4611686018427387890"),
    *("_hoodie_partition_path = 'eu'", "_hoodie_commit_time > '2000'", "_hoodie_record_key LIKE '%07'"),
    *("n = '10'", "n > 3.5", "price >= 0.00009D", "flag = 1", "ts = 5", "n + 1 = 11", "name RLIKE 'a.*'"),
    *(
        "contains(name, 'i')",
        "endswith(name, 'i')",
        "array_contains(tags, 'a')",
        "exists(tags, x -> x IS NULL)",
    ),
    *(
        "exists(tags, x -> x > 'a') IS NOT TRUE",
        "arrays_overlap(tags, array('a', 'b', ''))",
        "name RLIKE '^.s'",
    ),
]
REFUSED = ("upper(", "shout", "hour(", "lower(", "length(", "IS NULL)", "n + 1", "(n = address.zip)")


def _predicates(chance: random.Random, count: int) -> list[str]:
    # The name of a functional index is no column to Spark.
    leaves = [leaf for leaf in (*LEAVES, *MORE_LEAVES) if "shout" not in leaf]

    def tree(depth: int) -> str:
        if depth == 0 or chance.random() < 0.25:
            return chance.choice(leaves)
        kind = chance.random()
        if kind < 0.2:
            return f"NOT ({tree(depth - 1)})"
        if kind < 0.3:
            return f"({tree(depth - 1)}) {chance.choice(['IS TRUE', 'IS NOT TRUE', 'IS NOT FALSE'])}"
        return f"({tree(depth - 1)}) {chance.choice(['AND', 'OR'])} ({tree(depth - 1)})"

    return [*leaves, *(tree(4) for _ in range(count))]


class _Differential:
    """Scans compared with one full scan of Spark's; counts what was compared, refused and pruned."""

    def __init__(self, hudi: HudiTable) -> None:
        self._hudi = hudi
        self.compared = self.refused = self.matched = self.kept = self.total = 0

    def check(self, predicates: list[str], as_of: str | None = None, **options: Any) -> None:
        table = IndexedTable.open(self._hudi.path)
        for text, wanted in zip(predicates, self._matches(predicates, as_of), strict=True):
            report = ScanReport()
            try:
                reader = table.scan(text, ["*"], as_of=as_of, report=report, **options)
            except UnsupportedPredicateError:
                self.refused += 1
                continue
            found = canonical_rows(reader)
            assert found == wanted, f"{text}\nmissing {wanted - found}\ntoo many {found - wanted}"
            assert report.rows_returned == wanted.total()
            self.compared += 1
            self.matched += bool(wanted)
            self.kept, self.total = self.kept + report.file_groups_read, self.total + report.file_groups

    def _matches(self, predicates: list[str], as_of: str | None) -> list[Counter[tuple[Any, ...]]]:
        frame = self._hudi.read(as_of)
        truth = [f"coalesce({text}, false)" for text in predicates]
        with self._hudi._session({"spark.sql.parquet.filterPushdown": "false"}):
            rows = frame.selectExpr("*", f"array({', '.join(truth)}) AS truth")._collect_as_arrow()
        found: list[Counter[tuple[Any, ...]]] = [Counter() for _ in predicates]
        for batch in rows:
            *columns, truths = [column.to_pylist() for column in batch.columns]
            for row, flags in zip(zip(*columns, strict=True), truths, strict=True):
                key = tuple(map(canonical, row))
                for place, flag in enumerate(flags):  # type: ignore[arg-type]  # no null among them
                    if flag:
                        found[place][key] += 1
        return found

    @property
    def pruned(self) -> float:
        return 1 - self.kept / self.total


class _Engines:
    """The same predicates in DuckDB and Polars, over a dataset and over the plain rows."""

    def __init__(self, hudi: HudiTable) -> None:
        self._hudi, self._report = hudi, ScanReport()

    def check(self, predicates: list[str], as_of: str | None = None) -> None:
        table = IndexedTable.open(self._hudi.path)
        rows = table.scan(columns=["*"], as_of=as_of).read_all()
        dataset = table.dataset(as_of=as_of, meta_columns=True, report=self._report)
        for engine, least in (("duckdb", 0.4), ("polars", 0.2)):
            parity = EngineParity(engine)
            parity.check_spark(dataset, rows, predicates)
            assert parity.compared >= int(least * parity.asked), (engine, parity.compared, parity.asked)

    @property
    def pruned(self) -> bool:
        return self._report.file_groups_read < self._report.file_groups


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_scan_gives_the_rows_of_a_full_scan(table_type: str, spark: SparkSession, tmp_path: Path) -> None:
    _differential(spark, tmp_path, table_type, seed=11, count=20, sample=30)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_scan_gives_the_rows_of_a_full_scan_over_many_predicates(
    table_type: str, seed: int, spark: SparkSession, tmp_path: Path
) -> None:
    _differential(spark, tmp_path, table_type, seed=seed, count=400, sample=400)


def _differential(
    spark: SparkSession, tmp_path: Path, table_type: str, *, seed: int, count: int, sample: int
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(12)))
    first = hudi.bulk_insert(hostile_rows(range(12, 24), salt=1))
    hudi.bulk_insert(hostile_rows(range(24, 40), salt=2))
    table = IndexedTable.open(hudi.path)
    for statement in STATEMENTS:
        table.sql(statement)
    chance = random.Random(seed)
    predicates = _predicates(chance, count)
    run, engines = _Differential(hudi), _Engines(hudi)
    run.check(predicates)
    # Behind the table by two commits, and as of an instant before any index.
    hudi.upsert(hostile_rows(range(0, 40, 9), ts=5, salt=4))
    hudi.delete(hostile_rows([3, 4]))
    run.check(chance.sample(predicates, sample), threads=2)
    engines.check(chance.sample(predicates, sample))
    run.check(chance.sample(predicates, sample), as_of=first)
    engines.check(chance.sample(predicates, sample // 4), as_of=first)
    table.maintain()
    run.check(chance.sample(predicates, sample))
    engines.check(chance.sample(predicates, sample))
    assert engines.pruned
    asked = len(predicates) + 3 * sample
    assert run.compared + run.refused == asked
    assert run.compared > 0.55 * asked, (run.compared, asked)
    assert run.matched > 0.5 * run.compared
    assert run.pruned > 0.15


def test_scan_of_files_older_than_the_schema_gives_what_spark_reads(
    spark: SparkSession, tmp_path: Path
) -> None:
    old = "id string, ts bigint, region string, i int, f float, a struct<x:int>, l array<int>"
    new = old.replace("i int", "i bigint").replace("float", "double").replace("x:int", "x:int,y:string")
    hudi = HudiTable(spark, tmp_path / "t", COW, schema=old)
    hudi.bulk_insert(
        [
            {"id": f"k{i}", "ts": 1, "region": REGIONS[i % 2], "i": i, "f": i + 0.1, "a": (i,), "l": [i]}
            for i in range(10)
        ]
    )
    hudi.schema = f"{new}, z string"
    row = {
        "id": "k1",
        "ts": 2,
        "region": REGIONS[1],
        "i": 1 << 40,
        "f": 0.1,
        "a": (1, "y"),
        "l": [],
        "z": "z",
    }
    hudi.upsert([row])
    run = _Differential(hudi)
    run.check(["i > 3", "f < 2.2", "f < 2.1", "a.y IS NULL", "a.y = 'y'", "a.x = 4", "z IS NULL AND a.x > 2"])
    assert (run.compared, run.refused) == (7, 0)
    assert run.matched == 7


def test_every_leaf_is_evaluated_but_for_those_that_only_spark_knows(
    spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW)
    hudi.bulk_insert(hostile_rows(range(6)))
    table = IndexedTable.open(hudi.path)
    for leaf in (*LEAVES, *MORE_LEAVES):
        if any(part in leaf for part in REFUSED):
            continue
        table.scan(leaf)


def test_row_filter_passes_exactly_the_rows_that_spark_finds_true(table: Table, time_zone: str) -> None:
    """Literals of every type against columns of every type, and columns against each other."""
    frame, rows = table
    batch = _as_batch(frame, rows)
    chance = random.Random(time_zone)
    names = [name for name in SCHEMA.paths() if name != "st"]
    pairs = [
        f"{one} {operator} {other}"
        for operator in ("=", "<", ">=", "<=>", "!=")
        for one in names
        for other in names
    ]
    leaves = [*accepted_leaves(frame, seed=77, count=70), *_same_typed(frame, chance.sample(pairs, 60))]
    leaves += [
        f"s {word} {pattern}"
        for word in ("LIKE", "NOT LIKE")
        for pattern in ("'%a%'", "'_'", "'a_b'", "'%\\\\%%'", "'x_y'", "'__'")
    ]
    evaluated = _agreeing(frame, batch, leaves, time_zone)
    assert len(evaluated) > 0.5 * len(leaves)
    made = list(dict.fromkeys(predicate(chance, evaluated, 4) for _ in range(80)))
    # What is made of parts that can be evaluated can be evaluated.
    assert _agreeing(frame, batch, made, time_zone) == made


def _agreeing(frame: DataFrame, batch: pa.RecordBatch, texts: list[str], time_zone: str) -> list[str]:
    """The predicates that are evaluated, each of them as Spark does."""
    evaluated = []
    for text, truth in zip(texts, truths(frame, texts), strict=True):
        bound = bind(parse_predicate(text, time_zone=time_zone), SCHEMA)
        try:
            passes = row_filter_of(bound, time_zone=time_zone)
        except UnsupportedPredicateError:
            continue
        evaluated.append(text)
        mask = passes.mask(lambda path: values_at(batch, path), batch.num_rows).to_pylist()
        assert mask == [each is True for each in truth], text
    return evaluated


def _same_typed(frame: DataFrame, pairs: list[str]) -> list[str]:
    from tests.parity.test_predicates_on_spark import is_accepted

    return [pair for pair in pairs if is_accepted(frame, pair)]


def _as_batch(frame: DataFrame, rows: list[dict[str, Any]]) -> pa.RecordBatch:
    from pyspark.sql.pandas.types import to_arrow_schema

    schema = to_arrow_schema(frame.schema)
    zoned = [
        pa.field(field.name, pa.timestamp("us", tz="UTC"))
        if pa.types.is_timestamp(field.type) and field.type.tz is not None
        else field
        for field in schema
    ]
    return pa.RecordBatch.from_pylist(rows, schema=pa.schema(zoned))


def test_log_that_vanishes_under_a_scan_is_a_conflict(spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", MOR)
    hudi.bulk_insert(hostile_rows(range(6)))
    hudi.upsert(hostile_rows(range(6), ts=5, salt=4))
    reader = IndexedTable.open(hudi.path).scan("ts = 5", ["id"])
    for log in hudi.path.rglob(".*.log.*"):
        log.unlink()
    with pytest.raises(SliceGoneError, match="scan again"):
        reader.read_all()


def test_examples_of_the_document_run(spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(
        spark,
        tmp_path / "trips",
        MOR,
        partition_by="city",
        schema="id string, ts bigint, city string, rider string, fare double, seat struct<row:int>",
    )
    cities = ("berlin", "paris", "rome")
    rows = [
        {
            "id": f"t{i:02d}",
            "ts": 1,
            "city": cities[i % 3],
            "rider": f"rider-{i % 9}",
            "fare": float(i),
            "seat": (i,),
        }
        for i in range(30)
    ]
    hudi.bulk_insert(rows)
    hudi.upsert([{**rows[7], "ts": 2, "fare": 99.0}])
    IndexedTable.open(hudi.path).sql("CREATE INDEX riders ON trips (rider)")
    found = python_blocks((ROOT / "docs/arrow.md").read_text(encoding="utf-8"))
    blocks = [block for block in found if 'open("trips")' in block.code]
    assert len(blocks) == 4
    assert all(block.code.count("\n") <= 10 for block in blocks)
    printed = []
    for block in blocks:
        done = subprocess.run(
            [sys.executable, "-c", block.code], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"docs/arrow.md, line {block.line}:\n{done.stderr}"
        printed.append(done.stdout)
    arrow, duckdb, polars, unfiltered = printed
    assert "{'id': 't07', 'fare': 99.0}" in arrow
    assert "{'id': 't16', 'fare': 16.0}" in arrow
    assert "3 rows of" in arrow
    assert "1 of 3 file groups" in arrow
    assert [line.split()[1::2] for line in duckdb.splitlines() if "rider-" in line] == [
        ["rider-0", "54.0"],
        ["rider-3", "36.0"],
    ]
    assert [city in polars for city in cities] == [True, True, True]
    assert "99.0" in polars
    assert " 3 " in unfiltered
