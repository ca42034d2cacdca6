"""Entries as they are stored against entries as they would be built now."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hudi import HudiTableBuilder

from hudi_index.catalog import Catalog, IndexState, definition_of, parse_statement
from hudi_index.catalog.ddl import CreateIndex
from hudi_index.entries import SEPARATOR
from hudi_index.entries.schema import ENTRY_SCHEMA, KEY, PAYLOADS, TYPE
from hudi_index.jobs import JobReport
from hudi_index.kind_parts.protocol import SliceContext
from hudi_index.kinds import summary_of
from hudi_index.lifecycle.create import with_recorded_facts
from hudi_index.lifecycle.maintain import bring_up_to_date
from hudi_index.lifecycle.state import IndexedState, Kept
from hudi_index.metadata_table import MetadataTable
from hudi_index.storage import Storage
from tests.support.storage import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from hudi_index.catalog import IndexDefinition
    from hudi_index.engine import IndexedTable

Entries = dict[str, dict[str, dict[str, Any]]]
"""Partition -> key -> type and payload."""


def definition_from(statement: str) -> IndexDefinition:
    """The index that a CREATE INDEX defines."""
    parsed = parse_statement(statement)
    assert isinstance(parsed, CreateIndex)
    return definition_of(parsed)


def load_state(storage: Storage) -> IndexedState:
    return Kept.of(storage).look()


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
        for file_slice in state.snapshot.slices:
            number = state.indexed[file_slice.group].number
            builder = kind.builder(SliceContext(file_slice.group, number))
            tables: list[pa.Table] = []
            for batch in state.snapshot.reader.rows(file_slice, kind.columns).batches():
                tables.extend(builder.add(batch))
            tables.extend(builder.finish())
            for table in tables:
                entries.update(_by_key(table.to_pylist()))
    for definition in state.ready():
        merge = summary_of(definition, state.types_of(definition)) if not definition.is_functional else None
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
    assert {file_slice.group: file_slice.identity for file_slice in state.snapshot.slices} == {
        group: known.identity for group, known in state.indexed.items()
    }
    for file_slice in state.snapshot.slices:
        assert state.indexed[file_slice.group].row_count == state.snapshot.reader.row_count(file_slice)
    stored = stored_entries(storage)
    over_columns = {name: entries for name, entries in stored.items() if not name.startswith("func_index_")}
    assert over_columns == fresh_entries(storage)


def entries_by_owner(storage: Storage) -> Entries:
    """What is stored, with file groups by their own names: their numbers depend on a table's past."""
    state, stored = load_state(storage), stored_entries(storage)
    owners = {str(known.number): group for group, known in state.indexed.items()}
    for definition in state.ready():
        if definition.spec.names_owner_by_number:
            stored[definition.partition] = {
                f"{key.rpartition(SEPARATOR)[0]} of {owners[key.rpartition(SEPARATOR)[2]]}": entry
                for key, entry in stored[definition.partition].items()
            }
    return stored


def build_at_once(storage: Storage, definitions: Iterable[IndexDefinition], spark: SparkSession) -> None:
    """Build indexes from nothing, all in one commit: one Spark job instead of one for each."""
    from hudi_index.spark.build.executor import SparkExecutor

    executor, catalog = SparkExecutor(spark), Catalog(storage)
    state = load_state(storage)
    added = [
        catalog.add(with_recorded_facts(each.with_state(IndexState.BUILDING), state, executor))
        for each in definitions
    ]
    bring_up_to_date(load_state(storage), executor, JobReport("create", storage.uri), new=added)
    for each in added:
        catalog.change_state(each.name, IndexState.READY, index_id=each.id)


def rebuilt_elsewhere(table: IndexedTable, place: Path, spark: SparkSession) -> Entries:
    """The entries of the same indexes built from nothing for a copy of the table."""
    source = path_of(table.storage)
    shutil.copytree(source, place, ignore=shutil.ignore_patterns(".index"))
    try:
        copy = Storage.open(place)
        build_at_once(copy, table.indexes(), spark)
        return entries_by_owner(copy)
    finally:
        shutil.rmtree(place)


def as_others_read_it(table: IndexedTable, spark: SparkSession) -> tuple[Entries, Entries, Entries]:
    """The whole index metadata table as we, hudi-rs and Hudi on Spark read it."""
    folder = path_of(table.storage, MetadataTable.folder)
    reader = MetadataTable.of(table.storage).reader()
    ours = {
        name: found
        for name in reader.view.state.shards
        if (found := _by_key(reader.scan(name).read_all().to_pylist()))
    }
    batches = HudiTableBuilder.from_base_uri(str(folder)).build().read()
    by_hudi_rs = _by_partition(row for batch in batches for row in batch.to_pylist())
    frame = spark.read.format("hudi").load(str(folder))
    by_spark = _by_partition(row.asDict(recursive=True) for row in frame.collect())
    return ours, by_hudi_rs, by_spark


def _by_partition(rows: Iterable[dict[str, Any]]) -> Entries:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["partition"], []).append(
            {name: bytes(value) if isinstance(value, bytearray) else value for name, value in row.items()}
        )
    return {name: _by_key(entries) for name, entries in found.items()}
