"""Several indexes in one create: the entries of one by one, one commit, all or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.cli import main
from hudi_index.errors import UserError
from hudi_index.lifecycle import LocalExecutor, create_all
from hudi_index.metadata_table import MetadataTable
from hudi_index.spark.job import check_report
from tests.support.entries import check_indexes, definition_from, stored_entries
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

STATEMENTS = [
    "CREATE INDEX by_n ON t (n) OPTIONS (shards = 3)",
    "CREATE INDEX stats ON t USING column_stats (n, region)",
    "CREATE INDEX more_stats ON t USING column_stats (id, n)",
    "CREATE INDEX keys ON t USING record_index (id)",
    "CREATE INDEX regions ON t USING bitmap (region)",
    "CREATE INDEX blooms ON t USING bloom_filters (id)",
]


@pytest.fixture
def table(tmp_path: Path) -> IndexedTable:
    made = Fabricated(tmp_path / "t", partition_fields="")
    made.commit("20240101000000000")
    for group in "abc":
        rows = [{"id": f"{group}{n}", "n": n % 7, "region": ("eu", "us")[n % 2]} for n in range(50)]
        made.base_file("", group, "20240101000000000", [*rows, *rows[:3]])
    return IndexedTable.open(made.path)


def test_entries_are_those_of_indexes_created_one_by_one(table: IndexedTable) -> None:
    for statement in STATEMENTS:
        table.sql(statement)
    singly = stored_entries(table.storage)
    for each in table.indexes():
        table.drop(each.name)
    commits = len(MetadataTable.of(table.storage).view().commits)
    report = table.create_all(STATEMENTS)
    assert report.indexes == ["by_n", "stats", "more_stats", "keys", "regions", "blooms"]
    assert report.rows_read == 3 * 53
    assert len(MetadataTable.of(table.storage).view().commits) == commits + 1
    assert stored_entries(table.storage) == singly
    assert {each.state for each in table.indexes()} == {IndexState.READY}
    check_indexes(table.storage)


def test_one_that_exists_is_left_out_and_one_that_cannot_be_refuses_all(table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_n ON t (n)")
    report = table.create_all(["CREATE INDEX IF NOT EXISTS by_n ON t (n)", STATEMENTS[1]])
    assert report.notes == ["index by_n exists already"]
    for wrong, reason in [
        ("CREATE INDEX by_n ON t (n)", "CREATE INDEX by_n: .*exists already"),
        ("CREATE INDEX other ON t (nn)", "CREATE INDEX other: .*nn"),
        ("CREATE INDEX KEYS ON t (n)", "CREATE INDEX KEYS: .*exists already"),
        ("CREATE INDEX twice ON t USING record_index (id)", "index keys is a record_index"),
        ("DROP INDEX by_n ON t", "only CREATE INDEX"),
    ]:
        with pytest.raises(UserError, match=reason):
            table.create_all([STATEMENTS[3], wrong])
        assert [each.name for each in table.indexes()] == ["by_n", "stats"]
    check_indexes(table.storage)


def test_death_leaves_all_building_and_creating_again_starts_over(table: IndexedTable) -> None:
    class Dying(LocalExecutor):
        def run(self, build):
            super().run(build)
            raise KeyboardInterrupt

    wanted = [(definition_from(each), False) for each in STATEMENTS[:4]]
    with pytest.raises(KeyboardInterrupt):
        create_all(table.storage, Dying(), wanted)
    assert {each.state for each in table.indexes()} == {IndexState.BUILDING}
    assert len(table.indexes()) == 4
    assert stored_entries(table.storage) == {}
    table.create_all(STATEMENTS)
    assert {each.state for each in table.indexes()} == {IndexState.READY}
    check_indexes(table.storage)


def test_conflict_leaves_nothing(table: IndexedTable) -> None:
    table.sql(STATEMENTS[0])
    with MetadataTable.of(table.storage).begin(), pytest.raises(Exception, match="maintenance lease"):
        table.create_all(STATEMENTS[1:])
    assert [each.name for each in table.indexes()] == ["by_n"]


def test_command_line_takes_several_statements(
    table: IndexedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["create", "--table", table.storage.uri, "--in-process", *STATEMENTS[:2]]) == 0
    assert "by_n, stats" in capsys.readouterr().out


def test_statistics_come_from_footers_and_only_the_rest_from_rows(table: IndexedTable) -> None:
    report = check_report(table.sql("CREATE INDEX stats ON t USING column_stats (n, region, id)"))
    assert report.rows_read == 0
    check_indexes(table.storage)
    report = check_report(table.sql("CREATE INDEX regions ON t USING bitmap (region)"))
    assert report.rows_read == 3 * 53
    check_indexes(table.storage)
