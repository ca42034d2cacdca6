"""A table as a dataset: what pyarrow's methods give, what is read for it, what is refused."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest

from hudi_index import IndexedTable, ScanReport
from hudi_index.errors import InvalidOptionError, SliceGoneError, UnknownColumnError, WrongTypeError
from tests.support.tables import T1, T2, T3, Fabricated, schema_of, write

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def fabricated(tmp_path: Path) -> Fabricated:
    table = Fabricated(tmp_path / "t")
    for number, file_id in enumerate("abcd"):
        write(table, T1, file_id, range(number * 10, number * 10 + 10), "eu" if number % 2 else "us")
    IndexedTable.open(table.path).sql("CREATE INDEX stats ON t USING column_stats (n)")
    return table


@pytest.fixture
def table(fabricated: Fabricated) -> IndexedTable:
    return IndexedTable.open(fabricated.path)


def test_a_dataset_is_one_of_pyarrow_s(table: IndexedTable) -> None:
    dataset = table.dataset()
    few = pc.field("n") < 3
    assert isinstance(dataset, ds.Dataset)
    assert dataset.schema.names == ["id", "n", "region"]
    assert dataset.to_table(["n"], few).to_pydict() == {"n": [0, 1, 2]}
    assert dataset.to_table(columns={"double": pc.field("n") * 2}, filter=few).to_pydict() == {
        "double": [0, 2, 4]
    }
    assert [batch.num_rows for batch in dataset.to_batches(filter=few, batch_size=2)] == [2, 1]
    assert dataset.head(2, columns=["n"]).num_rows == 2
    assert dataset.count_rows() == 40
    assert dataset.take([0, 39]).num_rows == 2
    assert dataset.filter(few).filter(pc.field("n") > 0).count_rows() == 2
    assert dataset.filter(few).to_table(filter=pc.field("n") > 1)["n"].to_pylist() == [2]
    assert dataset.sort_by([("n", "descending")]).head(1)["n"].to_pylist() == [39]
    assert dataset.join(table.dataset(), "id", right_suffix="_").to_table().num_rows == 40
    assert dataset.scanner(columns=["n"]).to_reader().read_all().num_rows == 40
    assert [tagged.record_batch.num_rows for tagged in dataset.scanner(filter=few).scan_batches()] == [3]


def test_a_filter_decides_what_is_read(table: IndexedTable) -> None:
    report = ScanReport()
    dataset = table.dataset(report=report)
    assert dataset.plan(pc.field("n") == 15).kept == 1
    assert dataset.to_table(filter=pc.field("n") == 15)["n"].to_pylist() == [15]
    assert (report.file_groups_read, report.rows_read) == (1, 10)
    assert dataset.report is report


def test_a_head_reads_no_more_than_it_needs(table: IndexedTable) -> None:
    report = ScanReport()
    table.dataset(report=report, threads=1).head(3)
    assert report.file_groups_read == 1


def test_a_scanner_reads_nothing_before_it_is_asked(table: IndexedTable) -> None:
    report = ScanReport()
    scanner = table.dataset(report=report).scanner(columns=["n"])
    assert scanner.projected_schema.names == ["n"]
    assert report.file_groups_read == 0
    assert scanner.count_rows() == scanner.to_table().num_rows == 40


def test_fragments_are_the_slices_that_a_filter_leaves(table: IndexedTable) -> None:
    wanted = pc.field("n") > 25
    dataset = table.dataset()
    fragments = list(dataset.get_fragments(wanted))
    assert [len(fragment.files) for fragment in fragments] == [1, 1]
    assert sum(fragment.count_rows(filter=wanted) for fragment in fragments) == 14
    assert sum(fragment.to_table(dataset.schema).num_rows for fragment in fragments) == 20
    assert fragments[0].head(1).num_rows == 1
    assert fragments[0].physical_schema == dataset.schema
    # An engine that starts a task per fragment needs one.
    (nothing,) = dataset.get_fragments(pc.field("n") > 1_000)
    assert nothing.to_table().num_rows == 0


def test_a_dataset_stays_at_its_snapshot(fabricated: Fabricated, table: IndexedTable) -> None:
    before = table.dataset()
    write(fabricated, T2, "a", range(500, 505), "us")
    write(fabricated, T3, "e", range(600, 603), "us")
    table.maintain()
    assert before.count_rows() == before.to_table().num_rows == 40
    assert before.to_table(filter=pc.field("n") >= 500).num_rows == 0
    after = table.dataset()
    assert after.to_table(filter=pc.field("n") >= 500).num_rows == 8
    assert after.count_rows() == 38
    assert table.dataset(as_of=T1).count_rows() == 40
    for file in (fabricated.path / "us").glob(f"a_*_{T1}.parquet"):
        file.unlink()
    with pytest.raises(SliceGoneError):
        before.to_table()


def test_eight_threads_share_a_table_while_commits_come(fabricated: Fabricated, table: IndexedTable) -> None:
    before, rounds, committed = table.dataset(), 3, [0]

    def ask(number: int) -> None:
        low = number * 5
        wanted = (pc.field("n") >= low) & (pc.field("n") < low + 5)
        for _ in range(rounds):
            # One dataset is one snapshot, whatever comes.
            found = before.to_table(["n"], wanted).sort_by("n")
            assert found["n"].to_pylist() == list(range(low, low + 5))
            assert before.count_rows(wanted) == 5
            # Another one has at least what was committed when it was made, and commits whole.
            least = committed[0]
            new = table.dataset().to_table(["n"], pc.field("n") >= 1_000).num_rows
            assert new % 10 == 0
            assert new >= least * 10

    with ThreadPoolExecutor(8) as pool:
        asked = [pool.submit(ask, number) for number in range(8)]
        for number in range(rounds):
            write(fabricated, f"2024020{number + 1}000000000", f"new{number}", range(1_000, 1_010), "us")
            committed[0] = number + 1
            table.maintain()
        for each in asked:
            each.result()
    assert table.count("n >= 1000") == 10 * rounds


def test_columns_may_come_as_dictionaries(table: IndexedTable) -> None:
    dataset = table.dataset(dictionaries=["region"])
    assert dataset.schema.field("region").type == pa.dictionary(pa.int32(), pa.string())
    found = dataset.to_table(filter=(pc.field("region") == "eu") & (pc.field("n") < 15))
    assert found["region"].to_pylist() == ["eu"] * 5
    assert found.schema == dataset.schema
    with pytest.raises(UnknownColumnError, match="regoin"):
        table.dataset(dictionaries=["regoin"])


def test_numbers_may_come_as_dictionaries(table: IndexedTable) -> None:
    dataset = table.dataset(dictionaries=["n"])
    found = dataset.to_table(["n"], pc.field("n") < 2)
    assert found.schema.field("n").type == pa.dictionary(pa.int32(), pa.int32())
    assert found["n"].to_pylist() == [0, 1]


def test_a_column_comes_as_often_as_it_is_asked_for(table: IndexedTable) -> None:
    found = table.dataset().to_table(["n", "id", "n"], pc.field("n") == 3)
    assert found.column_names == ["n", "id", "n"]
    assert [column.to_pylist() for column in found.columns] == [[3], ["us-3"], [3]]


def test_rows_without_columns_are_as_many(table: IndexedTable) -> None:
    dataset, few = table.dataset(), pc.field("n") < 3
    assert dataset.to_table([]).num_rows == 40
    assert dataset.to_table([], few).num_rows == 3
    assert dataset.to_table([], pc.scalar(False)).num_rows == dataset.count_rows(pc.scalar(False)) == 0
    assert dataset.to_table({"one": pc.scalar(1)}, few).to_pydict() == {"one": [1, 1, 1]}


def test_hudi_s_own_columns_come_if_asked_for(table: IndexedTable) -> None:
    found = table.dataset(meta_columns=True).to_table(filter=pc.field("_hoodie_record_key") == "us-3")
    assert found["n"].to_pylist() == [3]


def test_fields_of_structs_and_odd_names(tmp_path: Path) -> None:
    columns = schema_of(
        pa.field("id", pa.string(), nullable=False),
        pa.field("seat", pa.struct([pa.field("row", pa.int32()), pa.field("letter", pa.string())])),
        pa.field("Two_Words", pa.int32()),
    )
    made = Fabricated(tmp_path / "t", columns=columns, partition_fields="")
    for number in range(3):
        rows = [{"id": str(number), "seat": {"row": number, "letter": "a"}, "Two_Words": number}]
        made.base_file("", f"g{number}", T1, [*rows, {"id": f"{number}-", "seat": None, "Two_Words": None}])
    made.commit(T1)
    table = IndexedTable.open(made.path)
    table.sql("CREATE INDEX stats ON t USING column_stats (seat.row, Two_Words)")
    report = ScanReport()
    dataset = table.dataset(report=report)
    assert dataset.to_table(["seat.row"], pc.field("seat", "row") == 1).to_pydict() == {"seat.row": [1]}
    assert dataset.to_table(["id"], pc.field("Two_Words") == 2).to_pydict() == {"id": ["2"]}
    assert report.file_groups_read == 2
    assert dataset.count_rows(filter=pc.field("seat", "row").is_null()) == 3
    with pytest.raises(UnknownColumnError, match=r"seat\.rows"):
        dataset.to_table(["seat.rows"])
    # Arrow's names have a case.
    with pytest.raises(UnknownColumnError, match="two_words"):
        dataset.to_table(["two_words"])


def test_a_table_without_rows(tmp_path: Path) -> None:
    made = Fabricated(tmp_path / "t")
    made.commit(T1)
    dataset = IndexedTable.open(made.path).dataset()
    assert (
        dataset.to_table(filter=pc.field("n") == 1).num_rows
        == dataset.count_rows()
        == dataset.head(3).num_rows
        == 0
    )


def test_a_column_that_came_later(fabricated: Fabricated) -> None:
    fabricated.columns = schema_of(*fabricated.columns, pa.field("extra", pa.int32()))
    fabricated.base_file("us", "z", T2, [{"id": "z", "n": 1, "region": "us", "extra": 5}])
    fabricated.commit(T2)
    dataset = IndexedTable.open(fabricated.path).dataset()
    assert dataset.to_table(["id"], pc.field("extra") == 5)["id"].to_pylist() == ["z"]
    assert dataset.count_rows(filter=pc.field("extra").is_null()) == 40


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"filter": "n = 1"}, WrongTypeError),
        ({"columns": "n"}, WrongTypeError),
        ({"columns": iter(["n"])}, WrongTypeError),
        ({"columns": ["m"]}, UnknownColumnError),
        ({"filter": pc.field("m") == 1}, UnknownColumnError),
        ({"batch_size": 0}, InvalidOptionError),
        ({"limit": 3}, TypeError),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    table: IndexedTable, given: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        table.dataset().scanner(**given)


def test_a_filter_that_arrow_has_no_comparison_for_is_its_error(table: IndexedTable) -> None:
    with pytest.raises(pa.ArrowException):
        table.dataset().scanner(filter=pc.field("n") == "seven")


def test_what_goes_past_the_methods_fails_and_finds_no_empty_table(table: IndexedTable) -> None:
    dataset = table.dataset()
    with pytest.raises(OSError, match="rows of a Hudi table"):
        ds.Scanner.from_dataset(dataset).to_table()
    with pytest.raises(TypeError, match="open the table"):
        pickle.dumps(dataset)
    with pytest.raises(NotImplementedError):
        dataset.replace_schema(dataset.schema)


def test_the_end_of_a_process_meets_no_thread_that_still_reads(table: IndexedTable) -> None:
    lines = (
        "import duckdb; from hudi_index import IndexedTable",
        f"trips = IndexedTable.open({table.storage.uri!r}).dataset()",
        "duckdb.sql('SELECT n FROM trips LIMIT 1').fetchall(); next(iter(trips.to_batches()))",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)], capture_output=True, check=False, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
