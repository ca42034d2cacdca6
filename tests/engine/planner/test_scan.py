"""Scans of real files without Spark: which rows come, in which order, and how little is read for them."""

from __future__ import annotations

import json
import shutil
import time
from decimal import Decimal
from io import StringIO
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_index import IndexedTable, ScanReport
from hudi_index.cli import main, output
from hudi_index.errors import (
    ConflictError,
    InvalidOptionError,
    SliceGoneError,
    UnknownColumnError,
    UnsupportedPredicateError,
    UnsupportedTableError,
)
from hudi_index.predicate import Constraint, Domain, Range, Term
from hudi_index.scan.row_groups import BaseFileRows
from hudi_index.table import FileGroupId, FileSlice, TableConfig, TableSchema, TableShape
from hudi_index.table.partitions import PartitionColumns
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

T1, T2 = (f"2024010{day}000000000" for day in range(1, 3))


def _rows(numbers: Iterable[int | None], region: str) -> list[dict[str, object]]:
    return [{"id": f"{region}-{n}", "n": n, "region": region} for n in numbers]


@pytest.fixture
def table(tmp_path: Path) -> Fabricated:
    table = Fabricated(tmp_path / "t")
    table.commit(T1)
    table.base_file("eu", "a", T1, _rows([*range(10), None], "eu"), row_group_size=4)
    table.base_file("us", "b", T1, _rows(range(100, 110), "us"), row_group_size=4)
    return table


def _found(reader: pa.RecordBatchReader, column: str = "n") -> list[Any]:
    return [value for batch in reader for value in batch.column(column).to_pylist()]


