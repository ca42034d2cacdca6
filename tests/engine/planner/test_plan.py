"""Plans over small tables made file by file: what is asked, what is not, and what damage does."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.errors import InvalidOptionError, UnknownColumnError
from hudi_index.predicate import Bound, ColumnDomain, Domain, Marker, Range
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

T1, T2 = "20240101000000000", "20240102000000000"


@pytest.fixture
def table(tmp_path: Path) -> Fabricated:
    made = Fabricated(tmp_path / "t")
    made.commit(T1)
    for place, name in enumerate("abc"):
        rows = [{"id": f"{name}{n}", "n": n, "region": "eu"} for n in range(place * 10, place * 10 + 10)]
        made.base_file("eu", name, T1, rows)
    return made


def kept(plan: object) -> list[str]:
    return [file_slice.group.file_id for file_slice in plan.slices]  # type: ignore[attr-defined]


def test_look_up_that_cannot_pay_is_not_made(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX stats ON t USING column_stats (n)")
    indexed.sql("CREATE INDEX by_id ON t (id) OPTIONS (shards = 1)")
    table.commit(T2)
    table.base_file("eu", "d", T2, [{"id": "d0", "n": 99, "region": "eu"}])
    indexed.maintain()
    # The index has a log now: two files to open for one small file group.
    plan = indexed.plan("n = 5 AND id = 'nobody'")
    assert kept(plan) == ["a"]
    (told,) = [answer for answer in plan.answers if answer.index == "by_id"]
    assert not told.is_asked
    assert "not asked     by_id: id: it would cost" in plan.explain()
    assert indexed.plan("id = 'nobody'").kept == 0
    # A side of OR that has to be read anyway asks nobody else.
    assert kept(indexed.plan("n = 5 OR id = 'b12'")) == ["a", "b"]


def test_composite_index_is_asked_for_all_its_columns_at_once(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX pair ON t (region, n)")
    plan = indexed.plan("region = 'eu' AND n IN (5, 25)")
    assert kept(plan) == ["a", "c"]
    assert [answer.constraint for answer in plan.answers] == ["region AND n"]


def test_domains_of_an_engine_choose_files(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX stats ON t USING column_stats (n)")
    above = Domain.of([Range(Marker(14, Bound.ABOVE), Marker(None, Bound.BELOW))])
    files = indexed.files_to_query(["n"], ColumnDomain({"n": above}))
    assert [name.split("/")[1][0] for name in files] == ["b", "c"]
    assert len(indexed.files_to_query([], ColumnDomain({"n": above}))) == 3
    assert indexed.files_to_query(["n"], ColumnDomain.none()) == []
    with pytest.raises(UnknownColumnError, match="did you mean n"):
        indexed.files_to_query(["nn"], ColumnDomain({"nn": above}))
    with pytest.raises(InvalidOptionError, match="type int"):
        indexed.files_to_query(["n"], ColumnDomain({"n": Domain.points(["x"])}))


def test_function_of_a_column_is_answered_from_the_column(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX stats ON t USING column_stats (n, id)")
    assert kept(indexed.plan("n * 2 + 1 = 25")) == ["b"]
    assert kept(indexed.plan("left(id, 1) = 'c'")) == ["c"]
    assert "not known to rise" in indexed.plan("upper(id) = 'C'").explain()


@pytest.mark.parametrize("damage", ["garbage", "missing", "directory", "gone"])
def test_damaged_index_is_skipped_with_its_reason(table: Fabricated, damage: str) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX by_n ON t (n)")
    folder = table.path / ".hoodie/.index/mdt/secondary_index_by_n"
    for file in folder.glob("*.parquet"):
        if damage == "garbage":
            file.write_bytes(b"garbage")
        elif damage != "gone":
            file.unlink()
            if damage == "directory":
                file.mkdir()
    if damage == "gone":
        shutil.rmtree(folder)
    plan = IndexedTable.open(table.path).plan("n = 5")
    assert plan.kept == 3
    assert any(answer.reason for answer in plan.answers)
    assert json.loads(json.dumps(plan.as_dict()))["file_groups_read"] == 3


def test_list_of_ten_thousand_values_reads_each_shard_once(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX by_n ON t (n) OPTIONS (shards = 2)")
    values = ", ".join(str(n) for n in range(25, 10_025))
    assert kept(indexed.plan(f"n IN ({values})")) == ["c"]
