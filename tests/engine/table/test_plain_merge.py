"""Slices whose logs hold plain records are merged without hudi-rs: the same rows in the same places."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.errors import HudiIndexError, SliceRefusedError
from hudi_index.storage import Storage
from hudi_index.table import HeldFiles, HeldLogs, Snapshot, rows
from tests.support.merges import count_merges
from tests.support.tables import Fabricated, log_block, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hudi_index.table import FileSlice

BASE = "20240101000000000"
INSTANTS = [f"202401{day:02d}000000000" for day in range(2, 8)]
EVENT_TIME = {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING", "hoodie.table.ordering.fields": "ts"}
COMMIT_TIME = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
COMMIT_TIME_WITH_FIELD = {**COMMIT_TIME, "hoodie.table.ordering.fields": "ts"}
COLUMNS = schema_of(
    pa.field("id", pa.string(), nullable=False),
    pa.field("ts", pa.int64()),
    pa.field("region", pa.string()),
    pa.field("name", pa.string()),
    pa.field("ratio", pa.float64()),
    pa.field("small", pa.float32()),
    pa.field("flag", pa.bool_()),
    pa.field("born", pa.date32()),
    pa.field("seen", pa.timestamp("us", "UTC")),
    pa.field("raw", pa.binary()),
    pa.field("n", pa.int32()),
)
KEYS = st.sampled_from([f"key-{number}" for number in range(12)] + ["", "ключ", "a$b", "Z"])
ROWS = st.fixed_dictionaries(
    {
        "id": KEYS,
        "ts": st.integers(-2, 3),
        "region": st.just("eu"),
        "name": st.one_of(st.none(), st.text(max_size=5), st.just("x" * 200)),
        "ratio": st.one_of(st.none(), st.floats()),
        "small": st.one_of(st.none(), st.floats(width=32)),
        "flag": st.one_of(st.none(), st.booleans()),
        "born": st.one_of(st.none(), st.dates(date(1, 1, 1), date(9999, 12, 31))),
        "seen": st.one_of(st.none(), st.sampled_from([datetime(2024, 2, 29, tzinfo=timezone.utc)])),
        "raw": st.one_of(st.none(), st.binary(max_size=4)),
        "n": st.one_of(st.none(), st.integers(-(1 << 31), (1 << 31) - 1)),
    }
)
LOGS = st.lists(st.lists(st.lists(ROWS, max_size=8), min_size=1, max_size=2), min_size=1, max_size=4)


def distinct(found: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return list({row["id"]: row for row in found}.values())


def make(
    folder: str | Path,
    base: Sequence[Mapping[str, Any]] | None,
    logs: Sequence[Sequence[Sequence[Mapping[str, Any]]]],
    properties: Mapping[str, str],
    columns: pa.Schema = COLUMNS,
    version: int = 9,
) -> Fabricated:
    """A table of one file group with some logs, each with some blocks of rows."""
    table = Fabricated(
        Path(folder), version=version, table_type="MERGE_ON_READ", properties=properties, columns=columns
    )
    if base is not None:
        table.base_file("eu", "a", BASE, base)
        table.commit(BASE)
    for instant, blocks in zip(INSTANTS, logs, strict=False):
        table.avro_log("eu", "a", instant, *blocks)
        table.commit(instant, "deltacommit")
    return table


def slice_of(table: Fabricated) -> tuple[Snapshot, FileSlice]:
    snapshot = Snapshot.load(table.storage)
    (file_slice,) = snapshot.slices
    return snapshot, file_slice


def read(snapshot: Snapshot, file_slice: FileSlice, columns: Sequence[str]) -> list[str]:
    """Rows in their order, by their text: 0.0 and -0.0 are equal, and no NaN is."""
    reader = snapshot.reader.rows(file_slice, columns)
    return [repr(row) for batch in reader.batches() for row in batch.to_pylist()]


@pytest.fixture(name="merges")
def counted_merges(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each merge so far was done without hudi-rs."""
    return count_merges(monkeypatch)


