"""Settling and tagging, pure Arrow, against what a reader of the rules would do with dictionaries."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.writer.locations import LOCATED
from hudi_index.writer.report import TagCounts
from hudi_index.writer.tags import ARRIVAL, DELETED, META, OPERATION, Rows, settle, tag_rows

KEYS = ("a", "b", "ä", "", "a$1")
PATHS = ("", "p", "q")
# Encoded values are texts whose order is that of the values.
ORDERINGS = ("!", "1", "12", "2")


@dataclass(frozen=True)
class Row:
    """A row of a batch."""

    key: str
    path: str
    ordering: str
    deletes: bool
    value: int


@dataclass(frozen=True)
class Place:
    """Where a record stands."""

    path: str
    name: str
    ordering: str | None


row = st.builds(
    Row,
    st.sampled_from(KEYS),
    st.sampled_from(PATHS),
    st.sampled_from(ORDERINGS),
    st.booleans(),
    st.integers(0, 9),
)
place = st.builds(
    Place, st.sampled_from(PATHS), st.sampled_from("fgh"), st.none() | st.sampled_from(ORDERINGS)
)
# Of a key at most one record in each file group.
places = st.dictionaries(
    st.sampled_from(KEYS), st.lists(place, max_size=3, unique_by=lambda each: (each.path, each.name))
)


def as_rows(given_rows: list[Row], *, has_ordering: bool) -> Rows:
    texts: Any = pa.string()
    columns: dict[str, Any] = {
        META[0]: pa.array(["0" for _ in given_rows], texts),
        META[1]: pa.array(["" for _ in given_rows], texts),
        META[2]: pa.array([each.key for each in given_rows], texts),
        META[3]: pa.array([each.path for each in given_rows], texts),
        META[4]: pa.array(["" for _ in given_rows], texts),
        "value": pa.array([each.value for each in given_rows], pa.int64()),
        DELETED: pa.array([each.deletes for each in given_rows], pa.bool_()),
        ARRIVAL: pa.array(range(len(given_rows)), pa.int64()),
    }
    ordering: Any = pa.array([each.ordering for each in given_rows], texts)
    return Rows(pa.table(columns), ordering if has_ordering else None)


def as_located(given_rows: list[Row], known: dict[str, list[Place]], *, has_ordering: bool) -> pa.Table:
    found = [
        {
            "position": position,
            "path": each.path,
            "name": each.name,
            "instant": "1",
            "ordering": each.ordering if has_ordering else None,
        }
        for position, row in enumerate(given_rows)
        for each in known.get(row.key, ())
    ]
    return pa.Table.from_pylist(found, schema=LOCATED)


def settled_by_hand(given_rows: list[Row], *, by_partition: bool, has_ordering: bool) -> list[Row]:
    best: dict[tuple[str, ...], tuple[str, int]] = {}
    for position, each in enumerate(given_rows):
        key = (each.key, each.path) if by_partition else (each.key,)
        mine = (each.ordering if has_ordering else "", position)
        best[key] = max(best.get(key, mine), mine)
    return [given_rows[position] for position in sorted(position for _, position in best.values())]


def tagged_by_hand(
    given_rows: list[Row], known: dict[str, list[Place]], *, has_ordering: bool
) -> tuple[Counter[tuple[Any, ...]], dict[str, int]]:
    """Rows that Hudi is to get (operation, key, path, file name, value), and what is counted."""
    written: Counter[tuple[Any, ...]] = Counter()
    counts = dict.fromkeys(("inserted", "updated", "moved", "deleted", "late", "absent"), 0)
    for each in given_rows:
        standing = known.get(each.key, [])
        newer = [
            at for at in standing if has_ordering and at.ordering is not None and at.ordering > each.ordering
        ]
        older = [at for at in standing if at not in newer]
        counts["late"] += bool(newer)
        if not standing:
            if each.deletes:
                counts["absent"] += 1
            else:
                counts["inserted"] += 1
                written["I", each.key, each.path, None, each.value] += 1
            continue
        for at in older:
            is_here = at.path == each.path
            operation = "U" if is_here and not each.deletes else "D"
            written[operation, each.key, at.path, at.name, each.value] += 1
            counts["updated"] += operation == "U"
            counts["deleted"] += each.deletes
        stays = newer or any(at.path == each.path for at in standing)
        if older and not stays and not each.deletes:
            written["I", each.key, each.path, None, each.value] += 1
            counts["moved"] += 1
    return written, counts


def check_settle(given_rows: list[Row], *, by_partition: bool, has_ordering: bool) -> None:
    found = settle(as_rows(given_rows, has_ordering=has_ordering), by_partition=by_partition)
    expected = settled_by_hand(given_rows, by_partition=by_partition, has_ordering=has_ordering)
    kept = as_rows(expected, has_ordering=has_ordering)
    assert found.table.drop_columns([ARRIVAL]).to_pylist() == kept.table.drop_columns([ARRIVAL]).to_pylist()
    if found.ordering is not None:
        assert found.ordering.to_pylist() == [each.ordering for each in expected]


def check_tags(given_rows: list[Row], known: dict[str, list[Place]], *, has_ordering: bool) -> None:
    rows = list({each.key: each for each in given_rows}.values())  # as settled: one of each key
    counts = TagCounts()
    tables = tag_rows(
        as_rows(rows, has_ordering=has_ordering), as_located(rows, known, has_ordering=has_ordering), counts
    )
    expected, expected_counts = tagged_by_hand(rows, known, has_ordering=has_ordering)
    names = (OPERATION, META[2], META[3], META[4], "value")
    written = Counter(tuple(each[name] for name in names) for table in tables for each in table.to_pylist())
    assert written == expected
    assert {name: getattr(counts, name) for name in expected_counts} == expected_counts
    # What Hudi takes for a location has both, and an insert neither.
    for each in (each for table in tables for each in table.to_pylist()):
        assert (each[META[0]] is None) == (each[META[4]] is None) == (each[OPERATION] == "I")


@given(rows=st.lists(row, max_size=12), by_partition=st.booleans(), has_ordering=st.booleans())
def test_settles_as_the_rules_say(rows: list[Row], by_partition: bool, has_ordering: bool) -> None:
    check_settle(rows, by_partition=by_partition, has_ordering=has_ordering)


@given(rows=st.lists(row, max_size=8), known=places, has_ordering=st.booleans())
def test_tags_as_the_rules_say(rows: list[Row], known: dict[str, list[Place]], has_ordering: bool) -> None:
    check_tags(rows, known, has_ordering=has_ordering)


@pytest.mark.slow
@settings(max_examples=5000)
@given(rows=st.lists(row, max_size=30), known=places, by_partition=st.booleans(), has_ordering=st.booleans())
def test_many_batches_are_settled_and_tagged_as_the_rules_say(
    rows: list[Row], known: dict[str, list[Place]], by_partition: bool, has_ordering: bool
) -> None:
    check_settle(rows, by_partition=by_partition, has_ordering=has_ordering)
    check_tags(rows, known, has_ordering=has_ordering)


def test_no_key_is_written_to_two_partitions_and_none_of_a_stale_place_stays() -> None:
    """A row that stands at an old place and at its own leaves the one and updates the other."""
    rows = [Row("a", "p", "2", deletes=False, value=1)]
    known = {"a": [Place("p", "f", "1"), Place("q", "g", "1")]}
    written, _ = tagged_by_hand(rows, known, has_ordering=True)
    assert written == {("U", "a", "p", "f", 1): 1, ("D", "a", "q", "g", 1): 1}
    check_tags(rows, known, has_ordering=True)


@pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
def test_all_that_a_task_gives_is_of_one_schema(text: pa.DataType) -> None:
    """Spark sends large texts where `spark.sql.execution.arrow.useLargeVarTypes` is on."""
    given_rows = [Row("a", "p", "2", deletes=False, value=1), Row("b", "p", "2", deletes=False, value=1)]
    located = as_located(given_rows, {"a": [Place("q", "f", "1")]}, has_ordering=False)
    made = as_rows(given_rows, has_ordering=False)
    fields = [
        pa.field(each.name, text if each.type == pa.string() else each.type) for each in made.table.schema
    ]
    rows = Rows(made.table.cast(pa.schema(fields)), None)
    inserted, updated, left = tag_rows(settle(rows, by_partition=True), located, TagCounts())
    assert (len(inserted), len(updated), len(left)) == (2, 0, 1)
    assert inserted.schema == updated.schema == left.schema
