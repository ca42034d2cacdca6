"""The operations that histories are made of, each as a process that may die on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_index.metadata_table.compaction import compact_slice
from tests.store.support import Change, Clock, open_table, write_changes

if TYPE_CHECKING:
    from pathlib import Path

    from tests.store.support import Work


def create_partition(name: str, shards: int, change: Change, *, as_base: bool) -> Work:
    def work(path: Path, clock: Clock) -> None:
        with open_table(path, clock, crashing=True).begin(shards={name: shards}) as transaction:
            write_changes(transaction, {name: change}, as_base=frozenset({name} if as_base else ()))
            transaction.commit()

    return work


def maintain(changes: dict[str, Change]) -> Work:
    def work(path: Path, clock: Clock) -> None:
        with open_table(path, clock, crashing=True).begin() as transaction:
            write_changes(transaction, changes)
            transaction.commit()

    return work


def rebuild_partition(name: str, shards: int, change: Change) -> Work:
    def work(path: Path, clock: Clock) -> None:
        table = open_table(path, clock, crashing=True)
        with table.begin(shards={name: shards}, replaced=[name]) as transaction:
            write_changes(transaction, {name: change}, as_base=frozenset({name}))
            transaction.commit()

    return work


def drop_partition(name: str) -> Work:
    def work(path: Path, clock: Clock) -> None:
        with open_table(path, clock, crashing=True).begin(replaced=[name]) as transaction:
            transaction.commit()

    return work


def compact() -> Work:
    return lambda path, clock: open_table(path, clock, crashing=True).compact(force=True)


def compact_beside_maintain(changes: dict[str, Change], *, compaction_first: bool) -> Work:
    """A compaction and a delta commit whose lives overlap, in either order of beginning and of completing."""

    def work(path: Path, clock: Clock) -> None:
        table = open_table(path, clock, crashing=True)
        other = open_table(path, clock, owner="compactor", crashing=True)
        if compaction_first:
            begun = other.begin_compaction(force=True)
            transaction = table.begin()
        else:
            transaction = table.begin()
            begun = other.begin_compaction(force=True)
        write_changes(transaction, changes)
        if begun is None:
            transaction.commit()
            return
        compaction, slices = begun
        compaction.add([compact_slice(compaction.writer, shard_slice) for shard_slice in slices])
        for one in (transaction, compaction) if compaction_first else (compaction, transaction):
            one.commit()

    return work


def clean() -> Work:
    return lambda path, clock: open_table(path, clock, crashing=True).clean()
