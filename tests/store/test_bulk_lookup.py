"""Many keys at once: what is found against the reader, one range after the other, and the work it takes."""

from __future__ import annotations

import pickle
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.entries.keys import lookup_part, shards_of
from hudi_index.entries.ranges import KeyRange
from hudi_index.kind_parts.record_keys import record_key_parts
from hudi_index.metadata_table import base_file
from hudi_index.metadata_table.bulk_lookup import BulkLookup, Found, LookupCounts
from hudi_index.metadata_table.reader import Reader, ReaderCache, shared_cache
from tests.store.support import Change, Clock, entries_of, open_table

if TYPE_CHECKING:
    from pathlib import Path

    from hudi_index.metadata_table.table import MetadataTable

SHARDS = 3
PARTITION, PAYLOAD, FIELD = "record_index", "recordIndexMetadata", "orderingValue"
RECORD_KEYS = [
    *(
        "",
        "a",
        "ab",
        "a$",
        "a$1",
        "a$1$2",
        "$",
        "$$",
        "1",
        "12",
        "a:",
        "a%",
        "a#",
        "a%24",
        "é",
        "𝄞",
        "\uffff",
    ),
    *(f"key {place:03d}" for place in range(40)),
    "long" + "x" * 5000,
]
PARTITION_PATHS = ["", ".", "a", "a$1", "é/b"]
PARTS: list[Any] = record_key_parts(pa.array(RECORD_KEYS)).to_pylist()
PARTITIONED_PARTS: list[Any] = record_key_parts(
    pa.array([key for _ in PARTITION_PATHS for key in RECORD_KEYS]),
    pa.array([path for path in PARTITION_PATHS for _ in RECORD_KEYS]),
).to_pylist()
# Statistics end at 4 kB: a row group of such keys alone has no bounds.
HUGE = [f"{name}" + "y" * 5000 for name in ("b", "z")]
ALL_PARTS = [*PARTS, *PARTITIONED_PARTS, *HUGE]
NUMBERS = [0, 1, 7, 10, 12, 123_456_789]

keys_of_table = st.tuples(st.sampled_from(ALL_PARTS), st.sampled_from(NUMBERS)).map(
    lambda each: f"{each[0]}${each[1]}"
)


def write(table: MetadataTable, change: Change, *, as_base: bool) -> None:
    with table.begin(shards={PARTITION: SHARDS} if as_base else None) as transaction:
        where = dict(zip(change.upserts, shards(list(change.upserts)), strict=True))
        gone = dict(zip(change.deletes, shards(list(change.deletes)), strict=True))
        for shard in range(SHARDS):
            upserts = entries_of({key: change.upserts[key] for key in sorted(where) if where[key] == shard})
            deletes = pa.array([key for key in gone if gone[key] == shard], pa.string())
            writer = transaction.writer
            if as_base:
                transaction.add([writer.write_base(PARTITION, shard, [upserts])])
            elif upserts.num_rows or len(deletes):
                transaction.add([writer.write_log(PARTITION, shard, upserts=upserts, deletes=deletes)])
        transaction.commit()


def shards(keys: list[str]) -> list[int]:
    return shards_of(pa.array(keys, pa.string()), SHARDS, 1).tolist() if keys else []


def make_table(path: Path, base: dict[str, str], *changes: Change, rows_per_group: int = 4) -> MetadataTable:
    table = open_table(path, Clock())
    table.create()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(base_file, "ROWS_PER_GROUP", rows_per_group)
        write(table, Change(base), as_base=True)
    for change in changes:
        write(table, change, as_base=False)
    return table


def rows_of(found: Found) -> list[tuple[int, int, str | None]]:
    values: list[Any] = found.values.to_pylist()
    return sorted(zip(found.positions.tolist(), found.numbers.tolist(), values, strict=True))


def by_the_reader(table: MetadataTable, wanted: list[str]) -> list[tuple[int, int, str | None]]:
    reader = Reader(table.storage, table.view(), ReaderCache())
    ranges = [(part, KeyRange.prefix(f"{part}$")) for part in wanted]
    found: dict[str, list[tuple[int, str | None]]] = {}
    for row in reader.lookup_sharded(PARTITION, ranges, columns=[PAYLOAD]).to_pylist():
        number = int(row["key"].rpartition("$")[2])
        value = row[PAYLOAD][FIELD] if row[PAYLOAD] else None
        found.setdefault(lookup_part(row["key"], 1), []).append((number, value))
    return sorted((place, *each) for place, part in enumerate(wanted) for each in found.get(part, ()))


