"""Secondary indexes: any type, null, composite keys, and the way back from owner to record keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.entries.keys import lookup_part
from hudi_index.kinds import IndexKind, Question, describe, diff_entries
from hudi_index.kinds.secondary_index import SecondaryIndex
from hudi_index.predicate.values.condition import Constraint
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table import RECORD_KEY, FileGroupId
from tests.engine.kinds.laws import (
    IndexKindLaws,
    content_of,
    entries_of,
    prune,
    question_of,
    read_from,
    refuted_by,
)
from tests.engine.kinds.rows import (
    GROUPS,
    Row,
    Slice,
    array_of,
    batches_of,
    candidates_of,
    domains,
    kind_over,
    on,
    rows_of,
    slice_of,
    starting_with,
    values,
)


class TestLaws(IndexKindLaws):
    is_exact = True

    def kind(self, column: str) -> IndexKind:
        return kind_over("secondary_index", column)


def composite() -> SecondaryIndex:
    kind = kind_over("secondary_index", "text", "number")
    assert isinstance(kind, SecondaryIndex)
    return kind


def together(
    kind: SecondaryIndex, constraints: list[Constraint], table: Sequence[Slice] = ()
) -> Question | None:
    """What is asked for several constraints, or for one."""
    if len(constraints) == 1:
        return question_of(kind, constraints[0], table)
    asked = kind.ask_together(constraints, candidates_of(table))
    if asked is None:
        return None
    assert set(asked[1]) == set(constraints)
    return asked[0]


def entries_by_group(kind: IndexKind, table: list[list[tuple[Any, Any]]]) -> pa.Table:
    """Entries of a composite index; rows are pairs of values."""
    found = []
    for place, rows in enumerate(table):
        batch = pa.RecordBatch.from_pydict(
            {
                RECORD_KEY: pa.array([f"key-{number}" for number in range(len(rows))], pa.string()),
                "text": array_of("text", [text for text, _ in rows]),
                "number": array_of("number", [number for _, number in rows]),
            }
        )
        found.append(describe(kind, slice_of(place, []).context, [batch]))
    return pa.concat_tables(found)


def refuted_at(column: str, domain: Domain, *groups: list[Any]) -> set[int]:
    table = [slice_of(place, rows_of(*each)) for place, each in enumerate(groups)]
    found = refuted_by(kind_over("secondary_index", column), column, table, domain)
    return {place for place, file_slice in enumerate(table) if file_slice.group in found}


def test_key_has_value_record_key_and_number() -> None:
    kind, file_slice = kind_over("secondary_index", "text"), slice_of(1, [Row("k$", "a b"), Row("l", None)])

    found = content_of(kind, describe(kind, file_slice.context, batches_of(file_slice, "text")))

    assert list(found) == ["a%20b$k%24$11", "!$l$11"]
    assert {entry["type"] for entry in found.values()} == {7}
    assert kind.partition == "secondary_index_idx"


def test_a_composite_key_has_a_part_per_column() -> None:
    found = entries_by_group(composite(), [[("a", 1), (None, None)]])

    assert found.column("key").to_pylist() == [f"a$8{1:015x}$key-0$1", "!$!$key-1$1"]
    parts = [lookup_part(key, composite().key_tail) for key in found.column("key").to_pylist()]  # type: ignore[arg-type]  # no null among them
    assert parts == [f"a$8{1:015x}", "!$!"]


def test_a_row_that_stands_twice_has_one_entry() -> None:
    kind = kind_over("secondary_index", "text")
    file_slice = slice_of(0, [Row("k", "a"), Row("k", "a"), Row("k", "b"), Row("l", "a")])

    found = describe(kind, file_slice.context, batches_of(file_slice, "text", [1, 2]))

    assert found.column("key").to_pylist() == ["a$k$1", "b$k$1", "a$l$1"]


# A11, #13605: nulls were not tracked.
def test_null_is_found_and_is_no_value() -> None:
    groups: list[list[Any]] = [[None, "a"], ["!"], [""], [None]]

    assert refuted_at("text", Domain.null(), *groups) == {1, 2}
    assert refuted_at("text", Domain.not_null(), *groups) == {3}
    assert refuted_at("text", Domain.points(["!"]), *groups) == {0, 2, 3}
    assert refuted_at("text", Domain.of([Range.below("a")]), *groups) == {0, 3}
    assert refuted_at("text", Domain.of([starting_with("")]), *groups) == {3}


# A12, #11575: an index without log files gave no candidates at all, and only "fewer files" was asserted.
def test_what_matches_is_kept() -> None:
    assert refuted_at("text", Domain.points(["a"]), ["a"], ["b"]) == {1}
    assert refuted_at("text", Domain.points(["a", "b"]), ["a"], ["b"]) == set()


# A1, #18791: prefixes.
def test_prefixes_are_ranges_of_keys() -> None:
    assert refuted_at("text", Domain.of([starting_with("p")]), ["p_00"], ["p"], ["o~", "q"], ["P"]) == {2, 3}


# With keys that don't name their owner, a moved record erases its live entry.
def test_a_record_that_moves_is_found_where_it_is() -> None:
    kind = kind_over("secondary_index", "text")
    before, after = (
        [slice_of(0, [Row("k", "a")]), slice_of(1, [])],
        [slice_of(0, []), slice_of(1, [Row("k", "a")])],
    )
    changes = [
        diff_entries(entries_of(kind, "text", [old]), entries_of(kind, "text", [new]))
        for old, new in zip(before, after, strict=True)
    ]

    assert [gone.to_pylist() for _, gone in changes] == [["a$k$1"], []]
    assert [new.column("key").to_pylist() for new, _ in changes] == [[], ["a$k$11"]]


@settings(max_examples=60)
@given(
    st.lists(
        st.lists(st.tuples(st.none() | values("text"), st.none() | values("number")), max_size=4),
        min_size=1,
        max_size=4,
    ),
    domains("text"),
    domains("number"),
    st.booleans(),
)
def test_no_row_is_lost_with_several_constraints(
    table: list[list[tuple[Any, Any]]], text: Domain, number: Domain, is_first_alone: bool
) -> None:
    kind = composite()
    constraints = [on("text", text)] if is_first_alone else [on("number", number), on("text", text)]
    covered = [slice_of(place, [Row("", None)] * len(rows)) for place, rows in enumerate(table)]
    question = together(kind, constraints, covered)
    assert question is not None
    entries = read_from(kind, entries_by_group(kind, table), question)

    gone = question.refute(entries).tolist()
    refuted = {file_slice.group for file_slice, is_gone in zip(covered, gone, strict=True) if is_gone}

    def matches(row: tuple[Any, Any]) -> bool:
        return text.contains(row[0]) and (is_first_alone or number.contains(row[1]))

    holding = {GROUPS[place][0] for place, rows in enumerate(table) if any(map(matches, rows))}
    assert not refuted & holding
    if all(each.is_point for each in text.ranges):
        is_exact = is_first_alone or all(each.is_point for each in number.ranges)
        assert not is_exact or refuted == {each.group for each in covered} - holding


def test_a_later_column_alone_is_not_answered() -> None:
    kind, wanted = composite(), on("number", Domain.points([1]))
    entries = entries_by_group(kind, [[("a", 2)]])
    covered = [slice_of(0, rows_of(1))]

    assert question_of(kind, wanted) is None
    assert together(kind, [wanted]) is None
    assert not prune(kind, wanted, entries, covered)


def test_a_whole_key_is_looked_for_in_its_shard_only() -> None:
    kind = composite()

    whole = together(
        kind,
        [on("text", Domain.points(["a", "b"])), on("number", Domain.of([Range.equal(1)], has_null=True))],
    )
    first = question_of(kind, on("text", Domain.points(["a"])))
    ranged = together(kind, [on("text", Domain.of([Range.above("a")])), on("number", Domain.points([1]))])

    assert whole is not None
    assert first is not None
    assert ranged is not None
    assert [part for part, _ in whole.ranges] == ["a$!", f"a$8{1:015x}", "b$!", f"b$8{1:015x}"]
    assert [part for part, _ in first.ranges] == [None]
    assert len(ranged.ranges) == 1


def test_many_combinations_are_not_spelled_out() -> None:
    kind, many = composite(), Domain.points(map(str, range(10_001)))
    lookup = together(kind, [on("text", many), on("number", Domain.points([1, 2]))])

    assert lookup is not None
    assert len(lookup.ranges) == 10_001


@pytest.mark.parametrize("long", ["x" * 5000, "$" * 334, "x" * 998 + " tail", "é" * 1001])
def test_long_values_are_told_apart(long: str) -> None:
    assert refuted_at("text", Domain.points([long]), [long], [long + "x"], [long[:-1]]) == {1, 2}
    # Where a bound is cut, ranges are wider; never narrower.
    for tail in "abcdefgh":
        assert 0 not in refuted_at("text", Domain.of([Range.above(long + tail)]), [long + "z"], ["a"])
        assert 0 not in refuted_at("text", Domain.of([Range.below(long + tail)]), [long + "!"], ["a"])
    assert 1 in refuted_at("text", Domain.of([Range.above(long)]), [long + "x"], ["\x01"])
    assert 0 not in refuted_at("text", Domain.of([Range.at_most(long)]), [long], ["z"])


def test_keys_stay_short() -> None:
    kind, file_slice = kind_over("secondary_index", "text"), slice_of(0, [Row("k" * 9000, "x" * 100_000)])
    (key,) = content_of(kind, describe(kind, file_slice.context, batches_of(file_slice, "text")))
    value, record_key, number = key.split("$")

    assert (len(value), len(record_key), number) == (1066, 1066, "1")
    assert value.startswith("x" * 1000 + "%~")


def test_numbers_that_end_alike_are_told_apart() -> None:
    kind = kind_over("secondary_index", "number")
    table = [slice_of(place, rows_of(1 if place == 1 else 2)) for place in range(3)]

    found = refuted_by(kind, "number", table, Domain.points([1]))

    assert found == {FileGroupId("2025/04/01", GROUPS[0][0].file_id), GROUPS[2][0]}
