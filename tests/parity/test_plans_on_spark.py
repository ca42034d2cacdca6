"""Plans against Hudi's full scan on Spark: no file group that holds a matching row is ever left out."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

from hudi_index.cli import main
from hudi_index.engine import IndexedTable
from hudi_index.errors import UnknownColumnError, UserError
from tests.lifecycle.test_lifecycle_on_spark import STATEMENTS
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

FUNCTIONAL = [
    "CREATE INDEX shout ON t USING secondary_index (upper(name)) OPTIONS (time_zone = 'UTC')",
    "CREATE INDEX hours ON t USING bitmap (hour(seen)) OPTIONS (time_zone = 'UTC')",
]
LEAVES = [
    "name = 'ascii'",
    "name = ''",
    "name IS NULL",
    "name IS NOT NULL",
    "name LIKE 'a%'",
    "name LIKE 'x%'",
    "name > 'b'",
    "name IN ('zürich', 'absent', '日本語')",
    "name NOT IN ('ascii', NULL)",
    "name <=> NULL",
    "n = 10",
    "n > 20",
    "n BETWEEN -5 AND 5",
    "n != 4",
    "ratio > 1",
    "ratio = 'NaN'",
    "ratio >= double('infinity')",
    "ratio = 0.0",
    "ratio < 0",
    "small > 2",
    "flag",
    "NOT flag",
    "flag IS NULL",
    "price = 0.0001",
    "price < 0",
    "price IN (9999999999999999.9999, 1)",
    "born < DATE'1700-01-01'",
    "born = DATE'2024-02-29'",
    "seen < TIMESTAMP'1970-01-01 00:00:00'",
    "seen IS NULL",
    "address.city = 'ascii'",
    "address.city IS NULL AND n > 3",
    "address.zip = 9",
    "id = 'k0007'",
    "id IN ('k0001', 'k0039', 'nope')",
    "_hoodie_record_key = 'k0003'",
    "region = 'eu'",
    "region IN ('us', 'mars')",
    "day = '2024-01-02'",
    "big = 4611686018427387894",
    "raw = X'0800FF'",
    "upper(name) = 'ASCII'",
    "shout = 'ASCII'",
    "hour(seen) = 12",
    "hour(seen) IS NULL",
    "lower(name) = 'ascii'",
    "length(name) > 100",
    "name LIKE '%sci%'",
    "name LIKE 'z%ric%'",
    "endswith(name, 'oted\\'')",
    "contains(name, '日本語')",
    "name RLIKE 'a.b,c'",
    "address.city LIKE '%rich'",
    "array_contains(tags, 'ascii')",
    "arrays_overlap(tags, array('日本語', 'absent'))",
    "exists(tags, x -> x LIKE 'z%')",
]


def _predicates(chance: random.Random, count: int) -> list[str]:
    def tree(depth: int) -> str:
        if depth == 0 or chance.random() < 0.3:
            return chance.choice(LEAVES)
        if chance.random() < 0.2:
            return f"NOT ({tree(depth - 1)})"
        return f"({tree(depth - 1)}) {chance.choice(['AND', 'OR'])} ({tree(depth - 1)})"

    return [*LEAVES, *(tree(3) for _ in range(count))]


def _matching_groups(hudi: HudiTable, predicates: list[str], as_of: str | None = None) -> list[set[str]]:
    """By predicate the file ids that hold matching rows, all in one scan without any skipping."""
    frame = hudi.read(as_of)
    # `shout` is the name of an index: Spark does not know it.
    texts = [text.replace("shout =", "upper(name) =") for text in predicates]
    file_id = "split(_hoodie_file_name, '_')[0]"
    chosen = [
        f"collect_set(CASE WHEN {text} THEN {file_id} END) AS p{place}" for place, text in enumerate(texts)
    ]
    (row,) = frame.selectExpr(*chosen).collect()
    return [set(found) for found in row]


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_plan_never_leaves_out_a_file_group_with_matching_rows(
    table_type: str, spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(12)))
    hudi.bulk_insert(hostile_rows(range(12, 24), salt=1))
    first = hudi.bulk_insert(hostile_rows(range(24, 40), salt=2))
    table = IndexedTable.open(hudi.path)
    for statement in STATEMENTS:
        table.sql(statement)
    for statement in FUNCTIONAL:
        table.sql(statement, spark=spark)
    predicates = _predicates(random.Random(5), 60)
    pruned = _check(hudi, table, predicates)
    assert pruned > 0.25
    _check_exact(hudi, table)
    # Behind the table by two commits: less is covered, nothing is lost.
    hudi.upsert(hostile_rows(range(0, 40, 9), ts=5, salt=4))
    hudi.delete(hostile_rows([3, 4]))
    lagging = _check(hudi, table, predicates)
    assert 0 < lagging < pruned
    assert _check(hudi, table, predicates, as_of=first) > 0
    table.maintain(spark=spark)
    assert _check(hudi, table, predicates) > lagging
    _check_exact(hudi, table)


def _check(hudi: HudiTable, table: IndexedTable, predicates: list[str], as_of: str | None = None) -> float:
    """Every plan keeps what Spark finds; returns the share of file groups that plans left out."""
    kept = total = 0
    for predicate, wanted in zip(predicates, _matching_groups(hudi, predicates, as_of), strict=True):
        plan = table.plan(predicate, as_of=as_of)
        found = {file_slice.group.file_id for file_slice in plan.slices}
        assert wanted <= found, f"{predicate}\n{plan.explain()}"
        kept, total = kept + plan.kept, total + plan.total
    return 1 - kept / total


def _check_exact(hudi: HudiTable, table: IndexedTable) -> None:
    """On covered tables, equality keeps exactly the file groups that hold matching rows."""
    exact = [
        "name = 'ascii'",
        "name IN ('zürich', 'absent', '日本語')",
        "name IS NULL",
        "price = 0.0001",
        "id = 'k0007'",
        "_hoodie_record_key = 'k0003'",
        "flag",
        "flag IS NULL",
        "upper(name) = 'ASCII'",
        "flag AND day = '2024-01-02'",
        "hour(seen) = 12",
        "name LIKE '%sci%'",
        "array_contains(tags, '日本語')",
    ]
    for predicate, wanted in zip(exact, _matching_groups(hudi, exact), strict=True):
        plan = table.plan(predicate)
        assert {file_slice.group.file_id for file_slice in plan.slices} == wanted, (
            f"{predicate}\n{plan.explain()}"
        )


def test_plan_explains_what_each_index_said_and_skips_what_it_cannot_use(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW)
    hudi.bulk_insert(hostile_rows(range(24)))
    table = IndexedTable.open(hudi.path)
    assert table.plan("name = 'ascii'").kept == 3
    table.sql("CREATE INDEX by_name ON t (name)")
    table.sql("CREATE INDEX stats ON t USING column_stats (n)")
    plan = table.plan("name = 'nobody' AND length(name) > 3")
    assert (plan.kept, plan.total, plan.files) == (0, 3, [])
    assert "asked         by_name: name: refuted 3 file groups" in plan.explain()
    assert "length(name)" in plan.explain()
    with pytest.raises(UnknownColumnError, match="did you mean name"):
        table.plan("nmae = 1")
    with pytest.raises(UserError):
        table.plan("name = = 1")
    assert main(["explain", "--table", str(hudi.path), "n > 1000"]) == 0
    assert "0 read of 3" in capsys.readouterr().out
    # An index whose files are broken is skipped, with the reason.
    for file in (hudi.path / ".hoodie/.index/mdt/secondary_index_by_name").glob("*.parquet"):
        file.write_bytes(b"garbage")
    broken = IndexedTable.open(hudi.path).plan("name = 'nobody'")
    assert broken.kept == 3
    assert "it can't be read" in broken.explain()
    (hudi.path / ".hoodie/.index/index.json").write_text("{")
    assert IndexedTable.open(hudi.path).plan("n > 1000").kept == 0
    # Its history stands in for it, while there is one.
    shutil.rmtree(hudi.path / ".hoodie/.index/history")
    blind = IndexedTable.open(hudi.path).plan("n > 1000")
    assert blind.kept == 3
    assert "index.json" in blind.explain()