def find(table: MetadataTable, wanted: list[str], cache: ReaderCache | None = None) -> Found:
    lookup = BulkLookup(table.storage, table.view(), cache or ReaderCache())
    return lookup.find(PARTITION, pa.array(wanted, pa.string()), payload=PAYLOAD, field=FIELD)


@st.composite
def histories(draw: st.DrawFn) -> list[Change]:
    """A base and the changes of up to three commits."""
    found: list[Change] = []
    for age in range(draw(st.integers(1, 4))):
        upserts = draw(st.sets(keys_of_table, max_size=60 if age == 0 else 15))
        earlier = sorted(key for change in found for key in change.upserts)
        deletes = draw(st.sets(st.sampled_from(earlier), max_size=15)) if earlier and age else set()
        found.append(Change(dict.fromkeys(upserts, f"age {age}"), deletes - upserts))
    return found


wanted_parts = st.lists(
    st.sampled_from(ALL_PARTS) | st.text(st.characters(exclude_characters="\0")), max_size=60
)


def check_history(
    tmp_path_factory: pytest.TempPathFactory, history: list[Change], wanted: list[str], rows: int
) -> None:
    base, *changes = history
    path = tmp_path_factory.mktemp("bulk") / "mdt"
    table = make_table(path, base.upserts, *changes, rows_per_group=rows)
    # All that is there is asked for too, some of it twice.
    wanted = [*wanted, *(lookup_part(key, 1) for change in history for key in change.upserts)]
    expected, cache = by_the_reader(table, wanted), ReaderCache()
    assert rows_of(find(table, wanted, cache)) == expected
    again = find(table, wanted, cache)
    assert rows_of(again) == expected
    assert again.counts.row_groups == again.counts.payloads == 0
    # Nothing fits into this one.
    assert rows_of(find(table, wanted, ReaderCache(0))) == expected


@settings(max_examples=15)
@given(history=histories(), wanted=wanted_parts, rows=st.sampled_from([1, 3, 8]))
def test_finds_what_the_reader_finds(
    tmp_path_factory: pytest.TempPathFactory, history: list[Change], wanted: list[str], rows: int
) -> None:
    check_history(tmp_path_factory, history, wanted, rows)


@pytest.mark.slow
@settings(max_examples=1000)
@given(history=histories(), wanted=wanted_parts, rows=st.sampled_from([1, 3, 8]))
def test_finds_what_the_reader_finds_in_many_histories(
    tmp_path_factory: pytest.TempPathFactory, history: list[Change], wanted: list[str], rows: int
) -> None:
    check_history(tmp_path_factory, history, wanted, rows)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> MetadataTable:
    """All parts, each in two file groups, over many row groups; one of the two is gone for every third."""
    keys = sorted({f"{part}${number}" for part in ALL_PARTS for number in (1, 12)})
    gone = {f"{part}$12" for part in sorted(set(ALL_PARTS))[::3]}
    path = tmp_path_factory.mktemp("bulk") / "mdt"
    return make_table(path, dict.fromkeys(keys, "base"), Change({}, gone), rows_per_group=8)


def test_every_part_is_found_in_its_file_groups(table: MetadataTable) -> None:
    wanted = sorted(set(ALL_PARTS))
    found: dict[int, set[int]] = {}
    for place, number, value in rows_of(find(table, wanted)):
        found.setdefault(place, set()).add(number)
        assert value == "base"
    assert found == {place: {1} if place % 3 == 0 else {1, 12} for place in range(len(wanted))}


def test_what_begins_with_a_part_is_not_of_it(tmp_path: Path) -> None:
    keys = ["a$1$2", "a$b$3", "a$01", "a$1x", "a$", "a$%3", "a$12345678901234567890", "a$5"]
    table = open_table(tmp_path / "mdt", Clock())
    table.create()
    with table.begin(shards={PARTITION: 1}) as transaction:
        rows = entries_of(dict.fromkeys(sorted(keys), "x"))
        transaction.add([transaction.writer.write_base(PARTITION, 0, [rows])])
        transaction.commit()
    assert rows_of(find(table, ["a", "a$1", "", "a$b"])) == [(0, 5, "x"), (1, 2, "x"), (3, 3, "x")]


