"""From a look at a table and its indexes to what rows are tagged by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_index.errors import InvalidOptionError, NoRecordIndexError, UnsupportedTableError
from hudi_index.table.types import type_of
from hudi_index.writer.fit import orders_by_event_time, reason_against_table
from hudi_index.writer.locations import Locations
from hudi_index.writer.since import Seen
from hudi_index.writer.tagger import Tagger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.table import FileSlice

__all__ = ["KEYS", "LAGS", "Prepared", "costs_less_to_read", "prepare", "record_index_of"]

LAGS = ("auto", "read", "maintain")
"""What to do about file groups that the index does not describe."""
KEYS = ("table", "partition")
"""Within what a record key is one."""
_KIND = "record_index"
_MOST_BYTES_TO_READ = 32 * 1024 * 1024


@dataclass(frozen=True)
class Prepared:
    """What a batch is tagged by."""

    tagger: Tagger
    uncovered: tuple[FileSlice, ...]
    """Slices that the index does not describe: their keys are to be read."""


def record_index_of(state: IndexedState) -> IndexDefinition:
    """The record index in service. Raises NoRecordIndexError."""
    fields = state.snapshot.config.record_key_fields
    known = [each for each in state.definitions if each.kind == _KIND]
    found = [each for each in state.ready() if each.kind == _KIND]
    if not known:
        raise NoRecordIndexError(uri=state.storage.uri, reason="has no record index", fields=fields)
    if not found:
        states = ", ".join(f"{each.name} is {each.state}" for each in known)
        reason = f"has no record index in service ({states})"
        raise NoRecordIndexError(uri=state.storage.uri, reason=reason, fields=fields)
    reasons = {each.name: why for each in found if (why := state.reason_against(each))}
    found = [each for each in found if each.name not in reasons]
    if not found:
        listed = "; ".join(f"{name}: {why}; REBUILD INDEX {name} does" for name, why in reasons.items())
        reason = f"has no record index that fits it any more ({listed})"
        raise NoRecordIndexError(uri=state.storage.uri, reason=reason, fields=fields)
    # One that is for the whole table answers both questions.
    return min(found, key=lambda each: each.option("partitioned") == "true")


def costs_less_to_read(state: IndexedState, uncovered: Sequence[FileSlice]) -> bool:
    """Whether reading the keys of slices costs less than describing them by all indexes first.

    They will be described anyway, together with what this batch writes; describing them first is one more
    commit. But reading is work that is thrown away, so only a little is.
    """
    is_readable = all(state.snapshot.slice_reader_of(each).reason is None for each in uncovered)
    return is_readable and sum(each.size for each in uncovered) <= _MOST_BYTES_TO_READ


def prepare(state: IndexedState, *, keys: str | None = None, is_ordered: bool = True) -> Prepared:
    """What to tag the rows of a batch by.

    Args:
        state: The table and its indexes.
        keys: Within what a record key is one; as the index has it if None.
        is_ordered: Whether rows with smaller ordering values than their records are late.

    Raises:
        NoRecordIndexError: there is no record index in service.
        UnsupportedTableError: the table can't be written so.
        InvalidOptionError: the index can't tell what `keys` asks for.
    """
    snapshot = state.snapshot
    if reason := reason_against_table(snapshot.config, snapshot.slices):
        way_out = "write it by Hudi's own writer and maintain the indexes afterwards"
        raise UnsupportedTableError(uri=state.storage.uri, reason=f"{reason}; {way_out}")
    definition = record_index_of(state)
    partition, is_partitioned = definition.partition, definition.option("partitioned") == "true"
    if keys == "table" and is_partitioned:
        reason = f"index {definition.name} knows a record key within its partition only"
        raise InvalidOptionError(option="keys", value=keys, reason=reason)
    is_described = definition.id in state.describing
    uncovered = tuple(state.indexed.uncovered(snapshot.slices) if is_described else snapshot.slices)
    missing = {each.group for each in uncovered}
    covered = [each for each in snapshot.slices if each.group not in missing]
    fields = snapshot.config.ordering_fields if is_ordered and orders_by_event_time(snapshot.config) else ()
    tagger = Tagger(
        storage=state.storage,
        metadata_storage=state.metadata_storage,
        config=snapshot.config,
        view=state.view.only(partition),
        partition=partition,
        is_partitioned=is_partitioned,
        by_partition=is_partitioned or keys == "partition",
        locations=Locations.of((state.indexed[each.group].number, each) for each in covered),
        ordering_types={name: type_of(snapshot.schema, name) for name in fields},
        seen=Seen.of(snapshot.timeline),
    )
    return Prepared(tagger, uncovered)
