"""Look-ups against a dict: points, prefixes, ranges, many at once, over base files, logs and both."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.entries.keys import shard_of
from hudi_index.entries.ranges import KeyRange, merge_ranges
from hudi_index.metadata_table import base_file
from hudi_index.metadata_table.reader import Reader
from hudi_index.storage import Storage
from tests.store import operations
from tests.store.support import Change, Clock, agreed, entries_of, lookup_of, open_table, ours
from tests.support.storage import only_on_disk

if TYPE_CHECKING:
    from pathlib import Path

    from hudi_index.metadata_table.table import MetadataTable

SHARDS = 3
LONG = "long" + "x" * 5000


def _keys(count: int) -> list[str]:
    names = ["a", "ab", "b", "city of %24", "é", "𝄞", LONG]
    return sorted(f"{name}${place:04d}" for name in names for place in range(count))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> MetadataTable:
    """Many small row groups, three logs over them, tombstones and revivals among them."""
    path, clock = tmp_path_factory.mktemp("lookup") / "mdt", Clock()
    keys = _keys(60)
    patch = pytest.MonkeyPatch()
    patch.setattr(base_file, "ROWS_PER_GROUP", 16)
    open_table(path, clock).create()
    first = Change(dict.fromkeys(keys[::2], "base"))
    operations.create_partition("record_index", SHARDS, first, as_base=True)(path, clock)
    patch.undo()
    for age, start in enumerate((0, 3, 6)):
        change = Change(
            dict.fromkeys(keys[start::7], f"log{age}"), set(keys[start + 1 :: 5]) - set(keys[start::7])
        )
        operations.maintain({"record_index": change})(path, clock)
    return open_table(path, clock)


class Model(dict[str, str]):
    """Prints short: hypothesis shows it with every failure."""

    def __repr__(self) -> str:
        return f"<{len(self)} entries>"


@pytest.fixture(scope="module")
def content(table: MetadataTable) -> dict[str, str]:
    keys = _keys(60)
    model = Model.fromkeys(keys[::2], "base")
    for age, start in enumerate((0, 3, 6)):
        upserts = keys[start::7]
        for key in set(keys[start + 1 :: 5]) - set(upserts):
            model.pop(key, None)
        model |= dict.fromkeys(upserts, f"log{age}")
    return model


def _as_dict(found: pa.Table) -> dict[str, str]:
    return {row["key"]: row["recordIndexMetadata"]["orderingValue"] for row in found.to_pylist()}


ASKED = [*_keys(60), *(key[:-1] for key in _keys(60)[::40]), "", "zzz", "a$", "\U0010ffff"]
some_keys = st.integers(0, len(ASKED) - 1).map(ASKED.__getitem__)
PREFIXES = ["", "a", "a$", "ab$00", "é$", "𝄞", "city of ", LONG, LONG + "$003", "zz"]


@given(wanted=st.lists(some_keys, max_size=12))
def test_lookup_of_points_finds_exactly_the_live_ones(
    table: MetadataTable, content: dict[str, str], wanted: list[str]
) -> None:
    pairs = [(lookup_of(key), KeyRange.point(key)) for key in wanted]
    found = _as_dict(table.reader().lookup_sharded("record_index", pairs))
    assert found == {key: content[key] for key in wanted if key in content}


@pytest.mark.parametrize("prefix", PREFIXES, ids=range(len(PREFIXES)))
def test_lookup_of_prefix_finds_all_that_begin_with_it(
    table: MetadataTable, content: dict[str, str], prefix: str
) -> None:
    found = _as_dict(table.reader().lookup("record_index", [KeyRange.prefix(prefix)]))
    assert found == {key: value for key, value in content.items() if key.startswith(prefix)}


@given(ends=st.lists(st.tuples(some_keys, st.one_of(st.none(), some_keys)), max_size=5))
def test_lookup_of_ranges_finds_all_between(
    table: MetadataTable, content: dict[str, str], ends: list[tuple[str, str | None]]
) -> None:
    ranges = [KeyRange(low, high) for low, high in ends]
    found = _as_dict(table.reader().lookup("record_index", ranges))
    assert found == {
        key: value
        for key, value in content.items()
        if any(one.low <= key and (one.high is None or key < one.high) for one in ranges)
    }


@given(ends=st.lists(st.tuples(st.text("abc", max_size=3), st.one_of(st.none(), st.text("abc", max_size=3)))))
def test_merge_ranges_keeps_keys_sorted_and_disjoint(ends: list[tuple[str, str | None]]) -> None:
    ranges = [KeyRange(low, high) for low, high in ends]
    merged = merge_ranges(ranges)
    for key in ("", "a", "ab", "b", "bca", "c", "cc", "ccc", "d"):

        def holds(some: list[KeyRange], key: str = key) -> bool:
            return any(one.low <= key and (one.high is None or key < one.high) for one in some)

        assert holds(merged) == holds(ranges)
    assert all(one.high is not None and one.high < other.low for one, other in pairwise(merged))


@only_on_disk("far away what is read whole is not opened first")
def test_lookup_within_one_value_reads_only_its_shard_and_row_groups(
    table: MetadataTable, content: dict[str, str]
) -> None:
    opened: list[str] = []

    class CountingStorage(Storage):
        def open_input(self, path: str, tail: int = 0) -> pa.NativeFile:
            opened.append(path)
            return super().open_input(path, tail)

    storage = CountingStorage(table.storage.uri)
    reader = Reader(storage, table.view())
    wanted = [KeyRange.prefix("ab$000")]
    assert _as_dict(reader.lookup("record_index", wanted, within="ab"))
    shard = shard_of("ab", SHARDS)
    shard_slice = table.view().partitions["record_index"][shard]
    assert set(opened) == {file.path for file in shard_slice.files}
    # The footer and at most two row groups of the base file; then everything is remembered.
    assert shard_slice.base is not None
    assert opened.count(shard_slice.base.path) <= 3
    before = len(opened)
    assert _as_dict(reader.lookup("record_index", wanted, within="ab"))
    assert len(opened) == before


def test_lookup_with_columns_returns_key_and_only_them(table: MetadataTable) -> None:
    found = table.reader().lookup("record_index", [KeyRange.prefix("a$")], columns=["type"])
    assert found.column_names == ["key", "type"]
    assert found.num_rows


def test_lookup_in_unknown_partition_finds_nothing(table: MetadataTable) -> None:
    found = table.reader().lookup("nothing", [KeyRange.all()])
    assert found.num_rows == 0
    assert "key" in found.column_names


def test_scan_by_shard_returns_sorted_parts_of_the_whole(
    table: MetadataTable, content: dict[str, str]
) -> None:
    reader = table.reader()
    parts = [reader.scan("record_index", shard=shard).read_all() for shard in range(SHARDS)]
    for part in parts:
        keys = part.column("key").to_pylist()
        assert keys == sorted(keys)  # type: ignore[type-var]  # no null among them
    assert {key: value for part in parts for key, value in _as_dict(part).items()} == content


def test_reader_opened_before_a_commit_keeps_its_view(tmp_path: Path) -> None:
    path, clock = tmp_path / "mdt", Clock()
    open_table(path, clock).create()
    operations.create_partition("files", 1, Change({"a$1": "1"}), as_base=True)(path, clock)
    reader = open_table(path, clock).reader()
    operations.maintain({"files": Change({"a$1": "2"})})(path, clock)
    operations.compact()(path, clock)
    assert _as_dict(reader.lookup("files", [KeyRange.all()])) == {"a$1": "1"}
    assert _as_dict(open_table(path, clock).reader().lookup("files", [KeyRange.all()])) == {"a$1": "2"}


def test_write_base_with_unsorted_or_repeated_keys_is_refused(tmp_path: Path) -> None:
    table = open_table(tmp_path / "mdt", Clock())
    table.create()
    with table.begin(shards={"files": 1}) as transaction:
        for keys in (["b", "a"], ["a", "a"]):
            with pytest.raises(ValueError, match="not sorted by key, or a key stands twice"):
                transaction.writer.write_base("files", 0, [pa.table({"key": keys})])
        with pytest.raises(ValueError, match="not sorted"):
            transaction.writer.write_base("files", 0, [entries_of({"b": "1"}), entries_of({"a": "1"})])
        with pytest.raises(ValueError, match="stands twice"):
            transaction.writer.write_log("files", 0, upserts=entries_of({"a": "1"}), deletes=pa.array(["a"]))


def test_shard_with_only_empty_logs_scans_and_compacts(tmp_path: Path) -> None:
    path, clock = tmp_path / "mdt", Clock()
    table = open_table(path, clock)
    table.create()
    operations.create_partition("files", 1, Change({"a$1": "1"}), as_base=True)(path, clock)
    for _ in range(2):
        with table.begin() as transaction:
            transaction.add([transaction.writer.write_log("files", 0)])
            transaction.commit()
    assert ours(table) == {"files": {"a$1": "1"}}
    assert _as_dict(table.reader().lookup("files", [KeyRange.all()])) == {"a$1": "1"}
    table.compact(force=True)
    assert agreed(path, clock) == {"files": {"a$1": "1"}}