def test_rows_come_filtered_and_in_order_whatever_the_number_of_threads(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    wanted = "n > 7 AND n != 103 OR n IS NULL"
    expected = [8, 9, None, 100, 101, 102, *range(104, 110)]
    for threads in (1, 2, 5):
        assert _found(indexed.scan(wanted, ["n"], threads=threads)) == expected
    assert _found(indexed.scan()) == [*range(10), None, *range(100, 110)]


def test_columns_are_data_columns_unless_others_are_named(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    assert indexed.scan().schema.names == ["id", "n", "region"]
    assert indexed.scan("n = 1", ["REGION", "_hoodie_record_key", "region"]).schema.names == [
        "region",
        "_hoodie_record_key",
    ]
    everything = indexed.scan("n = 5", ["*"]).read_all()
    assert everything.column_names[:3] == [
        "_hoodie_commit_time",
        "_hoodie_commit_seqno",
        "_hoodie_record_key",
    ]
    assert everything.column_names[5:] == ["id", "n", "region"]
    assert everything.column("_hoodie_record_key").to_pylist() == ["eu-5"]
    with pytest.raises(UnknownColumnError, match="did you mean region"):
        indexed.scan("n = 1", ["regoin"])
    nothing: list[str] = []
    for columns in (nothing, "n"):
        with pytest.raises(InvalidOptionError, match="list of column names"):
            indexed.scan("n = 1", columns)


def test_partition_column_of_a_row_is_what_the_path_says(table: Fabricated) -> None:
    table.base_file("asia", "c", T1, [{"id": "x", "n": 1, "region": "not what the path says"}])
    indexed = IndexedTable.open(table.path)
    assert indexed.scan("region = 'asia'").read_all().to_pylist() == [{"id": "x", "n": 1, "region": "asia"}]


def test_limit_stops_reading(table: Fabricated) -> None:
    indexed, report = IndexedTable.open(table.path), ScanReport()
    assert _found(indexed.scan("n >= 2", limit=3, report=report)) == [2, 3, 4]
    assert (report.file_groups_read, report.row_groups_read, report.rows_returned) == (1, 2, 3)
    assert _found(indexed.scan("n >= 2", limit=0)) == []
    with pytest.raises(InvalidOptionError, match="limit"):
        indexed.scan(limit=-1)
    with pytest.raises(InvalidOptionError, match="threads"):
        indexed.scan(threads=0)


def test_as_of_gives_the_rows_of_then(table: Fabricated) -> None:
    table.commit(T2)
    table.base_file("eu", "a", T2, _rows([5000], "eu"))
    indexed = IndexedTable.open(table.path)
    assert _found(indexed.scan("n > 8")) == [5000, *range(100, 110)]
    assert _found(indexed.scan("n > 8", as_of=T1)) == [9, *range(100, 110)]


def test_what_cannot_be_evaluated_is_refused_by_name_unless_nobody_filters(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    with pytest.raises(UnsupportedPredicateError, match=r"UPPER\(id\)") as raised:
        indexed.scan("n = 1 AND upper(id) = 'X' AND soundex(id) = 'X'")
    assert len(raised.value.parts) == 2
    assert "read_indexed" in str(raised.value)
    assert "unfiltered=True" in str(raised.value)
    report = ScanReport()
    rows = _found(indexed.scan("n = 1 AND upper(id) = 'X'", unfiltered=True, report=report))
    assert rows == [0, 1, 2, 3]  # the row group that may hold a match
    assert report.row_groups_read == 1


def test_row_groups_are_skipped_by_statistics_and_bitmaps(tmp_path: Path) -> None:
    table = Fabricated(
        tmp_path / "t", partition_fields="", properties={"hoodie.table.keygenerator.type": "NON_PARTITION"}
    )
    table.commit(T1)
    rows: list[dict[str, Any]] = [
        {"id": f"key-{i:06d}", "n": i, "region": f"r{i // 5000}"} for i in range(20_000)
    ]
    shuffled = [{**row, "n": (row["n"] * 7919) % 20_000} for row in rows]
    table.base_file("", "a", T1, shuffled, row_group_size=1000, write_statistics=["n"])
    indexed = IndexedTable.open(table.path)

    def scanned(predicate: str) -> ScanReport:
        report = ScanReport()
        indexed.scan(predicate, ["id"], report=report).read_all()
        return report

    everything = scanned("true")
    assert (everything.row_groups, everything.row_groups_read, everything.rows_returned) == (20, 20, 20_000)
    beyond = scanned("n > 30000")
    assert (beyond.row_groups_read, beyond.rows_read, beyond.rows_returned) == (0, 0, 0)
    assert beyond.bytes_read < everything.bytes_read / 2
    # The file has no statistics of this column: without an index all is read.
    unknown = scanned("region = 'r1'")
    assert (unknown.row_groups_read, unknown.rows_returned) == (20, 5000)
    indexed.sql("CREATE INDEX regions ON t USING bitmap (region)")
    known = scanned("region = 'r1'")
    assert (known.row_groups_read, known.rows_read, known.rows_returned) == (5, 5000, 5000)
    assert known.bytes_read < unknown.bytes_read
    assert scanned("region = 'r1' AND n > 30000").row_groups_read == 0
    # Other columns than the predicate's are read only where a row matches.
    few = scanned("region IN ('r1', 'r2') AND id = 'key-006000'")
    assert (few.row_groups_read, few.rows_returned) == (10, 1)


def test_nan_that_statistics_leave_out_is_found(tmp_path: Path) -> None:
    table = Fabricated(tmp_path / "t", partition_fields="")
    schema = pa.schema([("x", pa.float64())])
    nan = float("nan")
    pq.write_table(
        pa.table({"x": [1.0, 2.0, 5.0, nan, -0.0, None]}, schema),
        tmp_path / "t" / "f.parquet",
        row_group_size=2,
    )
    shape = TableShape(
        TableConfig.load(table.storage), TableSchema(schema, schema), PartitionColumns((), frozenset(), ())
    )
    file = BaseFileRows(table.storage, shape, FileSlice(FileGroupId("", "f"), "f.parquet"))

    def groups(domain: Domain) -> list[int]:
        return [g.number for g in file.row_groups if file.may_match(Constraint(Term("x"), domain), g)]

    assert groups(Domain.of([Range.below(1.0)])) == [2]
    assert groups(Domain.points([0.0])) == [2]
    assert groups(Domain.of([Range.at_least(5.0), Range.equal(1.0)])) == [0, 1, 2]  # NaN is above
    assert groups(Domain.points([4.0])) == []
    assert groups(Domain.points([nan])) == [0, 1, 2]
    assert groups(Domain.null()) == [2]
    file.close()


def test_file_that_vanishes_under_a_scan_is_a_conflict_to_retry(table: Fabricated) -> None:
    indexed = IndexedTable.open(table.path)
    for threads in (1, 3):
        name = table.base_file("us", "b", T1, _rows(range(100, 110), "us"))
        reader = indexed.scan("n >= 0", threads=threads)
        (table.path / "us" / name).unlink()
        with pytest.raises(SliceGoneError, match="scan again") as raised:
            reader.read_all()
        assert isinstance(raised.value, ConflictError)
        assert raised.value.exit_code == 4
        assert name in raised.value.path


def test_slices_that_only_spark_reads_are_refused_before_any_row(tmp_path: Path) -> None:
    table = Fabricated(
        tmp_path / "t", table_type="MERGE_ON_READ", properties={"hoodie.record.merge.mode": "CUSTOM"}
    )
    table.commit(T1)
    table.base_file("eu", "a", T1, _rows(range(3), "eu"))
    table.base_file("us", "b", T1, _rows(range(3), "us"))
    table.commit(T2, "deltacommit")
    table.log_file("us", "b", T2)
    indexed = IndexedTable.open(table.path)
    with pytest.raises(
        UnsupportedTableError, match=r"1 of the 2 file groups.*class of the table's own.*read_indexed"
    ):
        indexed.scan("n = 1")
    assert _found(indexed.scan("n = 1 AND region = 'eu'")) == [1]


def test_column_that_a_file_lacks_is_null(table: Fabricated) -> None:
    path = next((table.path / "us").glob("*.parquet"))
    pq.write_table(pq.read_table(path, partitioning=None).drop_columns(["n"]), path)
    indexed = IndexedTable.open(table.path)
    assert _found(indexed.scan("n IS NULL")) == [*[None] * 11]
    assert _found(indexed.scan("n >= 9")) == [9]


def _run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = main(["scan", *arguments])
    return (code, *capsys.readouterr())


def test_scan_from_a_shell_prints_rows_and_says_what_it_read(
    table: Fabricated, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--table", str(table.path))
    code, out, told = _run(capsys, *at, "n >= 8 AND n < 101", "--columns", "id,n")
    assert (code, out) == (0, "id      n\neu-8    8\neu-9    9\nus-100  100\n")
    assert "3 rows of" in told
    assert "2 of 2 file groups" in told
    _, out, _ = _run(capsys, *at, "n IS NULL OR n = 3", "--format", "csv", "--limit", "5")
    assert out == "id,n,region\neu-3,3,eu\neu-None,,eu\n"
    _, out, _ = _run(capsys, *at, "n = 3", "--format", "json")
    assert json.loads(out) == {"id": "eu-3", "n": 3, "region": "eu"}
    _, out, _ = _run(capsys, *at, "n = 3", "--json")
    assert json.loads(out)["rows"] == [{"id": "eu-3", "n": 3, "region": "eu"}]
    assert json.loads(out)["report"]["rows_returned"] == 1
    _, out, _ = _run(capsys, *at, "n > 5000")
    assert out == "id  n  region\n"


def test_scan_from_a_shell_writes_files(
    table: Fabricated, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    at = ("--table", str(table.path), "n < 3", "--columns", "n")
    for kind, read in (("parquet", pq.read_table), ("arrow", lambda path: pa.ipc.open_file(path).read_all())):
        path = tmp_path / f"rows.{kind}"
        code, out, _ = _run(capsys, *at, "--format", kind, "--output", str(path), "--json")
        assert code == 0
        assert json.loads(out)["rows_returned"] == 3
        assert read(path).column("n").to_pylist() == [0, 1, 2]
    path = tmp_path / "rows.csv"
    assert _run(capsys, *at, "--format", "csv", "--output", str(path))[0] == 0
    assert path.read_text() == "n\n0\n1\n2\n"
    code, _, told = _run(capsys, *at, "--format", "arrow")
    assert (code, "needs --output FILE" in told) == (2, True)
    code, _, told = _run(capsys, *at, "--output", str(tmp_path / "none" / "rows"))
    assert (code, "No such file" in told) == (2, True)
    code, _, told = _run(capsys, "--table", str(table.path), "upper(id) = 'X'")
    assert (code, "read_indexed" in told) == (2, True)


def test_values_that_text_formats_have_no_word_for_are_spelled_out() -> None:
    rows = {"x": [float("nan"), float("-inf"), None], "raw": [b"\x00\xff", b"", None], "s": ['a"b', "", None]}
    batch = pa.record_batch(
        {**rows, "d": pa.array([Decimal("1.50"), None, None]), "l": [[1, None], [], None]}
    )

    def written(kind: str) -> str:
        sink = StringIO()
        output._WRITERS[kind](pa.RecordBatchReader.from_batches(batch.schema, [batch]), sink)
        return sink.getvalue()

    assert written("csv").splitlines()[1:] == ['nan,AP8=,"a""b",1.50,"[1, null]"', '-inf,"","",,[]', ",,,,"]
    first = json.loads(written("json").splitlines()[0])
    assert first == {"x": "nan", "raw": "AP8=", "s": 'a"b', "d": "1.50", "l": [1, None]}
    assert "NULL" in written("table")


def test_table_kept_open_shows_every_change_of_its_files(tmp_path: Path) -> None:
    """Plans of one `IndexedTable` share what they know of the table, and none may see what it was before."""
    files = Fabricated(tmp_path / "t", partition_fields="")
    files.commit(T1)
    files.base_file("", "a", T1, _rows(range(10), "eu"))
    files.base_file("", "b", T1, _rows(range(100, 110), "us"))
    kept = IndexedTable.open(files.path)
    kept.sql("CREATE INDEX stats ON t USING column_stats (n)")
    everything = [*range(10), *range(100, 110)]

    def check(expected: list[int]) -> None:
        for low, high in ((0, 9999), (0, 50), (50, 1000), (1000, 9999)):
            predicate, fresh = f"n >= {low} AND n < {high}", IndexedTable.open(files.path)
            wanted = [n for n in expected if low <= n < high]
            for _ in range(2):
                assert _found(kept.scan(predicate, ["n"])) == wanted
            ours, theirs = kept.plan(predicate).as_dict(), fresh.plan(predicate).as_dict()
            assert {**ours, "seconds": 0} == {**theirs, "seconds": 0}

    check(everything)
    instant, written = files.path / f".hoodie/timeline/{T2}_{T2}.commit", "b_0-1-2_" + T2 + ".parquet"
    # A write, first without its commit.
    files.base_file("", "b", T2, _rows(range(1000, 1005), "us"))
    check(everything)
    files.commit(T2)
    check([*range(10), *range(1000, 1005)])
    kept.maintain()
    check([*range(10), *range(1000, 1005)])
    # Cleaning of what nobody reads any more.
    files.commit("20240103000000000", "clean")
    (files.path / f"b_0-1-2_{T1}.parquet").rename(tmp_path / "cleaned")
    check([*range(10), *range(1000, 1005)])
    # A restore to the first commit brings it back and takes the second away.
    files.commit("20240104000000000", "restore")
    (tmp_path / "cleaned").rename(files.path / f"b_0-1-2_{T1}.parquet")
    instant.unlink()
    (files.path / written).unlink()
    check(everything)
    # Not by Hudi: nothing but the folder tells.
    (files.path / f"a_0-1-2_{T1}.parquet").rename(tmp_path / "taken")
    check([*range(100, 110)])
    (tmp_path / "taken").rename(files.path / f"a_0-1-2_{T1}.parquet")
    check(everything)
    # Dropped and made again, with the same names and without indexes.
    time.sleep(0.02)  # a file's time is no finer than the tick of the system's clock
    shutil.rmtree(files.path)
    files = Fabricated(tmp_path / "t", partition_fields="")
    files.commit(T1)
    files.base_file("", "a", T1, _rows(range(2000, 2003), "eu"))
    files.base_file("", "b", T1, _rows(range(100, 110), "us"))
    check([*range(2000, 2003), *range(100, 110)])
