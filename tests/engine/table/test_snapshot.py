from __future__ import annotations

import pickle
import shutil
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index.errors import InvalidOptionError, MissingSliceFileError, NoSuchTableError, UnknownColumnError
from hudi_index.storage import Storage
from hudi_index.table import RECORD_KEY, ROW_POSITION, SliceReader, Snapshot, TableType
from hudi_index.table import snapshot as snapshot_module
from hudi_index.table.listing import list_partitions
from hudi_index.table.row_order import _BaseKeys
from tests.support.tables import COLUMNS, Fabricated

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


def test_instant_whose_files_were_cleaned_is_refused(table: Fabricated) -> None:
    (table.path / "eu" / f"a_0-1-2_{T1}.parquet").unlink()
    table.clean("20240103000000000", T2)
    # Without the file of that time its rows would be missing, and nobody would know.
    with pytest.raises(InvalidOptionError, match=f"cleaned.*{T2}"):
        Snapshot.load(table.storage, T1)
    assert len(Snapshot.load(table.storage, T2).slices) == 2
    table.commit("20240104000000000")
    assert len(Snapshot.load(table.storage, T2).slices) == 2
    # A cleaner that counts versions names no commit: what is older than the timeline may be gone.
    table.clean("20240105000000000", None)
    assert Snapshot.load(table.storage, T1).as_of == T1
    with pytest.raises(InvalidOptionError, match=f"cleaned.*{T1}"):
        Snapshot.load(table.storage, "20231231000000")


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
    assert base.positions_of(pa.array(["b", "a"])).to_pylist() == [1, 0]
    assert base.positions_of(pa.array([], pa.string())).to_pylist() == []
    # `c` and `e` were deleted, `x` is in a log only; places count from the second `b` on.
    assert base.positions_of(pa.array(["d", "x"])).to_pylist() == [2, None]
    assert base.positions_of(pa.array(["y", "g", "f"])).to_pylist() == [None, 2, 1]


def settled(path: Path, version: int = 9, table_type: str = "COPY_ON_WRITE") -> Fabricated:
    made = Fabricated(path, version=version, table_type=table_type)
    made.commit(T1)
    made.base_file("eu", "a", T1, rows(0, 3))
    made.base_file("us", "b", T1, rows(3, 5))
    return made


@pytest.mark.parametrize("version", [6, 8, 9])
def test_known_snapshot_is_given_again_while_nothing_is_different(tmp_path: Path, version: int) -> None:
    table = settled(tmp_path / "t", version)
    first = Snapshot.load(table.storage)
    assert Snapshot.load(table.storage, known=first) is first
    # As of the latest commit is the latest; as of another instant is not.
    assert Snapshot.load(table.storage, T1, known=first) is first
    table.commit(T2)
    now = Snapshot.load(table.storage, known=first)
    earlier = Snapshot.load(table.storage, T1, known=now)
    assert (now.as_of, earlier.as_of) == (None, T1)
    assert Snapshot.load(table.storage, T1, known=earlier) is earlier
    assert Snapshot.load(table.storage, known=earlier) is not earlier
    copied = shutil.copytree(table.path, tmp_path / "copy")
    assert Snapshot.load(Storage.open(copied), known=now) is not now


@pytest.mark.parametrize("version", [6, 8, 9])
@pytest.mark.parametrize(
    "happening",
    [
        "write",
        "pending",
        "rollback",
        "clean",
        "properties",
        "made_again",
        "file_gone",
        "file_new",
        "partition",
    ],
)
def test_known_snapshot_is_not_given_again_after(tmp_path: Path, happening: str, version: int) -> None:
    table = settled(tmp_path / "t", version)
    known = Snapshot.load(table.storage)
    old = table.path / "eu" / f"a_0-1-2_{T1}.parquet"
    if happening == "write":
        table.base_file("eu", "a", T2, rows(0, 9))
        assert Snapshot.load(table.storage, known=known).slices == known.slices
        table.commit(T2)
    elif happening == "pending":
        table.write(f"{table.timeline_folder}/{T2}.commit.requested")
    elif happening in ("rollback", "clean"):
        # What was rolled back or cleaned takes its files along; the instant alone is a reason to look.
        table.commit(T2, happening)
    elif happening == "properties":
        table = Fabricated(table.path, version=version, properties={"hoodie.table.name": "u"})
    elif happening == "made_again":
        # With the very names, as only a test can: real instants are moments, and file ids are never reused.
        time.sleep(0.02)  # a file's time is no finer than the tick of the system's clock
        shutil.rmtree(table.path)
        table = settled(tmp_path / "t", version)
    elif happening == "file_gone":
        old.unlink()
    elif happening == "file_new":
        # A copy of a table whose timeline arrived before its files.
        table.base_file("eu", "c", T1, rows(5, 6))
    elif happening == "partition":
        table.base_file("de/deeper", "c", T1, rows(5, 6))
    now = Snapshot.load(table.storage, known=known)
    assert now is not known
    assert now.slices == Snapshot.load(table.storage).slices
    assert (now.slices == known.slices) == (happening not in ("write", "file_gone", "file_new", "partition"))


def test_known_snapshot_is_not_given_again_after_a_log_grew(tmp_path: Path) -> None:
    table = settled(tmp_path / "t", 6, "MERGE_ON_READ")
    name = table.log_file("eu", "a", T1, size=10)
    known = Snapshot.load(table.storage)
    assert Snapshot.load(table.storage, known=known) is known
    with (table.path / "eu" / name).open("ab") as log:
        log.write(b"more")
    now = Snapshot.load(table.storage, known=known)
    assert (now is known, now.slices[0].log_sizes) == (False, (14,))
    # Who writes to logs while we look may go on after it.
    table.write(f".hoodie/{T2}.deltacommit.inflight")
    first = Snapshot.load(table.storage, known=now)
    assert first.slices[0].unsettled


def test_table_that_moves_while_it_is_looked_at_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = settled(tmp_path / "t")
    known, listing = Snapshot.load(table.storage), list_partitions

    def listed_beside_a_writer(*given: Any) -> Any:
        found = listing(*given)
        table.write(f"{table.timeline_folder}/{T2}.commit.requested")
        return found

    monkeypatch.setattr(snapshot_module, "list_partitions", listed_beside_a_writer)
    # As it was when the timeline was read: what has begun since has completed nothing.
    assert Snapshot.load(table.storage, known=known) is known
    moving = Snapshot.load(table.storage, known=known)
    assert (moving is known, moving.listing, moving.slices) == (False, None, known.slices)
    assert Snapshot.load(table.storage, known=moving) is not moving


def test_listing_stats_no_base_file_that_is_known(table: Fabricated) -> None:
    whole = list_partitions(table.storage)
    # Sizes that no file has: whoever gives them has not looked.
    names = [f"a_0-1-2_{T1}.parquet", ".hoodie_partition_metadata"]
    pretended = {"eu": {**whole["eu"], **dict.fromkeys(names, (-1, -1, ""))}}
    found = list_partitions(table.storage, pretended)
    assert found["eu"][names[0]] == (-1, -1, "")
    assert {**found["eu"], names[0]: whole["eu"][names[0]]} == whole["eu"]
    assert found["a%2Fb"] == whole["a%2Fb"]
