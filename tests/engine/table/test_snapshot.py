from __future__ import annotations

import pickle
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index.errors import InvalidOptionError, MissingSliceFileError, NoSuchTableError, UnknownColumnError
from hudi_index.storage import Storage
from hudi_index.table import RECORD_KEY, ROW_POSITION, SliceReader, Snapshot, TableType
from hudi_index.table.rows import _BaseKeys
from tests.engine.table.fabricate import COLUMNS, Fabricated

if TYPE_CHECKING:
    from pathlib import Path

T1, T2 = "20240101000000000", "20240102000000000"


def rows(start: int, stop: int) -> list[dict[str, Any]]:
    return [
        {"id": f"k{i}", "n": None if i % 3 == 0 else i, "region": "in the file"} for i in range(start, stop)
    ]


@pytest.fixture(params=[6, 8, 9])
def table(tmp_path: Path, request: pytest.FixtureRequest) -> Fabricated:
    made = Fabricated(tmp_path / "t b l", version=request.param)
    made.commit(T1)
    made.commit(T2)
    made.base_file("eu", "a", T1, rows(0, 3))
    made.base_file("eu", "a", T2, rows(0, 5), row_group_size=2)
    made.base_file("a%2Fb", "b", T1, rows(5, 7))
    return made


def read(snapshot: Snapshot, columns: list[str] | None = None) -> dict[str, list[dict[str, Any]]]:
    return {
        s.group.file_id: [
            row for batch in snapshot.reader.rows(s, columns).batches() for row in batch.to_pylist()
        ]
        for s in snapshot.slices
    }


def test_snapshot_tells_what_the_table_is(table: Fabricated) -> None:
    snapshot = Snapshot.load(table.storage)
    assert snapshot.config.table_type is TableType.COPY_ON_WRITE
    assert snapshot.config.version == table.version
    assert snapshot.schema == COLUMNS
    assert snapshot.instant is not None
    assert snapshot.instant.requested_time == T2
    assert [(s.group.file_id, s.base_instant) for s in snapshot.slices] == [("b", T1), ("a", T2)]
    assert all(s.base_size == (table.path / str(s.base_path)).stat().st_size for s in snapshot.slices)


def test_rows_have_key_position_and_path_values(table: Fabricated) -> None:
    found = read(Snapshot.load(table.storage), ["n", "region"])
    assert found["b"] == [
        {RECORD_KEY: "k5", ROW_POSITION: 0, "n": 5, "region": "a/b"},
        {RECORD_KEY: "k6", ROW_POSITION: 1, "n": None, "region": "a/b"},
    ]
    assert [row[ROW_POSITION] for row in found["a"]] == [0, 1, 2, 3, 4]
    assert [row[RECORD_KEY] for row in found["a"]] == [f"k{i}" for i in range(5)]


def test_earlier_snapshot_reads_the_earlier_base_file(table: Fabricated) -> None:
    then = Snapshot.load(table.storage, T1)
    assert len(read(then)["a"]) == 3
    assert then.instant is not None
    assert then.instant.requested_time == T1
    now = Snapshot.load(table.storage)
    assert Snapshot.load(table.storage, "20240109000000").slices == now.slices
    old = then.slices[1]
    assert now.reader.row_count(old) == 3


def test_columns_are_chosen_by_top_level_name(table: Fabricated) -> None:
    snapshot = Snapshot.load(table.storage)
    assert snapshot.reader.rows(snapshot.slices[0], ["n", "n.x", "id"]).columns == ("n", "id")
    batch = next(snapshot.reader.rows(snapshot.slices[0], []).batches())
    assert batch.schema.names == [RECORD_KEY, ROW_POSITION]
    with pytest.raises(UnknownColumnError, match="region"):
        snapshot.reader.rows(snapshot.slices[0], ["regio"])


def test_reader_and_rows_can_be_pickled(table: Fabricated) -> None:
    snapshot = Snapshot.load(table.storage)
    again = pickle.loads(pickle.dumps(snapshot.reader.rows(snapshot.slices[0])))
    assert again == snapshot.reader.rows(snapshot.slices[0])
    assert pa.Table.from_batches(again.batches()).num_rows == 2
    assert snapshot.slice_reader_of(snapshot.slices[0]).reader is SliceReader.HUDI_RS


def test_file_that_is_gone_is_named(table: Fabricated) -> None:
    snapshot = Snapshot.load(table.storage)
    gone = snapshot.slices[0]
    (table.path / str(gone.base_path)).unlink()
    with pytest.raises(MissingSliceFileError, match=str(gone.base_file)):
        list(snapshot.reader.rows(gone).batches())


def test_no_table_and_no_instant_are_user_errors(tmp_path: Path) -> None:
    with pytest.raises(NoSuchTableError):
        Snapshot.load(Storage.open(tmp_path))
    table = Fabricated(tmp_path)
    table.commit(T1)
    assert Snapshot.load(table.storage).slices == ()
    with pytest.raises(InvalidOptionError, match="as_of"):
        Snapshot.load(table.storage, "yesterday")


def test_merged_rows_are_placed_in_the_base_file() -> None:
    base = _BaseKeys(pa.chunked_array([["a", "b", "b"], ["c", "d", "e", "f", "g"]]))
    assert base.places_of(pa.array(["b", "a"])).to_pylist() == [1, 0]
    assert base.places_of(pa.array([], pa.string())).to_pylist() == []
    # `c` and `e` were deleted, `x` is in a log only; places count from the second `b` on.
    assert base.places_of(pa.array(["d", "x"])).to_pylist() == [2, None]
    assert base.places_of(pa.array(["y", "g", "f"])).to_pylist() == [None, 2, 1]
