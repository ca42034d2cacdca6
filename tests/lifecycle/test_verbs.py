"""Each verb on real tables: what it does, what it reports, what it refuses, and what a crash leaves."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import pytest

from hudi_index.catalog import Catalog, IndexState
from hudi_index.cli import main
from hudi_index.engine import IndexedTable
from hudi_index.errors import (
    IndexExistsError,
    InvalidDefinitionError,
    LeaseHeldError,
    NoSuchIndexError,
    UnknownColumnError,
)
from hudi_index.lifecycle import LocalExecutor, create
from hudi_index.metadata_table import MetadataTable
from hudi_index.spark.job import check_report
from tests.parity.tables import COW, MOR, HudiTable, hostile_rows
from tests.support.entries import check_indexes, definition_from, stored_entries

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def originals(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Tables with two commits; tests take copies."""
    folder = tmp_path_factory.mktemp("verbs")
    for table_type in (COW, MOR):
        hudi = HudiTable(spark, folder / table_type, table_type)
        hudi.bulk_insert(hostile_rows(range(24)))
        hudi.upsert(hostile_rows(range(0, 24, 5), ts=2, salt=3))
    return {table_type: folder / table_type for table_type in (COW, MOR)}


@pytest.fixture(params=[COW, MOR])
def hudi(
    request: pytest.FixtureRequest, spark: SparkSession, originals: dict[str, Path], tmp_path: Path
) -> HudiTable:
    shutil.copytree(originals[request.param], tmp_path / "t")
    return HudiTable(spark, tmp_path / "t", request.param)


@pytest.fixture
def table(hudi: HudiTable) -> IndexedTable:
    return IndexedTable.open(hudi.path)


def test_create_reports_what_it_did_and_makes_the_index_ready(
    table: IndexedTable, spark: SparkSession
) -> None:
    report = check_report(table.sql("CREATE INDEX by_name ON t (name)", spark=spark))
    assert report.verb == "create"
    assert report.indexes == ["by_name"]
    assert report.file_groups == report.file_groups_changed == 3
    assert report.rows_read == 24
    assert report.entries_added == 24 + 3  # one per row, one per file group in `files`
    assert report.commit
    assert set(report.seconds) == {"look", "plan", "build", "commit"}
    (definition,) = table.indexes()
    assert definition.state is IndexState.READY
    assert definition.source_types == ("string",)
    check_indexes(table.storage)


