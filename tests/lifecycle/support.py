"""Entries as they are stored against entries as they would be built now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.entries.schema import ENTRY_SCHEMA, KEY, PAYLOADS, TYPE
from hudi_index.kinds import partition_stats_of
from hudi_index.kinds.protocol import SliceContext
from hudi_index.lifecycle.state import IndexedState
from hudi_index.metadata_table import MetadataTable

if TYPE_CHECKING:
    from hudi_index.storage import Storage

Entries = dict[str, dict[str, dict[str, Any]]]
"""Partition -> key -> type and payload."""


def load_state(storage: Storage) -> IndexedState:
    return IndexedState.load(storage, MetadataTable.of(storage))


def stored_entries(storage: Storage) -> Entries:
    """What the index metadata table holds, but for `files`."""
    reader = MetadataTable.of(storage).reader()
    return {
        name: _by_key(reader.scan(name).read_all().to_pylist())
        for name in reader.view.state.shards
        if name != "files"
    }


def fresh_entries(storage: Storage) -> Entries:
    """What it should hold: every current slice described by every ready index over columns, from nothing."""
    state = load_state(storage)
    found: Entries = {}
    for kind in state.kinds(each for each in state.ready() if not each.is_functional):
        entries = found.setdefault(kind.partition, {})
        for piece in state.snapshot.slices:
            number = state.indexed[piece.group].number
            builder = kind.builder(SliceContext(piece.group, number))
            tables = []
            for batch in state.snapshot.reader.rows(piece, kind.columns).batches():
                tables.extend(builder.add(batch))
            tables.extend(builder.finish())
            for table in tables:
                entries.update(_by_key(table.to_pylist()))
    for definition in state.ready():
        merge = (
            partition_stats_of(definition, state.types_of(definition))
            if not definition.is_functional
            else None
        )
        if merge:
            rows = [{KEY: key, **entry} for key, entry in found["column_stats"].items()]
            merged = merge.merge(pa.Table.from_pylist(rows, schema=ENTRY_SCHEMA))
            found.setdefault("partition_stats", {}).update(_by_key(merged.to_pylist()))
    return found


def _by_key(rows: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    found = {row[KEY]: {TYPE: row[TYPE], **{name: row.get(name) for name in PAYLOADS}} for row in rows}
    assert len(found) == len(rows), "a key came twice"
    return found


def check_indexes(storage: Storage) -> None:
    """Everything is covered, and stored entries are what a rebuild would make."""
    state = load_state(storage)
    assert {piece.group: piece.identity for piece in state.snapshot.slices} == {
        group: known.identity for group, known in state.indexed.items()
    }
    for piece in state.snapshot.slices:
        assert state.indexed[piece.group].row_count == state.snapshot.reader.row_count(piece)
    stored = stored_entries(storage)
    over_columns = {name: entries for name, entries in stored.items() if not name.startswith("func_index_")}
    assert over_columns == fresh_entries(storage)
