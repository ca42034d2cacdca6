"""The record index: keys by text, owners by number, and what it leaves unanswered."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from hudi_index.entries.keys import lookup_part
from hudi_index.kind_parts.record_keys import encode_ordering, record_key_parts
from hudi_index.kinds import IndexKind, describe, kind_of
from hudi_index.kinds.record_index import RecordIndex
from hudi_index.predicate.values.condition import Condition, Constraint, Term
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table import RECORD_KEY
from tests.engine.kinds.laws import IndexKindLaws, content_of, entries_of, prune, question_of, read_from
from tests.engine.kinds.rows import (
    ORDERING,
    RECORD_KEYS,
    Row,
    batches_of,
    candidates_of,
    definition_of,
    domains_of,
    kind_over,
    on,
    slice_of,
)

PLAIN = kind_over("record_index", "id")


class TestLaws(IndexKindLaws):
    columns = ("number",)
    is_exact = True

    def kind(self, column: str) -> IndexKind:
        return PLAIN

    def domains(self, column: str) -> st.SearchStrategy[Domain]:
        return domains_of(st.sampled_from(RECORD_KEYS) | st.text(max_size=2), has_prefixes=True)

    def constraint(self, column: str, condition: Condition) -> Constraint:
        return on(RECORD_KEY, condition)

    def matches(self, column: str, condition: Condition) -> Callable[[Row], bool]:
        return lambda row: condition.contains(row.record_key)


class TestPartitionedLaws(TestLaws):
    def kind(self, column: str) -> IndexKind:
        return partitioned()


def partitioned() -> RecordIndex:
    kind = kind_over("record_index", "id", partitioned="true")
    assert isinstance(kind, RecordIndex)
    return kind


def over_field(data_type: pa.DataType) -> IndexKind:
    definition = definition_of("record_index", "id")
    return kind_of(definition, {"id": data_type}, record_key_field="id")


def kept(
    kind: IndexKind, constraint: Constraint, *rows: list[Row], left: Sequence[bool] | None = None
) -> set[int]:
    """The places of the file groups that are kept, all of them left or some."""
    table = [slice_of(place, each) for place, each in enumerate(rows)]
    question = kind.ask(constraint, candidates_of(table, left))
    assert question is not None
    refuted = question.refute(read_from(kind, entries_of(kind, "number", table), question)).tolist()
    return {place for place, is_refuted in enumerate(refuted) if not is_refuted}


@pytest.mark.parametrize("is_partitioned", [False, True])
def test_parts_of_rows_are_what_the_keys_of_their_entries_begin_with(is_partitioned: bool) -> None:
    kind = partitioned() if is_partitioned else PLAIN
    for place in range(3):
        file_slice = slice_of(place, [Row(key, number) for number, key in enumerate(RECORD_KEYS)])
        entries = entries_of(kind, "number", [file_slice])
        record_keys = pa.array(RECORD_KEYS)
        path = file_slice.context.group.partition_path
        parts = record_key_parts(record_keys, pa.array([path] * len(record_keys)) if is_partitioned else None)
        assert {lookup_part(str(key), 1) for key in entries.column("key").to_pylist()} == set(
            parts.to_pylist()
        )


def test_parts_of_rows_without_record_key_or_partition_path_are_refused() -> None:
    with pytest.raises(ValueError, match="1 of 2 rows have no record key"):
        record_key_parts(pa.array(["a", None]))
    with pytest.raises(ValueError, match="1 of 1 rows have no partition path"):
        record_key_parts(pa.array(["a"]), pa.array([None], pa.string()))


def test_parts_in_the_partition_of_an_unpartitioned_table_and_in_one_named_like_it() -> None:
    parts = record_key_parts(pa.array(["a", "a", "$"]), pa.array(["", ".", "x$"]))
    assert parts.to_pylist() == [".$a", "%2E$a", "x%24$%24"]


def test_ordering_values_are_encoded_in_their_order() -> None:
    batch = pa.record_batch({"a": [2, 10, -1, 2], "b": ["x", "a", "z", "y"]})
    encoded = encode_ordering(batch, ["a", "b"]).to_pylist()
    assert sorted(range(4), key=lambda row: encoded[row] or "") == [2, 0, 3, 1]
    assert encode_ordering(batch, []).null_count == 4


@pytest.mark.parametrize("data_type", [pa.float32(), pa.float64()])
def test_ordering_values_of_doubles_are_in_javas_order(data_type: pa.DataType) -> None:
    rising = [None, -math.inf, -1e-40, -0.0, 0.0, 1e-40, math.inf, math.nan]
    encoded = encode_ordering(pa.record_batch({"a": pa.array(rising, data_type)}), ["a"]).to_pylist()
    assert len(set(encoded)) == len(rising)
    assert encoded == sorted(encoded, key=str)
    assert encode_ordering(pa.record_batch({"a": pa.array([-math.nan])}), ["a"]).to_pylist() == encoded[-1:]


def test_ordering_values_of_a_wider_type_are_in_order_with_those_of_the_table() -> None:
    known = pa.record_batch({"a": pa.array([5, 2**31 - 1], pa.int32())})
    wider = pa.record_batch({"a": pa.array([5, 2**31], pa.int64())})
    five, largest = encode_ordering(known, ["a"])
    same, larger = encode_ordering(wider, ["a"], {"a": pa.int32()})
    assert same == five
    assert larger.as_py() > largest.as_py()


def test_keys_end_with_the_number_of_the_file_group() -> None:
    file_slice = slice_of(0, [Row("k$1", 1)])

    assert list(content_of(PLAIN, describe(PLAIN, file_slice.context, batches_of(file_slice, "number")))) == [
        "k%241$1"
    ]


def test_keys_of_a_partitioned_index_begin_with_the_partition() -> None:
    kind = partitioned()
    file_slices = [slice_of(2, [Row("k", 1)]), slice_of(3, [Row("k", 1)])]

    assert list(content_of(kind, entries_of(kind, "number", file_slices))) == ["a%24b=%2524$k$111", ".$k$2"]


def test_a_repeated_record_key_keeps_its_largest_ordering_value() -> None:
    rows = [
        Row("k", 1, 2, "07"),
        Row("k", 1, 5, "01"),
        Row("k", 1, None, "09"),
        Row("k", 1, 5, "03"),
        Row("l", 1),
    ]
    file_slice = slice_of(0, rows)

    entries = content_of(PLAIN, describe(PLAIN, file_slice.context, batches_of(file_slice, "number")))

    assert entries["k$1"]["recordIndexMetadata"] == {"orderingValue": f"8{5:015x}", "instantTime": "03"}
    assert entries["l$1"]["recordIndexMetadata"]["orderingValue"] == "!"


def test_several_ordering_fields_are_joined() -> None:
    kind = kind_of(definition_of("record_index", "id"), {}, (ORDERING, "number"))
    file_slice = slice_of(0, [Row("k", 3, 2)])

    (entry,) = content_of(kind, describe(kind, file_slice.context, batches_of(file_slice, "number"))).values()

    assert entry["recordIndexMetadata"]["orderingValue"] == f"8{2:015x}$8{3:015x}"


def test_a_table_without_commit_times_has_entries_without_them() -> None:
    file_slice = slice_of(0, [Row("k", 1)])
    batches = [batch.drop_columns(["_hoodie_commit_time"]) for batch in batches_of(file_slice, "number")]

    (entry,) = content_of(PLAIN, describe(PLAIN, file_slice.context, batches)).values()

    assert entry["recordIndexMetadata"]["instantTime"] is None


def test_a_record_key_in_two_file_groups_keeps_both() -> None:
    wanted = on(RECORD_KEY, Domain.points(["k"]))

    assert kept(PLAIN, wanted, [Row("k", 1)], [Row("k", 2), Row("l", 1)], [Row("l", 1)]) == {0, 1}


# A8, #10955: IN on a column that is not the key was answered as if it were.
def test_constraints_on_other_columns_are_not_answered() -> None:
    for term in ("number", "id", "idx"):
        constraint = on(term, Domain.points(["k"]))
        entries = entries_of(PLAIN, "number", [slice_of(0, [Row("l", 1)])])
        assert question_of(PLAIN, constraint) is None
        assert not prune(PLAIN, constraint, entries, [slice_of(0, [])])


# A9, #12234: a composite key is one text; its fields alone are not answered.
def test_a_composite_key_is_answered_as_a_whole() -> None:
    assert kept(
        PLAIN, on(RECORD_KEY, Domain.points(["id:1,b:2"])), [Row("id:1,b:2", 1)], [Row("id:1,b:3", 1)]
    ) == {0}
    assert question_of(PLAIN, on("id", Domain.points(["1"]))) is None


def test_the_key_field_is_answered_where_the_record_key_is_its_text() -> None:
    rows = [Row("9", 1)], [Row("10", 1)], [Row("11", 1)]

    assert kept(over_field(pa.string()), on("id", Domain.of([Range.above("10")])), *rows) == {0, 2}
    assert kept(over_field(pa.int64()), on("id", Domain.points([10, 11])), *rows) == {1, 2}


@pytest.mark.parametrize(
    ("data_type", "domain"),
    [
        (pa.int64(), Domain.of([Range.above(9)])),
        (pa.int64(), Domain.points(["9"])),
        (pa.int64(), Domain.points([True])),
        (pa.int64(), Domain.points([9.0])),
        (pa.int64(), Domain.null()),
        (pa.string(), Domain.null()),
        (pa.string(), Domain.points([9])),
        (pa.float64(), Domain.points([9.0])),
        (pa.timestamp("us"), Domain.points([9])),
    ],
)
def test_what_the_key_field_leaves_unanswered(data_type: pa.DataType, domain: Domain) -> None:
    assert question_of(over_field(data_type), Constraint(Term("id"), domain)) is None


def test_a_partitioned_index_refutes_only_where_it_looked() -> None:
    kind, wanted = partitioned(), on(RECORD_KEY, Domain.points(["k"]))
    rows = [Row("l", 1)], [Row("k", 1)], [Row("l", 1)], [Row("l", 1)]

    for left, expected in (
        ([True, True, False, False], {1, 2, 3}),
        ([True, False, False, True], {1, 2}),
        ([False, False, False, False], {0, 1, 2, 3}),
    ):
        assert kept(kind, wanted, *rows, left=left) == expected


# A16, #19013: with several record keys, each was looked for in the first one's shard.
def test_each_wanted_key_names_its_own_shard() -> None:
    constraint = on(RECORD_KEY, Domain.points(["k", "l", "x" * 1500]))
    for kind in (PLAIN, partitioned()):
        lookup = question_of(kind, constraint, [slice_of(0, []), slice_of(3, [])])
        assert lookup is not None
        for part, each in lookup.ranges:
            assert lookup_part(f"{each.low}7", kind.key_tail) == part


def columns_of(kinds: Collection[IndexKind]) -> set[tuple[str, ...]]:
    return {kind.columns for kind in kinds}


def test_columns() -> None:
    assert columns_of([PLAIN, partitioned()]) == {(ORDERING, "_hoodie_commit_time")}
