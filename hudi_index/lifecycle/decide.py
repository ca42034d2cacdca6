"""What becomes of each index in the next commit: one decision, taken from what is known and nothing else.

    kept        its entries describe what `files` says: they are moved on
    built       described from nothing, for all file groups: it is new, or its entries are missing or can't be
                trusted, or it shares a partition that is thrown away
    replaced    partitions whose present entries are all thrown away

`decide` reads and writes nothing. The decision is taken before the lease of the index metadata table and
again under it: what it rests on may have changed by then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_index.catalog import IndexState
from hudi_index.coverage import files
from hudi_index.lifecycle.partitions import partitions_of, summary_partition

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.state import IndexedState

__all__ = ["Decision", "Drop", "Facts", "decide", "decide_drop"]


@dataclass(frozen=True)
class Facts:
    """All that a decision rests on."""

    definitions: tuple[IndexDefinition, ...] = ()
    """As the catalog has them."""
    shards: Mapping[str, int] = field(default_factory=dict)
    """The partitions of the index metadata table."""
    described: frozenset[str] = frozenset()
    """The ids of the indexes whose entries describe what `files` says."""
    unfit: frozenset[str] = frozenset()
    """The ids of the indexes that no longer fit the table's schema."""
    unusable: frozenset[str] = frozenset()
    """The ids of the indexes that nobody here can build: they are left alone, and nobody keeps them up."""
    is_all_replaced: bool = False
    """Whether none of the file groups that are described is left, and there are others."""

    @classmethod
    def of(cls, state: IndexedState) -> Facts:
        """Those of a table and its indexes as they were looked at; reads `files`."""
        indexed, slices = state.indexed, state.snapshot.slices
        return cls(
            definitions=state.definitions,
            shards=state.view.state.shards,
            described=state.describing,
            unfit=frozenset(each.id for each in state.ready() if state.reason_against(each)),
            unusable=frozenset(each.id for each in state.definitions if state.reason_against_kind(each)),
            is_all_replaced=bool(indexed and slices) and not any(each.group in indexed for each in slices),
        )

    @property
    def ready(self) -> list[IndexDefinition]:
        """The indexes that queries may use."""
        return [each for each in self.definitions if self.is_kept_up(each)]

    def is_kept_up(self, definition: IndexDefinition) -> bool:
        """Whether maintenance keeps an index up."""
        return definition.state is IndexState.READY and definition.id not in self.unusable


@dataclass(frozen=True)
class Decision:
    """What a commit does."""

    kept: tuple[IndexDefinition, ...] = ()
    built: tuple[IndexDefinition, ...] = ()
    replaced: tuple[str, ...] = ()
    shards: Mapping[str, int] = field(default_factory=dict)
    """The partitions that the commit makes, with the least number of their shards."""
    sized_by_rows: frozenset[str] = frozenset()
    """Those among them that get more shards if the table has many rows."""
    notes: tuple[str, ...] = ()

    @property
    def indexes(self) -> tuple[IndexDefinition, ...]:
        """All that the commit describes the table with."""
        return (*self.kept, *self.built)

    def shards_for(self, count: int) -> dict[str, int]:
        """The partitions that the commit makes with their shards, if `count` are enough for all rows."""
        return {
            name: max(least, count) if name in self.sized_by_rows else least
            for name, least in self.shards.items()
        }

    def writes_like(self, other: Decision) -> bool:
        """Whether a transaction that was opened for the other one is right for this one."""
        mine = (set(self.replaced), self.shards, self.sized_by_rows)
        return mine == (set(other.replaced), other.shards, other.sized_by_rows)


