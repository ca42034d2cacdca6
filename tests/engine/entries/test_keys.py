"""Laws of the key grammar: keys split one way, sort by their parts, name their owner and fall into ranges."""

from __future__ import annotations

import math
import zlib

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_index.entries import (
    NULL,
    OWNER_PARTS,
    PARTITION_PARTS,
    SEPARATOR,
    decode_text,
    encode_array,
    encode_value,
    encode_values,
    join_key,
    join_keys,
    lookup_part,
    owner_suffix,
    partition_part,
    shard_of,
    shards_of,
    split_key,
    successor,
)

FILE_ID = "2aa10971-11b2-41b3-9baf-ab33c0000144-0"
HOSTILE = [
    "",
    "!",
    "$",
    "%",
    "%24",
    "$!$",
    "a",
    "a$",
    "a!",
    ".",
    "..",
    "%2E",
    "\0",
    "é",
    "\U0010ffff",
    "a/b=c d",
    "x" * 5000,
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(alphabet=st.sampled_from('\0 !"#$%&.a/é\U0001f600\U0010ffff'), max_size=5),
)
owners = st.builds(owner_suffix, texts, texts)
"""As keys end with them."""
numbers = st.none() | st.integers(-(2**63), 2**63 - 1)
doubles = st.none() | st.floats()


