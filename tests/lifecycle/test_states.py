"""Kinds whose columns are the same in both states of a file group describe nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable
from hudi_index.kind_parts.changed import same_columns
from hudi_index.kinds import builder_of
from hudi_index.lifecycle import states
from hudi_index.lifecycle.description import ItemPlan
from hudi_index.lifecycle.states import States
from hudi_index.table import ROW_POSITION
from hudi_index.table.record_keys import RECORD_KEY
from tests.engine.kinds.rows import TYPES, kind_over
from tests.support.tables import T1, T2, Fabricated

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hudi_index.kind_parts.protocol import EntryBuilder, IndexKind, SliceContext

NAN, MINUS = float("nan"), -0.0


def batch(**columns: Sequence[Any] | pa.Array[Any]) -> pa.RecordBatch:
    length = len(next(iter(columns.values())))
    keys = pa.array([f"k{each}" for each in range(length)])
    given = {
        name: values if isinstance(values, pa.Array) else pa.array(values) for name, values in columns.items()
    }
    return pa.RecordBatch.from_pydict({RECORD_KEY: keys, ROW_POSITION: pa.array(range(length)), **given})


def same(kinds: Sequence[IndexKind], before: pa.RecordBatch, after: pa.RecordBatch) -> set[str]:
    """Which of some kinds describe nothing, by their columns."""
    found = States.of(ItemPlan(tuple(kinds), (), ()), [before], [after], 1_000).same
    return {",".join(source.column for source in kinds[place].sources) for place in found}


def test_same_columns_are_told_by_their_bits() -> None:
    before = pa.table(
        {"a": [0.0, NAN], "b": [MINUS, 1.0], "c": [1, None], "d": [{"x": 1}, None], "e": ["x", "y"]}
    )
    after = pa.table(
        {"a": [0.0, NAN], "b": [0.0, 1.0], "c": [1, None], "d": [{"x": 1}, None], "e": ["x", "z"]}
    )
    assert same_columns(before, after) == {"a", "c"}
    assert same_columns(before, before.append_column("more", pa.array([1, 2]))) == {"a", "b", "c", "e"}
    assert same_columns(before, after.slice(1)) == set()
    assert same_columns(before, before.rename_columns(["z", "a", "y", "x", "w"])) == set()
    assert same_columns(pa.table({"c": [1]}), pa.table({"c": pa.array([1], pa.int32())})) == set()


def test_kinds_over_same_columns_describe_nothing() -> None:
    number, text = kind_over("bitmap", "number"), kind_over("column_stats", "text")
    both = kind_over("secondary_index", "number", "text")
    before = batch(number=pa.array([1, 2], TYPES["number"]), text=["a", "b"])
    after = batch(number=pa.array([1, 2], TYPES["number"]), text=["a", "c"])
    assert same([number, text, both], before, after) == {"number"}
    assert same([number, text, both], before, before) == {"number", "text", "number,text"}
    # Another record stands in the place of one.
    moved = after.set_column(0, RECORD_KEY, pa.array(["k0", "k7"]))
    assert same([number, text, both], before, moved) == set()
    # A record more.
    longer = batch(number=pa.array([1, 2, 3], TYPES["number"]), text=["a", "b", "c"])
    assert same([number, text, both], before, longer) == set()
    # A footer tells of the column, so it is not among the rows.
    rest = [each.select([RECORD_KEY, ROW_POSITION, "text"]) for each in (before, before)]
    assert same([number, text, both], rest[0], rest[1]) == {"text"}


def test_more_rows_than_are_held_are_not_compared() -> None:
    rows = batch(text=["a", "b"])
    plan = ItemPlan((kind_over("bitmap", "text"),), (), ())
    assert States.of(plan, [rows], [rows], 1).same == frozenset()
    assert States.of(plan, [rows], [rows], 2).same == {0}
    assert States.of(plan, [], [rows], 2).same == frozenset()


def test_maintenance_describes_what_changed_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = Fabricated(tmp_path)
    rows = [{"id": f"k{each}", "n": each, "region": "eu"} for each in range(10)]
    table.base_file("eu", "a", T1, rows)
    table.commit(T1)
    indexed = IndexedTable.open(table.path)
    indexed.create_all(
        [
            "CREATE INDEX by_n ON t (n)",
            "CREATE INDEX ns ON t USING bitmap (n)",
            "CREATE INDEX regions ON t USING bitmap (region)",
            "CREATE INDEX tokens ON t USING ngram (region)",
        ]
    )
    built: list[str] = []

    def noted(kind: IndexKind, context: SliceContext) -> EntryBuilder:
        built.append(",".join([kind.spec.name, *(source.column for source in kind.sources)]))
        return builder_of(kind, context)

    monkeypatch.setattr("hudi_index.lifecycle.footers.builder_of", noted)
    monkeypatch.setattr(states, "builder_of", noted)
    rows[3]["n"] = 30
    table.base_file("eu", "a", T2, rows)
    table.commit(T2)
    report = indexed.maintain()
    # As it was and as it is. The secondary index sees the row that changed, with those of other file groups.
    assert sorted(built) == ["bitmap,n", "bitmap,n"]
    # In the secondary index, the bitmaps and the file groups; the last replaces.
    assert (report.entries_added, report.entries_removed) == (3, 2)
    assert indexed.validate().exit_code == 0