def decide(
    facts: Facts, new: Sequence[IndexDefinition] = (), *, again: Collection[str] = frozenset()
) -> Decision:
    """Decide about all indexes.

    Args:
        facts: What there is.
        new: Indexes to build, as the catalog has stored them.
        again: The ids of those among them of which entries may be there already.
    """
    requested = {each.id for each in new}
    others = [each for each in facts.ready if each.id not in facts.unfit and each.id not in requested]
    renewed = [each for each in others if each.id not in facts.described]
    notes = []
    if renewed:
        # Somebody else's commit came before they were ready, or what they had is lost.
        notes.append(f"built anew, entries were missing: {', '.join(each.name for each in renewed)}")
    if facts.is_all_replaced:
        # Taking all old entries out one by one would cost more than writing the partitions anew.
        renewed = others
        notes.append("none of the indexed file groups is left: all indexes were built anew")
    in_the_way = [each for each in new if _is_in_the_way(each, facts, new, again)]
    replaced = dict.fromkeys(
        name for each in (*in_the_way, *renewed) for name in partitions_of(each, facts.shards)
    )
    anew = {each.id for each in renewed}
    rest = [each for each in others if each.id not in anew]
    first = [*new, *renewed]
    shards, sized_by_rows = _shards(facts, first, replaced)
    return Decision(
        kept=tuple(each for each in rest if each.partition not in replaced),
        # A shared partition is built anew with all who share it.
        built=(*first, *(each for each in rest if each.partition in replaced)),
        replaced=tuple(replaced),
        shards=shards,
        sized_by_rows=sized_by_rows,
        notes=tuple(notes),
    )


def _is_in_the_way(
    definition: IndexDefinition, facts: Facts, new: Sequence[IndexDefinition], again: Collection[str]
) -> bool:
    """Whether the partition of a new index holds what can't be added to."""
    if definition.partition not in facts.shards:
        return False
    # What an earlier build or an index out of service left there is of nobody knows which slices.
    is_shared = any(each.partition == definition.partition for each in facts.ready)
    return not is_shared or definition.id in again or _has_unmaintained(definition, facts, new)


def _has_unmaintained(definition: IndexDefinition, facts: Facts, new: Iterable[IndexDefinition]) -> bool:
    """Whether entries of its columns are there that nobody has kept up."""
    built = {each.id for each in new}
    return any(
        each.partition == definition.partition and set(each.source_fields) & set(definition.source_fields)
        for each in facts.definitions
        if each.id not in built and not facts.is_kept_up(each)
    )


def _shards(
    facts: Facts, first: Sequence[IndexDefinition], replaced: Collection[str]
) -> tuple[dict[str, int], frozenset[str]]:
    """The partitions that are made, with their least shards, and which of them are sized by rows.

    Args:
        facts: What there is.
        first: The indexes that say how many shards their partitions get: each partition is thrown away for
            the sake of one of them.
        replaced: The partitions that are thrown away.
    """
    found = {} if files.PARTITION in facts.shards else {files.PARTITION: 1}
    sized_by_rows = set()
    for definition in first:
        name = definition.partition
        if name not in facts.shards or name in replaced:
            count = definition.options.get("shards")
            found[name] = max(found.get(name, 1), int(count) if count else 1)
            if not count:
                sized_by_rows.add(name)
    for summary in filter(None, map(summary_partition, first)):
        if summary not in facts.shards or summary in replaced:
            found[summary] = 1
    return found, frozenset(sized_by_rows)


@dataclass(frozen=True)
class Drop:
    """What goes with an index."""

    replaced: tuple[str, ...] = ()
    """Partitions that go as a whole."""
    thinned: tuple[str, ...] = ()
    """Partitions that others share: only entries of `columns` go."""
    columns: tuple[str, ...] = ()


def decide_drop(
    definition: IndexDefinition, definitions: Iterable[IndexDefinition], shards: Mapping[str, int]
) -> Drop:
    """Decide what of an index's entries nobody else has a use for.

    Args:
        definition: The index.
        definitions: All indexes.
        shards: The partitions of the index metadata table.
    """
    partitions = tuple(partitions_of(definition, shards))
    others = [
        each for each in definitions if each.partition == definition.partition and each.id != definition.id
    ]
    if not others:
        return Drop(replaced=partitions)
    used = {column for each in others for column in each.source_fields}
    columns = tuple(column for column in definition.source_fields if column not in used)
    return Drop(thinned=partitions, columns=columns)
