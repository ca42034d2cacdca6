"""Leaving out rows that did not change gives the same difference of entries as describing all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.entries.schema import KEY
from hudi_index.kind_parts.changed import changed_rows
from hudi_index.kind_parts.diff import diff_entries
from hudi_index.kind_parts.protocol import SliceContext
from hudi_index.kind_parts.source import Source
from hudi_index.kind_specs import specs
from hudi_index.kinds.record_index import RecordIndex
from hudi_index.kinds.secondary_index import SecondaryIndex
from hudi_index.predicate.values.condition import Term
from hudi_index.table.record_keys import RECORD_KEY
from hudi_index.table.slices import FileGroupId

if TYPE_CHECKING:
    from hudi_index.kind_parts.protocol import IndexKind

_CONTEXT = SliceContext(FileGroupId("p", "f"), 7)
_FLOATS = st.sampled_from([0.0, -0.0, float("nan"), 1.5, float("-inf"), None])
_ROW = st.fixed_dictionaries(
    {
        # Few, so that keys come again: in the other state, and in the same one.
        RECORD_KEY: st.sampled_from(["a", "b", "c", "d$", "e" * 1_200, "e" * 1_201]),
        "ts": st.integers(0, 2) | st.none(),
        "rider": st.sampled_from(["x", "y", "", "x" * 1_200, None]),
        "fare": _FLOATS,
        "_hoodie_commit_time": st.sampled_from(["1", "2"]),
    }
)
_TYPES: dict[str, pa.DataType] = {
    RECORD_KEY: pa.string(),
    "ts": pa.int64(),
    "rider": pa.string(),
    "fare": pa.float64(),
    "_hoodie_commit_time": pa.string(),
}
_SCHEMA = pa.schema(_TYPES)


def _source(name: str) -> Source:
    return Source(name, name, Term(name), _SCHEMA.field(name).type)


_KINDS: dict[str, IndexKind] = {
    "record": RecordIndex("record_index", (), ("ts",)),
    "without ordering": RecordIndex("record_index", ()),
    "text": SecondaryIndex("secondary_index_x", (_source("rider"),)),
    "several": SecondaryIndex("secondary_index_x", (_source("fare"), _source("rider"))),
}


def _entries(kind: IndexKind, rows: pa.Table) -> pa.Table:
    builder = kind.builder(_CONTEXT)
    parts = [entries for batch in rows.to_batches() for entries in builder.add(batch)]
    parts += builder.finish()
    return pa.concat_tables(parts).combine_chunks()


def _difference(kind: IndexKind, before: pa.Table, after: pa.Table) -> tuple[Any, Any]:
    upserts, deletes = diff_entries(_entries(kind, before), _entries(kind, after))
    return sorted(map(repr, upserts.to_pylist())), sorted(deletes.to_pylist())


@pytest.mark.parametrize("name", _KINDS)
@given(rows=st.lists(_ROW, max_size=8), changes=st.lists(st.tuples(st.integers(0, 8), _ROW | st.none())))
def test_the_difference_is_the_same_without_unchanged_rows(
    name: str, rows: list[dict[str, Any]], changes: list[tuple[int, dict[str, Any] | None]]
) -> None:
    after = list(rows)
    for position, row in changes:
        # Updates where a row stands, deletes, and inserts at the end.
        after[position : position + 1] = [row] if row else []
    kind = _KINDS[name]
    columns = [RECORD_KEY, *kind.columns]
    one, two = (pa.Table.from_pylist(each, _SCHEMA).select(columns) for each in (rows, after))
    assert _difference(kind, *changed_rows(one, two)) == _difference(kind, one, two)


def test_rows_of_other_records_are_left_out() -> None:
    before = pa.table({RECORD_KEY: [f"k{each}" for each in range(1_000)], "v": list(range(1_000))})
    values = list(range(1_000))
    values[500] = -1
    grown = pa.table({RECORD_KEY: [f"k{each}" for each in range(1_001)], "v": [*values, 1_000]})
    old, new = changed_rows(before, grown)
    assert old.to_pylist() == [{RECORD_KEY: "k500", "v": 500}]
    assert new.column(RECORD_KEY).to_pylist() == ["k500", "k1000"]
    # Deleted, so that all others stand elsewhere.
    old, new = changed_rows(before, before.slice(1))
    assert old.column(RECORD_KEY).to_pylist() == ["k0"]
    assert new.num_rows == 0


def test_zeros_of_either_sign_and_nested_values_are_told_apart() -> None:
    zero, minus = pa.table({RECORD_KEY: ["k"], "v": [0.0]}), pa.table({RECORD_KEY: ["k"], "v": [-0.0]})
    assert changed_rows(zero, minus)[1].num_rows == 1
    assert changed_rows(zero, zero)[1].num_rows == 0
    nan = pa.table({RECORD_KEY: ["k"], "v": [float("nan")]})
    assert changed_rows(nan, nan)[1].num_rows == 0
    nested = pa.table({RECORD_KEY: ["k"], "v": [{"a": 1}]})
    assert changed_rows(nested, nested)[1].num_rows == 1
    short = pa.table({RECORD_KEY: ["k"], "v": pa.array([0], pa.int32())})
    assert changed_rows(zero, short) == (zero, short)


def test_which_kinds_are_by_record() -> None:
    """Whose keys hold the record key: none of the others may leave rows out."""
    assert {each.name for each in specs().values() if each.is_by_record} == {
        "record_index",
        "secondary_index",
    }


def test_entries_of_one_record_only() -> None:
    """What `is_by_record` says of a kind: no entry is shared by rows of two records."""
    rows = pa.Table.from_pylist(
        [
            {RECORD_KEY: key, "ts": 1, "rider": "x", "fare": 1.0, "_hoodie_commit_time": "1"}
            for key in ("a", "b")
        ],
        _SCHEMA,
    )
    for kind in _KINDS.values():
        one, two = (set(_entries(kind, rows.slice(at, 1)).column(KEY).to_pylist()) for at in (0, 1))
        assert one
        assert not one & two