def by_hudi_rs(snapshot: Snapshot, file_slice: FileSlice, columns: Sequence[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "merge_plainly", lambda *_: None)
        return read(snapshot, file_slice, columns)


@given(
    base=st.one_of(st.none(), st.lists(ROWS, max_size=12)),
    logs=LOGS,
    properties=st.sampled_from([EVENT_TIME, COMMIT_TIME, COMMIT_TIME_WITH_FIELD]),
    columns=st.lists(st.sampled_from(COLUMNS.names), unique=True),
    version=st.sampled_from([8, 9]),
)
def test_rows_are_those_of_hudi_rs(
    base: list[Any] | None, logs: Any, properties: dict[str, str], columns: list[str], version: int
) -> None:
    with TemporaryDirectory() as folder:
        snapshot, file_slice = slice_of(make(folder, base, logs, properties, version=version))
        with pytest.MonkeyPatch.context() as patch:
            if len(distinct(base or [])) == len(base or []):
                patch.setattr(type(snapshot.reader), "_stream", None)
            found = read(snapshot, file_slice, columns)
        assert found == by_hudi_rs(snapshot, file_slice, columns)


@given(
    base=st.lists(ROWS, max_size=12).map(distinct),
    logs=st.lists(st.lists(st.lists(ROWS, max_size=6), min_size=1, max_size=1), min_size=2, max_size=4),
    seen=st.data(),
)
def test_files_of_one_state_serve_another(base: list[Any], logs: Any, seen: st.DataObject) -> None:
    """What was held of the slice as it was gives the slice as it is the rows it has without."""
    with TemporaryDirectory() as folder:
        snapshot, after = slice_of(make(folder, base, logs, EVENT_TIME))
        few = seen.draw(st.integers(0, len(logs) - 1))
        before = replace(after, log_files=after.log_files[:few], log_sizes=after.log_sizes[:few])
        held = HeldFiles(HeldLogs(seen.draw(st.sampled_from([(), after.log_paths]))))
        for state in (before, after):
            reader = snapshot.reader.rows(state, COLUMNS.names, held=held)
            found = [repr(row) for batch in reader.batches() for row in batch.to_pylist()]
            assert found == read(snapshot, state, COLUMNS.names)


def row(number: int, ts: int | None = 1, **values: Any) -> dict[str, Any]:
    """A row that holds little."""
    nothing = dict.fromkeys(COLUMNS.names)
    return {**nothing, "id": f"key-{number}", "ts": ts, "region": "eu", "name": f"name {number}", **values}


FOUR = [row(number) for number in range(4)]
NEWER = [row(number, 2, name="newer") for number in (1, 3, 7)]
WANTED = ["ts", "name"]


def test_plain_logs_are_merged_here(tmp_path: Path, merges: list[bool]) -> None:
    late = [row(2, 0, name="late"), row(1, 2, name="of equal time")]
    snapshot, file_slice = slice_of(make(tmp_path, FOUR, [[NEWER], [late]], EVENT_TIME))
    found = list(snapshot.reader.rows(file_slice, WANTED).batches())
    assert [name for batch in found for name in batch.column("name").to_pylist()] == [
        *("name 0", "of equal time", "name 2", "newer", "newer")
    ]
    assert merges == [True]


def test_a_base_file_may_lack_a_column(tmp_path: Path, merges: list[bool]) -> None:
    table = make(tmp_path, FOUR, [], EVENT_TIME)
    table.columns = COLUMNS.append(pa.field("more", pa.string()))
    table.avro_log("eu", "a", INSTANTS[1], [row(2, 3, more="more")])
    table.commit(INSTANTS[1], "deltacommit")
    snapshot, file_slice = slice_of(table)
    reader = snapshot.reader.rows(file_slice, ["more"])
    found = [value for batch in reader.batches() for value in batch.column("more").to_pylist()]
    assert found == [None, None, "more", None]
    assert merges == [True]
    assert read(snapshot, file_slice, ["more"]) == by_hudi_rs(snapshot, file_slice, ["more"])


def test_rows_of_a_large_base_file_are_not_held(
    tmp_path: Path, merges: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hudi_index.table.plain_merge._MOST_BASE_BYTES", 10)
    snapshot, file_slice = slice_of(make(tmp_path, FOUR, [[NEWER]], EVENT_TIME))
    held = HeldFiles()
    found = snapshot.reader.rows(file_slice, WANTED, held=held).batches()
    assert [repr(each) for batch in found for each in batch.to_pylist()] == by_hudi_rs(
        snapshot, file_slice, WANTED
    )
    assert merges == [True]
    assert not held.bases


def duplicated_key(folder: Path) -> Fabricated:
    return make(folder, [*FOUR, row(1)], [[NEWER]], EVENT_TIME)


def duplicated_key_of_no_log(folder: Path) -> Fabricated:
    """hudi-rs puts its rows together, so what reads the slice must not depend on the columns."""
    return make(folder, [*FOUR, row(1)], [[[row(2, 2)]]], EVENT_TIME)


def no_ordering_value(folder: Path) -> Fabricated:
    return make(folder, FOUR, [[[row(1, None), row(2)]]], EVENT_TIME)


def no_ordering_value_before(folder: Path) -> Fabricated:
    return make(folder, [row(0), row(1, None)], [[NEWER]], EVENT_TIME)


def ordering_by_text(folder: Path) -> Fabricated:
    properties = {**EVENT_TIME, "hoodie.table.ordering.fields": "name"}
    return make(folder, FOUR, [[NEWER]], properties)


def parquet_block(folder: Path) -> Fabricated:
    table = make(folder, FOUR, [[NEWER]], EVENT_TIME)
    table.log_of_rows("eu", "a", BASE, INSTANTS[1], NEWER)
    table.commit(INSTANTS[1], "deltacommit")
    return table


def another_schema(folder: Path) -> Fabricated:
    table = make(folder, FOUR, [[NEWER]], EVENT_TIME)
    table.columns = COLUMNS.append(pa.field("more", pa.string()))
    table.avro_log("eu", "a", INSTANTS[1], [row(2, 3, more="more")])
    table.commit(INSTANTS[1], "deltacommit")
    return table


def wider_column(folder: Path) -> Fabricated:
    narrow = COLUMNS.set(COLUMNS.get_field_index("ts"), pa.field("ts", pa.int32()))
    table = make(folder, FOUR, [[NEWER]], EVENT_TIME, columns=narrow)
    table.columns = COLUMNS
    table.commit(INSTANTS[3], "deltacommit")
    return table


def no_ordering_field(folder: Path) -> Fabricated:
    return make(folder, FOUR, [[NEWER]], {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING"})


def deleted_by_mark(folder: Path) -> Fabricated:
    columns = COLUMNS.append(pa.field("_hoodie_is_deleted", pa.bool_()))
    base = [{**each, "_hoodie_is_deleted": False} for each in FOUR]
    gone = [row(1, 2, _hoodie_is_deleted=True), row(2, 2, _hoodie_is_deleted=False)]
    return make(folder, base, [[gone]], EVENT_TIME, columns=columns)


def deleted_by_operation(folder: Path) -> Fabricated:
    columns = COLUMNS.append(pa.field("_hoodie_operation", pa.string()))
    base = [{**each, "_hoodie_operation": None} for each in FOUR]
    gone = [row(1, 2, _hoodie_operation="D"), row(2, 2, _hoodie_operation="U")]
    return make(folder, base, [[gone]], EVENT_TIME, columns=columns)


def deleted_by_a_field(folder: Path) -> Fabricated:
    properties = {
        **EVENT_TIME,
        "hoodie.payload.delete.field": "name",
        "hoodie.payload.delete.marker": "newer",
    }
    return make(folder, FOUR, [[NEWER]], properties)


def keys_computed(folder: Path) -> Fabricated:
    return make(folder, FOUR, [[NEWER]], {**EVENT_TIME, "hoodie.populate.meta.fields": "false"})


def commands(folder: Path) -> Fabricated:
    """A rollback of the log before, which hudi-rs knows."""
    table = make(folder, FOUR, [[NEWER]], EVENT_TIME)
    command = log_block({0: INSTANTS[1], 1: INSTANTS[0], 3: "0"}, b"", 2)
    table.write(f"eu/.a_{INSTANTS[1]}.log.1_0-1-2", command)
    table.commit(INSTANTS[1], "deltacommit")
    return table


OTHERS = (
    *(
        duplicated_key,
        duplicated_key_of_no_log,
        no_ordering_value,
        no_ordering_value_before,
        ordering_by_text,
        parquet_block,
    ),
    *(another_schema, wider_column, deleted_by_mark, deleted_by_operation, deleted_by_a_field),
    *(keys_computed, commands, no_ordering_field),
)


@pytest.mark.parametrize("shape", OTHERS)
def test_what_is_not_plain_is_for_hudi_rs(shape: Any, tmp_path: Path, merges: list[bool]) -> None:
    snapshot, file_slice = slice_of(shape(tmp_path))
    assert file_slice.log_files
    asked = snapshot.reader.rows(file_slice, WANTED).batches()
    try:
        found = [repr(each) for batch in asked for each in batch.to_pylist()]
    except HudiIndexError as error:
        with pytest.raises(type(error)):
            by_hudi_rs(snapshot, file_slice, WANTED)
    else:
        assert found == by_hudi_rs(snapshot, file_slice, WANTED)
    assert merges == [False]


@pytest.mark.parametrize("properties", [EVENT_TIME, COMMIT_TIME])
@pytest.mark.parametrize(
    "mark", [pa.field("_hoodie_is_deleted", pa.bool_()), pa.field("_hoodie_operation", pa.string())]
)
def test_what_marks_deletes_is_a_column_too(
    tmp_path: Path, merges: list[bool], mark: pa.Field[Any], properties: dict[str, str]
) -> None:
    values: dict[str, tuple[Any, Any]] = {
        "_hoodie_is_deleted": (False, None),
        "_hoodie_operation": ("I", "U"),
    }
    one, other = values[mark.name]
    base = [{**each, mark.name: one} for each in FOUR]
    log = [row(1, 2, **{mark.name: other}), row(9, 2, **{mark.name: one})]
    snapshot, file_slice = slice_of(make(tmp_path, base, [[log]], properties, columns=COLUMNS.append(mark)))
    wanted = ["name", mark.name]
    assert read(snapshot, file_slice, wanted) == by_hudi_rs(snapshot, file_slice, wanted)
    assert merges == [True]


@pytest.mark.parametrize("logs", [[], [[NEWER]]])
def test_a_column_that_changed_its_case_is_for_spark(tmp_path: Path, logs: Any) -> None:
    """Which finds it in the base file. By its exact name there is none."""
    spelled = COLUMNS.set(COLUMNS.get_field_index("name"), pa.field("Name", pa.string()))
    base = [{**{k: v for k, v in each.items() if k != "name"}, "Name": each["name"]} for each in FOUR]
    table = make(tmp_path, base, [], EVENT_TIME, columns=spelled)
    table.columns = COLUMNS
    for instant, blocks in zip(INSTANTS, [*logs, []], strict=False):
        if blocks:
            table.avro_log("eu", "a", instant, *blocks)
        table.commit(instant, "deltacommit")
    snapshot, file_slice = slice_of(table)
    with pytest.raises(SliceRefusedError, match="name are spelled in another case") as caught:
        read(snapshot, file_slice, WANTED)
    # Of the slice with its logs: that is what Spark is to read.
    assert caught.value.identity == file_slice.identity
    assert len(read(snapshot, file_slice, ["ts"])) == (5 if logs else 4)


@pytest.mark.parametrize("has_delete", [False, True])
def test_a_column_that_a_log_leaves_out_is_for_spark(tmp_path: Path, *, has_delete: bool) -> None:
    """To Hudi its records have no value there; hudi-rs takes that of the record that was there before."""
    table = make(tmp_path, FOUR, [], EVENT_TIME)
    without = replace(table, columns=pa.schema([each for each in COLUMNS if each.name != "name"]))
    dropped = {name: value for name, value in row(1, 2, n=5).items() if name != "name"}
    without.avro_log("eu", "a", INSTANTS[0], [dropped])
    without.commit(INSTANTS[0], "deltacommit")
    if has_delete:
        table.log_of_rows("eu", "a", BASE, INSTANTS[1], NEWER)
    else:
        table.avro_log("eu", "a", INSTANTS[1], [row(2, 2)])
    table.commit(INSTANTS[1], "deltacommit")
    snapshot, file_slice = slice_of(table)
    with pytest.raises(SliceRefusedError, match="name are left out by a log") as caught:
        read(snapshot, file_slice, WANTED)
    assert caught.value.identity == file_slice.identity
    assert len(read(snapshot, file_slice, ["n"])) == (5 if has_delete else 4)


def test_a_column_that_came_later_is_read(tmp_path: Path) -> None:
    """Logs that never had a column leave nothing out."""
    narrow = pa.schema([each for each in COLUMNS if each.name != "name"])
    few = [{name: value for name, value in each.items() if name != "name"} for each in FOUR]
    table = make(tmp_path, few, [[[few[1]]]], EVENT_TIME, columns=narrow)
    table.columns = COLUMNS
    table.avro_log("eu", "a", INSTANTS[1], [row(2, 2)])
    table.commit(INSTANTS[1], "deltacommit")
    snapshot, file_slice = slice_of(table)
    reader = snapshot.reader.rows(file_slice, ["name"])
    found = [value for batch in reader.batches() for value in batch.column("name").to_pylist()]
    assert found == [None, None, "name 2", None]


def test_logs_of_version_6_are_for_hudi_rs(tmp_path: Path, merges: list[bool]) -> None:
    table = Fabricated(
        tmp_path, version=6, table_type="MERGE_ON_READ", properties=EVENT_TIME, columns=COLUMNS
    )
    table.base_file("eu", "a", BASE, FOUR)
    table.commit(BASE)
    table.log_of_rows("eu", "a", BASE, INSTANTS[0], NEWER)
    table.commit(INSTANTS[0], "deltacommit")
    snapshot, file_slice = slice_of(table)
    assert len(read(snapshot, file_slice, WANTED)) == 5
    assert merges == [False]


def test_large_logs_are_for_hudi_rs(
    tmp_path: Path, merges: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hudi_index.table.plain_merge._MOST_LOG_BYTES", 10)
    snapshot, file_slice = slice_of(make(tmp_path, FOUR, [[NEWER]], EVENT_TIME))
    assert len(read(snapshot, file_slice, WANTED)) == 5
    assert merges == [False]


@pytest.fixture(name="looks")
def counted_looks(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The files that were read together, each time."""
    found: list[list[str]] = []
    read_many = Storage.read_many

    def counted(storage: Storage, paths: Sequence[str]) -> Any:
        found.append(list(paths))
        return read_many(storage, paths)

    monkeypatch.setattr(Storage, "read_many", counted)
    return found


def test_logs_of_many_file_groups_are_decoded_together(
    tmp_path: Path, merges: list[bool], looks: list[list[str]]
) -> None:
    """What is not plain in one of them, or not there, is nothing to the others."""
    table = make(tmp_path, FOUR, [], EVENT_TIME)
    for file_id in "bcdefg":
        table.base_file("eu", file_id, BASE, FOUR)
    more = replace(table, columns=COLUMNS.append(pa.field("_hoodie_is_deleted", pa.bool_())))
    for file_id in "abcd":
        table.avro_log("eu", file_id, INSTANTS[0], [row(1, 2, name=f"of {file_id}")])
        table.avro_log("eu", file_id, INSTANTS[1], [row(2, 2, name=f"later of {file_id}")])
    table.log_of_rows("eu", "b", BASE, INSTANTS[2], NEWER)
    table.write(f"eu/.c_{INSTANTS[2]}.log.1_0-1-2", b"damaged")
    more.avro_log("eu", "e", INSTANTS[0], [row(3, 2, _hoodie_is_deleted=False)])
    more.avro_log("eu", "f", INSTANTS[0], [row(3, 2, _hoodie_is_deleted=True)])
    table.avro_log("eu", "g", INSTANTS[0], [row(1, 2, name="of g")])
    for instant in INSTANTS[:3]:
        table.commit(instant, "deltacommit")
    snapshot = Snapshot.load(table.storage)
    (tmp_path / next(each.log_paths[0] for each in snapshot.slices if each.group.file_id == "g")).unlink()
    logs = HeldLogs(tuple(path for each in snapshot.slices for path in each.log_paths))
    slices = sorted(snapshot.slices, key=lambda each: each.group.file_id)
    assert [each.group.file_id for each in slices] == list("abcdefg")
    plain = []
    for file_slice in slices:
        asked = snapshot.reader.rows(file_slice, WANTED, held=HeldFiles(logs)).batches()
        try:
            found = [repr(each) for batch in asked for each in batch.to_pylist()]
        except HudiIndexError as error:
            with pytest.raises(type(error)):
                by_hudi_rs(snapshot, file_slice, WANTED)
        else:
            assert found == by_hudi_rs(snapshot, file_slice, WANTED)
            plain += [file_slice.group.file_id] if merges[-1] else []
    assert plain == ["a", "d", "e"]
    assert len(merges) == len(slices)
    assert len(looks) == 1


def test_what_is_not_plain_is_tried_once(tmp_path: Path, merges: list[bool], looks: list[list[str]]) -> None:
    snapshot, after = slice_of(duplicated_key(tmp_path))
    held = HeldFiles(HeldLogs(after.log_paths))
    for _ in range(2):
        list(snapshot.reader.rows(after, WANTED, held=held).batches())
    assert merges == [False, False]
    assert looks == [list(after.log_paths)]