def test_counts_say_what_was_read(table: MetadataTable) -> None:
    cache, wanted = ReaderCache(), [part for part in PARTS if part.startswith("key")]
    first = find(table, wanted, cache).counts
    assert (first.keys, first.shards, first.cache_hits) == (len(wanted), SHARDS, 0)
    assert 0 < first.payloads <= first.row_groups
    second = find(table, wanted, cache).counts
    assert (second.row_groups, second.payloads) == (0, 0)
    assert second.cache_hits == first.row_groups + first.payloads
    total = LookupCounts()
    total.add(first)
    total.add(second)
    assert (total.keys, total.cache_hits) == (2 * len(wanted), second.cache_hits)
    assert total.seconds == first.seconds + second.seconds > 0


def test_parts_that_are_not_there_decode_no_payload(table: MetadataTable) -> None:
    found = find(table, ["key 0000", "nothing", "zz"])
    assert not len(found)
    assert found.counts.payloads == 0
    assert found.counts.row_groups <= 3


def test_a_row_group_is_decoded_once_for_all_its_parts(table: MetadataTable) -> None:
    view = table.view()
    groups = sum(-(-piece.base.entries // 8) for piece in view.slices(PARTITION) if piece.base)
    counts = find(table, sorted(ALL_PARTS) * 3).counts
    assert counts.row_groups == counts.payloads == groups


def test_without_a_field_no_payload_is_read(table: MetadataTable) -> None:
    found = BulkLookup(table.storage, table.view(), ReaderCache()).find(PARTITION, pa.array(PARTS))
    assert found.counts.payloads == 0
    assert found.values.null_count == len(found) > 0


def test_the_cache_of_the_process_is_that_of_all_lookups(table: MetadataTable) -> None:
    asked = pa.array(PARTS)
    first = BulkLookup(table.storage, table.view(), shared_cache()).find(PARTITION, asked)
    # As a worker gets it.
    storage, view = pickle.loads(pickle.dumps((table.storage, table.view().only(PARTITION))))
    second = BulkLookup(storage, view).find(PARTITION, asked)
    assert rows_of(second) == rows_of(first)
    assert second.counts.row_groups == 0
    assert second.counts.cache_hits == first.counts.row_groups


def test_a_table_made_anew_in_the_same_place_is_not_mistaken(tmp_path: Path) -> None:
    cache, found, names = ReaderCache(), [], []
    for value in ("1", "2"):
        other = make_table(tmp_path / "mdt", {"k$1": value})
        names.append({file.name for file in (tmp_path / "mdt" / PARTITION).iterdir()})
        found.append(rows_of(find(other, ["k"], cache)))
        shutil.rmtree(tmp_path / "mdt")
    assert names[0] == names[1]
    assert found == [[(0, 1, "1")], [(0, 1, "2")]]


def test_view_of_one_partition_has_nothing_of_others(table: MetadataTable) -> None:
    assert not table.view().only("nothing").partitions
    only = table.view().only(PARTITION)
    assert only.slices(PARTITION) == table.view().slices(PARTITION)
    assert only.state == table.view().state


def test_unknown_partition_or_no_parts_find_nothing(table: MetadataTable) -> None:
    lookup = BulkLookup(table.storage, table.view(), ReaderCache())
    for found in (lookup.find("nothing", pa.array(["a"])), lookup.find(PARTITION, pa.array([], pa.string()))):
        assert len(found) == len(found.numbers) == len(found.values) == 0


def test_parts_may_come_in_chunks_and_large(table: MetadataTable) -> None:
    lookup = BulkLookup(table.storage, table.view(), ReaderCache())
    whole = rows_of(lookup.find(PARTITION, pa.array(PARTS)))
    assert rows_of(lookup.find(PARTITION, pa.chunked_array([PARTS[:7], PARTS[7:]]))) == whole
    assert rows_of(lookup.find(PARTITION, pa.array(PARTS, pa.large_string()))) == whole
    assert rows_of(lookup.find(PARTITION, pa.array(["a", *PARTS]).slice(1))) == whole


@pytest.mark.parametrize(
    ("parts", "payload", "field", "message"),
    [
        (pa.array([1]), None, None, "texts without nulls, not int64"),
        (pa.array(["a", None]), None, None, "with 1 nulls"),
        (pa.array(["a\0b"]), None, None, "zero byte"),
        (pa.array(["a"]), PAYLOAD, None, "no field None"),
        (pa.array(["a"]), PAYLOAD, "nothing", "no field 'nothing'"),
        (pa.array(["a"]), "nothing", FIELD, "payload 'nothing'"),
        (pa.array(["a"]), "ColumnStatsMetadata", "nullCount", "no text"),
    ],
)
def test_bad_questions_are_refused(
    table: MetadataTable, parts: pa.Array[Any], payload: str | None, field: str | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        BulkLookup(table.storage, table.view()).find(PARTITION, parts, payload=payload, field=field)