def test_maintain_reads_only_changed_file_groups(hudi: HudiTable, table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_name ON t (name)")
    table.sql("CREATE INDEX stats ON t USING column_stats (n, name)")
    before = table.status()
    assert before.is_fresh
    eu = [row for row in hostile_rows(range(24), ts=9, salt=1) if row["region"] == "eu"]
    hudi.upsert(eu[:2])
    lagging = table.status()
    assert (lagging.commits_behind, lagging.file_groups_uncovered) == (1, 1)
    report = table.maintain()
    assert report.file_groups_changed == 1
    assert report.rows_read == 16  # the eight rows of `eu`, as they were and as they are
    assert 0 < report.entries_removed <= 2
    check_indexes(table.storage)
    again = table.maintain()
    assert (again.commit, again.rows_read, again.file_groups_changed) == (None, 0, 0)
    assert table.status().commits_behind == 0


def test_maintain_after_hudi_cleaned_the_old_slices_finds_their_entries_by_owner(
    hudi: HudiTable, table: IndexedTable, spark: SparkSession
) -> None:
    for statement in (
        "CREATE INDEX by_name ON t (name)",
        "CREATE INDEX stats ON t USING column_stats (n)",
        "CREATE INDEX flags ON t USING bitmap (flag, name)",
        "CREATE INDEX record_index ON t (id)",
    ):
        table.sql(statement)
    hudi.upsert(hostile_rows(range(24), ts=3, salt=5))
    hudi.delete(hostile_rows(range(4)))
    if hudi.table_type == MOR:
        hudi.compact()
    hudi.upsert(hostile_rows(range(6, 12), ts=4, salt=2))
    hudi.clean()
    old = {entry["filesystemMetadata"]["baseFile"] for entry in _files(table).values()}
    assert not all((hudi.path / "eu" / name).exists() or (hudi.path / "us" / name).exists() for name in old)
    report = table.maintain(spark=spark)
    assert report.entries_removed > 0
    check_indexes(table.storage)


def _files(table: IndexedTable) -> dict[str, dict[str, dict[str, str]]]:
    rows = MetadataTable.of(table.storage).reader().scan("files").read_all().to_pylist()
    return {row["key"]: row for row in rows}


def test_create_of_a_taken_name_or_unknown_column_is_refused_and_leaves_nothing(table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_name ON t (name)")
    with pytest.raises(IndexExistsError, match="by_name"):
        table.sql("CREATE INDEX BY_NAME ON t (n)")
    report = check_report(table.sql("CREATE INDEX IF NOT EXISTS by_name ON t (n)"))
    assert report.notes == ["index by_name exists already"]
    with pytest.raises(UnknownColumnError, match="did you mean name"):
        table.sql("CREATE INDEX other ON t (nmae)")
    assert [each.name for each in table.indexes()] == ["by_name"]
    with pytest.raises(NoSuchIndexError, match="indexes: by_name"):
        table.sql("REFRESH INDEX nope ON t")


def test_create_of_a_second_bitmap_bloom_filter_or_record_index_on_a_column_is_refused(
    table: IndexedTable,
) -> None:
    table.sql("CREATE INDEX flags ON t USING bitmap (flag, day)")
    table.sql("CREATE INDEX record_index ON t (id)")
    with pytest.raises(InvalidDefinitionError, match="index flags is a bitmap over day already"):
        table.sql("CREATE INDEX more ON t USING bitmap (n, day) OPTIONS (max_values = 3)")
    with pytest.raises(InvalidDefinitionError, match="is a record_index over id already"):
        table.sql("CREATE INDEX keys ON t USING record_index (id)")
    table.sql("CREATE INDEX more ON t USING bitmap (n)")
    check_indexes(table.storage)


def test_create_that_died_leaves_the_index_building_and_starts_over(table: IndexedTable) -> None:
    class Dying(LocalExecutor):
        def run(self, build):
            super().run(build)
            raise KeyboardInterrupt

    table.sql("CREATE INDEX by_n ON t (n)")
    definition = definition_from("CREATE INDEX by_name ON t (name)")
    with pytest.raises(KeyboardInterrupt):
        create(table.storage, Dying(), definition)
    assert {each.name: each.state for each in table.indexes()}["by_name"] is IndexState.BUILDING
    assert "secondary_index_by_name" not in stored_entries(table.storage)
    table.sql("CREATE INDEX by_name ON t (name)")
    check_indexes(table.storage)


def test_create_that_died_after_its_commit_starts_over(
    table: IndexedTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Catalog, "change_states", _die)
        with pytest.raises(KeyboardInterrupt):
            table.sql("CREATE INDEX by_name ON t (name) OPTIONS (shards = 2)")
    table.sql("CREATE INDEX by_name ON t (name) OPTIONS (shards = 3)")
    assert table.status().indexes[0].shards == 3
    check_indexes(table.storage)


def _die(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_rebuild_repairs_an_index_whatever_its_state(hudi: HudiTable, table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_name ON t (name)")
    table.sql("CREATE INDEX stats ON t USING column_stats (n)")
    table.sql("CREATE INDEX more_stats ON t USING column_stats (ratio)")
    Catalog(table.storage).change_state("stats", IndexState.INVALID, "seen to be wrong")
    hudi.upsert(hostile_rows(range(3), ts=5, salt=5))
    table.maintain()
    table.sql("REBUILD INDEX stats ON t")
    table.sql("REBUILD INDEX by_name ON t")
    assert all(each.state is IndexState.READY for each in table.indexes())
    check_indexes(table.storage)


def test_drop_takes_away_entries_and_definition_but_not_those_of_others(table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_name ON t (name)")
    table.sql("CREATE INDEX stats ON t USING column_stats (n, ratio)")
    table.sql("CREATE INDEX more_stats ON t USING column_stats (n, name)")
    table.drop("by_name")
    assert "secondary_index_by_name" not in stored_entries(table.storage)
    report = check_report(table.sql("DROP INDEX stats"))
    # Only `ratio`, in three file groups and in as many partitions; n belongs to the other index as well.
    assert report.entries_removed == 6
    check_indexes(table.storage)
    assert [each.name for each in table.indexes()] == ["more_stats"]
    assert check_report(table.sql("DROP INDEX IF EXISTS stats ON t")).notes == ["no index stats"]
    with pytest.raises(NoSuchIndexError):
        table.drop("stats")


def test_column_that_changed_its_type_or_went_away_makes_the_index_invalid(
    hudi: HudiTable, table: IndexedTable, caplog: pytest.LogCaptureFixture
) -> None:
    table.sql("CREATE INDEX by_n ON t (n)")
    table.sql("CREATE INDEX by_name ON t (name)")
    wider = HudiTable(
        hudi.spark, hudi.path, hudi.table_type, schema=hudi.schema.replace(" n int,", " n bigint,")
    )
    wider.upsert(hostile_rows(range(24), ts=6, salt=1))
    report = table.maintain()
    states = {each.name: each.state for each in table.indexes()}
    assert states == {"by_n": IndexState.INVALID, "by_name": IndexState.READY}
    assert report.notes == [
        "index by_n is invalid: column 'n' was int32 when it was indexed and is int64 in this snapshot"
    ]
    (warning,) = [
        each.getMessage() for each in caplog.records if each.name == "hudi_index.lifecycle.maintain"
    ]
    assert warning.startswith(f"index by_n of {table.storage.uri} is invalid: column 'n' was int32")
    assert warning.endswith("; REBUILD INDEX by_n makes it anew")
    table.sql("REBUILD INDEX by_n ON t")
    check_indexes(table.storage)


def test_second_writer_is_told_to_retry(table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_name ON t (name)")
    with MetadataTable.of(table.storage).begin(), pytest.raises(LeaseHeldError, match="maintenance lease"):
        table.sql("CREATE INDEX by_n ON t (n)")
    assert [each.name for each in table.indexes()] == ["by_name"]
    table.sql("CREATE INDEX by_n ON t (n)")
    check_indexes(table.storage)


def test_cli_speaks_json_text_and_exit_codes(
    hudi: HudiTable, table: IndexedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ["--table", str(hudi.path), "--in-process"]
    assert main(["create", *where, "--json", "CREATE INDEX by_name ON t (name)"]) == 0
    assert json.loads(capsys.readouterr().out)["indexes"] == ["by_name"]
    assert main(["show", *where]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["by_name", "secondary_index", "name", "ready"]
    assert main(["status", *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["is_fresh"] is True
    assert main(["status", *where]) == 0
    assert "by_name" in capsys.readouterr().out
    assert main(["maintain", *where]) == 0
    assert "none needed" in capsys.readouterr().out
    assert main(["compact", *where, "--force"]) == 0
    assert main(["sql", *where, "CREATE INDEX by_name ON t (n)"]) == 2
    assert "exists already" in capsys.readouterr().err
    assert main(["sql", *where, "CREATE INDX"]) == 2
    assert "^" in capsys.readouterr().err
    with MetadataTable.of(table.storage).begin():
        assert main(["sql", *where, "CREATE INDEX by_n ON t (n)"]) == 4
    assert main(["drop", *where, "by_name"]) == 0
    assert main(["show", "--table", str(hudi.path.parent / "nothing")]) == 2


def test_drop_of_one_of_two_that_share_a_partition_reports_what_it_wrote(table: IndexedTable) -> None:
    table.create_all(
        ["CREATE INDEX a ON t USING column_stats (n)", "CREATE INDEX b ON t USING column_stats (big)"]
    )
    report = table.drop("a")
    assert report.entries_removed > 0
    logs = [
        stat
        for file_slice in MetadataTable.of(table.storage).view().slices("column_stats")
        for stat in file_slice.logs
    ]
    assert 0 < sum(stat.size for stat in logs) <= report.bytes_written
    check_indexes(table.storage)
