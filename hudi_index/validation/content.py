"""Content parity: the entries that are stored are those that the described slices give.

Each described slice whose files are still there is described anew, in memory, and compared entry by entry.
A described slice need not be current: an index behind the table has to be right about what it says it
describes. What the table holds beyond that is lag, which is counted and no fault.

    missing, extra, different    an entry of the rows is not stored, or the other way round, or not alike
    twice                        a key that is stored more than once in its shard
    unreadable                   a file of the index metadata table that can't be read

Summaries by partition are compared with the stored entries that they sum up, which are compared with rows.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hudi_index.coverage import files
from hudi_index.entries import SEPARATOR, encode_text
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY
from hudi_index.errors import CorruptError
from hudi_index.kind_specs import Sharing
from hudi_index.kinds import SliceContext
from hudi_index.lifecycle.description import Description, Target, WorkItem
from hudi_index.lifecycle.partitions import summaries_of, summary_partition
from hudi_index.table import FileSlice
from hudi_index.validation.comparison import EntryDifference, difference_of
from hudi_index.validation.entries import ContentWork, content_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.table import FileGroupId
    from hudi_index.validation.comparison import Comparison

__all__ = ["ContentPlan", "compare_summaries", "find_indexes_at_fault"]

_SHARED = (Sharing.ALIKE, Sharing.BY_COLUMN)


@dataclass
class ContentPlan:
    """Which file groups are compared for which indexes."""

    state: IndexedState
    definitions: Sequence[IndexDefinition]
    chosen: dict[FileGroupId, FileSlice] = field(default_factory=dict)
    gone: set[FileGroupId] = field(default_factory=set)
    is_sample: bool = False

    @classmethod
    def of(
        cls,
        state: IndexedState,
        definitions: Sequence[IndexDefinition],
        *,
        sample: int | None,
        seed: int,
        gone: Collection[FileGroupId] = (),
    ) -> ContentPlan:
        """All described slices that can still be read, or a sample of them."""
        found = cls(state, definitions, gone=set(gone))
        described = {group: FileSlice.of_identity(known.identity) for group, known in state.indexed.items()}
        # What the table lists as it is now is there; only the rest is worth a look at the storage.
        outdated = [file_slice for file_slice in described.values() if not found._is_current(file_slice)]
        found.gone.update(state.snapshot.reader.losses(outdated))
        groups = sorted(group for group in described if group not in found.gone)
        if sample is not None and sample < len(groups):
            found.is_sample = True
            groups = sorted(random.Random(seed).sample(groups, sample))
        found.chosen = {group: described[group] for group in groups}
        return found

    @property
    def sample(self) -> list[str] | None:
        """The names of the chosen file groups; None if all are."""
        return [f"{each.partition_path}/{each.file_id}" for each in self.chosen] if self.is_sample else None

    def work(self) -> ContentWork:
        """What is to be compared, to be run anywhere."""
        state = self.state
        kinds = state.kinds(self.definitions)
        partitions = {files.PARTITION, *(kind.partition for kind in kinds)}
        shards = state.view.state.shards
        targets = tuple(
            Target(name, shard, is_new=False)
            for name in sorted(partitions)
            for shard in range(shards.get(name, 1))
        )
        description = Description(
            reader=state.snapshot.reader,
            kept_kinds=(),
            new_kinds=kinds,
            items=tuple(
                WorkItem(SliceContext(group, state.indexed[group].number), None, file_slice)
                for group, file_slice in self.chosen.items()
            ),
            targets=targets,
            expressions=state.expressions(self.definitions),
            instant=state.instant,
        )
        stored = {
            position: shard_slice
            for position, target in enumerate(targets)
            if (shard_slice := state.view.partitions.get(target.partition, {}).get(target.shard))
        }
        only = self._ends(kinds, self.chosen) if self.is_sample else None
        outdated = frozenset(group for group, each in self.chosen.items() if not self._is_current(each))
        return ContentWork(
            description,
            state.metadata_storage,
            stored,
            only,
            self._ends(kinds, self.gone),
            self._foreign(),
            outdated,
        )

    def _is_current(self, file_slice: FileSlice) -> bool:
        now = self.state.snapshot.groups.get(file_slice.group)
        return now is not None and now.identity == file_slice.identity

    def _ends(self, kinds: Sequence[Any], groups: Collection[FileGroupId]) -> dict[str, frozenset[str]]:
        """How the keys of some file groups end, by partition."""
        known = self.state.indexed
        contexts = [SliceContext(group, known[group].number) for group in groups if group in known]
        ends = {kind.partition: frozenset(map(kind.owner_suffix, contexts)) for kind in kinds}
        return {**ends, files.PARTITION: files_keys(self.state, groups)}

    def _foreign(self) -> dict[str, frozenset[str]]:
        """Shared partitions, and the columns in them that only indexes have which are not checked."""
        mine = {each.id for each in self.definitions}
        found: dict[str, frozenset[str]] = {}
        for each in self.definitions:
            if each.spec.sharing in _SHARED and not each.is_functional:
                same = [other for other in self.state.definitions if other.partition == each.partition]
                checked = {name for other in same if other.id in mine for name in other.source_fields}
                others = {name for other in same if other.id not in mine for name in other.source_fields}
                found[each.partition] = frozenset(map(encode_text, others - checked))
        return found


def files_keys(state: IndexedState, groups: Collection[FileGroupId]) -> frozenset[str]:
    """How `files` calls file groups."""
    found = files.entries_of(state.indexed[group] for group in groups if group in state.indexed)
    keys: list[Any] = found.column(KEY).to_pylist()
    return frozenset(keys)


def compare_summaries(plan: ContentPlan, found: Comparison, *, limit: int) -> None:
    """Compare what is stored of partitions with what the indexes' entries give; adds to `found`."""
    state = plan.state
    reader = state.reader
    paths = sorted({group.partition_path for group in plan.chosen}) if plan.is_sample else None
    for (source, target), summaries in summaries_of(plan.definitions, state).items():
        if target not in state.view.state.shards:
            continue
        stored, wanted = dict[str, str](), dict[str, str]()
        try:
            for summary in summaries:
                payloads = [name for name in (summary.spec.payload,) if name]
                if paths is None:
                    ranges = keys = summary.all_ranges()
                else:
                    ranges = [each for path in paths for each in summary.source_ranges(path)]
                    points = [each for path in paths for each in summary.keys_of(path)]
                    keys = [(part, KeyRange.point(key)) for part, key in points]
                wanted.update(_contents(summary.merge(reader.lookup_sharded(source, ranges)), payloads))
                stored.update(_contents(reader.lookup_sharded(target, keys), payloads))
        except CorruptError as error:
            found.unreadable[target] = str(error)
            continue
        found.entries += len(stored)
        for key in sorted({*stored, *wanted}):
            what = difference_of(key in stored, stored.get(key), wanted.get(key))
            if what is not None:
                label, one, other = key.partition(SEPARATOR)[0], stored.get(key), wanted.get(key)
                found.add(EntryDifference(target, 0, label, key, what, one, other), limit=limit)


def _contents(entries: Any, payloads: list[str]) -> dict[str, str]:
    texts: list[Any] = content_of(entries, payloads).to_pylist()
    return dict(zip(entries.column(KEY).to_pylist(), texts, strict=True))


def find_indexes_at_fault(
    definitions: Sequence[IndexDefinition], partition: str, label: str
) -> list[IndexDefinition]:
    """The indexes that an entry belongs to; all of them for `files`."""
    if partition == files.PARTITION:
        return list(definitions)
    mine = [each for each in definitions if partition in (each.partition, summary_partition(each))]
    narrow = [each for each in mine if label and label in map(encode_text, each.source_fields)]
    return narrow or mine