def ranked(value: object) -> tuple[object, ...]:
    """Spark's ascending order: null first, NaN last, text by its bytes."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, math.isnan(value), 0.0 if math.isnan(value) else value + 0.0)
    return (1, value.encode() if isinstance(value, str) else value)


def is_within(key: str, start: str, stop: str | None) -> bool:
    return start.encode() <= key.encode() and (stop is None or key.encode() < stop.encode())


def test_owner_ends_a_key_by_partition_path_and_file_id() -> None:
    assert owner_suffix("20250401", FILE_ID) == f"20250401${FILE_ID}"
    assert owner_suffix("city=são paulo/day=1", FILE_ID) == f"city=são%20paulo/day=1${FILE_ID}"
    assert owner_suffix("", FILE_ID) == f".${FILE_ID}"
    assert owner_suffix(".", FILE_ID) == f"%2E${FILE_ID}"


@given(st.lists(texts, max_size=3), texts, texts)
@example([], "", "f")
@example([], ".", "f")
def test_key_splits_into_the_parts_that_it_was_made_of(values: list[str], path: str, file_id: str) -> None:
    *parts, partition, file = split_key(
        join_key(*encode_values(values, pa.string()), owner_suffix(path, file_id))
    )
    assert [decode_text(part) for part in parts] == values
    assert partition == partition_part(path)
    assert decode_text(file) == file_id


@given(texts, texts)
def test_partition_paths_that_differ_have_parts_that_differ(left: str, right: str) -> None:
    assert (partition_part(left) == partition_part(right)) == (left == right)


@given(st.lists(st.tuples(texts, texts, owners), min_size=2, max_size=6))
@example([("a", "b$c", owner_suffix("", "f")), ("a$b", "c", owner_suffix("", "f"))])
@example([("a", "", owner_suffix("b", "f")), ("a", "b", owner_suffix("", "f"))])
def test_keys_of_hostile_texts_never_collide(rows: list[tuple[str, str, str]]) -> None:
    keys = {join_key(*encode_values([value, key], pa.string()), owner) for value, key, owner in rows}
    assert len(keys) == len(set(rows))


@given(st.lists(st.tuples(numbers, st.none() | texts, doubles, st.none() | texts), min_size=2, max_size=6))
def test_keys_of_many_columns_sort_column_by_column(rows: list[tuple[object, ...]]) -> None:
    column_types = [pa.int64(), pa.string(), pa.float64(), pa.string()]
    columns = [
        encode_array(pa.array([row[place] for row in rows], data_type))
        for place, data_type in enumerate(column_types)
    ]
    keys = [key.encode() for key in join_keys([*columns, "f"]).to_pylist()]  # type: ignore[union-attr]  # no null among them
    by_rank = sorted(range(len(rows)), key=lambda row: [ranked(value) for value in rows[row]])
    assert [keys[row] for row in by_rank] == sorted(keys)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=5), owners)
def test_keys_joined_by_array_equal_keys_joined_one_by_one(rows: list[tuple[str, str]], owner: str) -> None:
    columns = [encode_array(pa.array([row[place] for row in rows], pa.string())) for place in (0, 1)]
    expected = [join_key(*encode_values(list(row), pa.string()), owner) for row in rows]
    assert join_keys([*columns, owner]).to_pylist() == expected


@given(texts, texts, owners)
def test_lookup_part_of_each_grammar_is_what_a_look_up_knows(value: str, record_key: str, owner: str) -> None:
    encoded, encoded_key = encode_values([value, record_key], pa.string())
    secondary = join_key(encoded, encoded, encoded_key, owner)
    assert lookup_part(owner, 0) == owner
    assert lookup_part(join_key(encoded, owner), OWNER_PARTS) == encoded
    assert lookup_part(secondary, 1 + OWNER_PARTS) == join_key(encoded, encoded)
    assert lookup_part(join_key(encoded, partition_part(value)), PARTITION_PARTS) == encoded
    for tail in (0, PARTITION_PARTS, OWNER_PARTS, 1 + OWNER_PARTS):
        assert shards_of(pa.array([secondary]), 1000, tail) == [shard_of(lookup_part(secondary, tail), 1000)]


@given(st.lists(texts, max_size=6), st.integers(1, 1000))
def test_shards_of_an_array_equal_shards_one_by_one(values: list[str], shards: int) -> None:
    found = shards_of(pa.array(values, pa.string()), shards).tolist()
    assert found == [shard_of(value, shards) for value in values]
    assert all(0 <= shard < shards for shard in found)


@given(st.lists(st.lists(texts, min_size=3, max_size=5), max_size=6))
def test_shards_of_keys_with_any_number_of_parts(rows: list[list[str]]) -> None:
    keys = [join_key(*encode_values(parts, pa.string())) for parts in rows]
    for tail in (0, 1, 2):
        found = shards_of(pa.array(keys, pa.string()), 1000, tail).tolist()
        assert found == [shard_of(lookup_part(key, tail), 1000) for key in keys]


def test_shard_of_a_lookup_is_its_crc() -> None:
    assert shard_of("123456789", 2**32) == 0xCBF43926 == zlib.crc32(b"123456789")
    assert len({shard_of(f"{number:016x}", 16) for number in range(1000)}) == 16


@given(texts, texts)
@example("a\U0010ffff", "")
@example("\ud7ff", "\U0010ffff")
@example("\U0010ffff", "a")
@example("", "\U0010ffff")
def test_successor_of_a_prefix_bounds_exactly_what_begins_with_it(prefix: str, other: str) -> None:
    stop = successor(prefix)
    assert is_within(prefix + other, prefix, stop)
    assert is_within(other, prefix, stop) == other.startswith(prefix)
    if stop is not None:
        stop.encode()


def test_successor_at_the_end_of_the_code_points_shortens_or_ends() -> None:
    assert successor("a$") == "a%"
    assert successor("a\U0010ffff\U0010ffff") == "b"
    assert successor("\ud7ff") == "\ue000"
    assert successor("\U0010ffff") is None
    assert successor("") is None


@given(st.none() | texts, texts, owners, st.sampled_from(["", f"fare{SEPARATOR}"]))
@example("", "", owner_suffix("", "f"), "")
@example(None, "", owner_suffix("", "f"), "")
@example("a!", "a", owner_suffix("", "f"), "")
def test_ranges_of_each_predicate_hold_exactly_the_matching_keys(
    stored: str | None, literal: str, owner: str, p: str
) -> None:
    key = p + join_key(encode_value(stored, pa.string()), owner)
    v = p + encode_value(literal, pa.string()) + SEPARATOR
    after_null, after_v, end = successor(p + NULL), successor(v), successor(p)
    assert after_null is not None
    assert after_v is not None
    known = stored is not None
    order = (stored or "").encode()
    limit = literal.encode()
    prefix = p + encode_value(literal, pa.string())
    is_null = is_within(key, p + NULL, after_null)
    assert is_null == (not known)
    assert is_within(key, after_null, end) == known
    assert is_within(key, v, after_v) == (known and order == limit)
    assert is_within(key, after_null, v) == (known and order < limit)
    assert is_within(key, after_null, after_v) == (known and order <= limit)
    assert is_within(key, after_v, end) == (known and order > limit)
    assert is_within(key, v, end) == (known and order >= limit)
    assert (is_within(key, prefix, successor(prefix)) and not is_null) == (known and order.startswith(limit))
