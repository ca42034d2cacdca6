"""Slices whose logs hold plain records are merged without hudi-rs: the same rows in the same places."""

from __future__ import annotations

import struct
from dataclasses import replace
from datetime import date, datetime, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.errors import HudiIndexError
from hudi_index.table import HeldFiles, Snapshot, plain_merge, rows
from hudi_index.table.log_blocks import OtherBlockError, plain_records
from tests.support.tables import Fabricated, log_block, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hudi_index.storage import Storage
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
    found: list[bool] = []
    merge = plain_merge.merge_plainly

    def counted(*arguments: Any) -> Iterator[pa.RecordBatch] | None:
        merged = merge(*arguments)
        found.append(merged is not None)
        return merged

    monkeypatch.setattr(rows, "merge_plainly", counted)
    return found


def by_hudi_rs(snapshot: Snapshot, file_slice: FileSlice, columns: Sequence[str]) -> list[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows, "merge_plainly", lambda *_: None)
        return read(snapshot, file_slice, columns)


@given(
    base=st.one_of(st.none(), st.lists(ROWS, max_size=12).map(distinct)),
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
        held = HeldFiles(seen.draw(st.sampled_from([(), after.log_paths])))
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


def avro_block(header: Mapping[int, str], records: Sequence[bytes], kind: int = 3) -> bytes:
    content = struct.pack(">ii", 3, len(records))
    return log_block(
        header, content + b"".join(struct.pack(">i", len(each)) + each for each in records), kind
    )


def duplicated_key(folder: Path) -> Fabricated:
    return make(folder, [*FOUR, row(1)], [[NEWER]], EVENT_TIME)


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
    *(duplicated_key, no_ordering_value, no_ordering_value_before, ordering_by_text, parquet_block),
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


HEADER = {0: INSTANTS[0], 2: "{}"}
GOOD = avro_block(HEADER, [b"one", b"", b"three"])


def test_records_of_a_block_are_found() -> None:
    first, second = plain_records(GOOD + avro_block(HEADER, [b"more"]), INSTANTS[0])
    assert [first.data[start:end] for start, end in zip(first.starts, first.ends, strict=True)] == [
        *(b"one", b"", b"three")
    ]
    assert [second.data[start:end] for start, end in zip(second.starts, second.ends, strict=True)] == [
        b"more"
    ]
    assert plain_records(b"", INSTANTS[0]) == []


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        GOOD[:-1],
        GOOD + b"#HUDI#",
        b"#HIDU#" + GOOD[6:],
        GOOD.replace(b"one", b"none"),
        avro_block({**HEADER, 0: INSTANTS[1]}, [b"one"]),
        avro_block({2: "{}"}, [b"one"]),
        avro_block({0: INSTANTS[0]}, [b"one"]),
        avro_block({**HEADER, 7: "true"}, [b"one"]),
        avro_block({**HEADER, 4: INSTANTS[2]}, [b"one"]),
        *(avro_block(HEADER, [b"one"], kind) for kind in (0, 1, 2, 4, 5, 6)),
        log_block(HEADER, struct.pack(">ii", 2, 0), 3),
        log_block(HEADER, struct.pack(">ii", 3, -1), 3),
        log_block(HEADER, struct.pack(">iii", 3, 1, -1), 3),
        log_block(HEADER, struct.pack(">iii", 3, 1, 100), 3),
        log_block(HEADER, struct.pack(">iii", 3, 0, 0), 3),
        log_block(HEADER, b"", 3),
    ],
)
def test_other_blocks_are_told(content: bytes) -> None:
    with pytest.raises(OtherBlockError):
        plain_records(content, INSTANTS[0])


@given(st.data())
def test_damaged_blocks_are_told_or_hold_as_many_records(data: st.DataObject) -> None:
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged)[: data.draw(st.integers(0, len(damaged)))]
    for content in (bytes(damaged), cut):
        try:
            found = plain_records(content, INSTANTS[0])
        except OtherBlockError:
            continue
        assert all(0 <= each.starts[0] <= each.ends[-1] <= len(content) for each in found if each.starts.size)


def test_what_is_not_plain_is_tried_once(
    tmp_path: Path, merges: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, after = slice_of(duplicated_key(tmp_path))
    held, looks = HeldFiles(after.log_paths), []
    read_many = type(snapshot.reader.storage).read_many

    def counted(storage: Storage, paths: Sequence[str]) -> Any:
        looks.append(list(paths))
        return read_many(storage, paths)

    monkeypatch.setattr(type(snapshot.reader.storage), "read_many", counted)
    for _ in range(2):
        list(snapshot.reader.rows(after, WANTED, held=held).batches())
    assert merges == [False, False]
    assert looks == [list(after.log_paths)]
