"""The two states of a file group, as it was and as it is, and their entries.

States that may be held in memory are compared first. Kinds whose columns are the same then describe nothing,
and those that are by record the rows that changed, not the many that did not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.kind_parts.changed import changed_rows, same_columns
from hudi_index.kinds import builder_of
from hudi_index.table import ROW_POSITION
from hudi_index.table.record_keys import RECORD_KEY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hudi_index.kind_parts.protocol import EntryBuilder, IndexKind, SliceContext
    from hudi_index.lifecycle.description import ItemPlan
    from hudi_index.lifecycle.footers import Known

__all__ = ["States", "describe"]

_BYTES_HELD = 64 * 1024 * 1024
"""Of the rows of one state: larger ones are not compared row by row."""


@dataclass(frozen=True)
class States:
    """The rows of a file group as they were and as they are."""

    before: Iterable[pa.RecordBatch]
    after: Iterable[pa.RecordBatch]
    old: pa.Table | None = None
    """The rows of `before` that kinds which are by record have to see; None if it is all."""
    new: pa.Table | None = None
    same: frozenset[int] = frozenset()
    """Which of the kinds that are compared have the same entries for both, by their places."""

    @classmethod
    def of(
        cls,
        plan: ItemPlan,
        before: Iterable[pa.RecordBatch],
        after: Iterable[pa.RecordBatch],
        rows_at_once: int,
    ) -> States:
        """Reads both states ahead and compares their rows, unless that is more than should be held."""
        if not plan.diffed:
            return cls(before, after)
        before, after = iter(before), iter(after)
        held_before, is_small = _read_ahead(before, rows_at_once)
        held_after, is_small = _read_ahead(after, rows_at_once) if is_small else ([], False)
        whole = cls(chain(held_before, before), chain(held_after, after))
        if not (is_small and held_before and held_after):
            return whole
        old, new = (pa.Table.from_batches(held) for held in (held_before, held_after))
        same = _same_kinds(plan.diffed, old.column_names, same_columns(old, new))
        by_record = [kind for kind in plan.diffed if kind.spec.is_by_record]
        if not by_record:
            return replace(whole, same=same)
        wanted = [RECORD_KEY, *(name for kind in by_record for name in kind.columns)]
        columns = list(dict.fromkeys(each for name in wanted for each in _columns_of(name, old.column_names)))
        old, new = changed_rows(old.select(columns), new.select(columns))
        return replace(whole, old=old, new=new, same=same)


def _read_ahead(batches: Iterator[pa.RecordBatch], rows_at_once: int) -> tuple[list[pa.RecordBatch], bool]:
    """What may be held of the rows, and whether that is all of them."""
    held, size, rows = [], 0, 0
    for batch in batches:
        held.append(batch)
        size += batch.nbytes
        rows += batch.num_rows
        if size > _BYTES_HELD or rows > rows_at_once:
            return held, False
    return held, True


def _same_kinds(kinds: Sequence[IndexKind], names: Sequence[str], same: frozenset[str]) -> frozenset[int]:
    """The places of the kinds that see the same rows in both states, as far as they look."""
    seen = (
        [_columns_of(name, names) for name in (RECORD_KEY, ROW_POSITION, *kind.columns)] for kind in kinds
    )
    # What a footer tells is not among the rows.
    return frozenset(
        place
        for place, columns in enumerate(seen)
        if all(found and same.issuperset(found) for found in columns)
    )


def _columns_of(wanted: str, names: Sequence[str]) -> list[str]:
    """The columns that a name may stand for; what is nested stands in its top-level column."""
    return [name for name in names if wanted == name or wanted.startswith(f"{name}.")]


def describe(
    kinds: Sequence[IndexKind],
    context: SliceContext,
    batches: Iterable[pa.RecordBatch],
    rows_at_once: int,
    known: Known,
    changed: pa.Table | None = None,
    same: frozenset[int] = frozenset(),
    built: int = 0,
) -> Iterator[tuple[int, pa.Table]]:
    """The entries of a slice by place of their kind; in parts if it is large and the kind is divisible.

    Where it is known which rows changed, kinds that are by record see no others, and those in `same` none.
    The first `built`, which `same` does not count, see all rows.
    """
    builders = {
        position: known.builder(kind, context)
        for position, kind in enumerate(kinds)
        if position - built not in same
    }
    if changed is not None:
        by_record = [each for each in builders if each >= built and kinds[each].spec.is_by_record]
        yield from _described_by({each: builders.pop(each) for each in by_record}, changed.to_batches())
    rows = 0
    for batch in batches:
        rows += batch.num_rows
        for position, builder in builders.items():
            for entries in builder.add(batch):
                yield position, entries
            if rows > rows_at_once and kinds[position].spec.is_divisible:
                for entries in builder.finish():
                    yield position, entries
                builders[position] = builder_of(kinds[position], context)
        rows = 0 if rows > rows_at_once else rows
    yield from _described_by(builders, ())


def _described_by(
    builders: dict[int, EntryBuilder], batches: Sequence[pa.RecordBatch]
) -> Iterator[tuple[int, pa.Table]]:
    """The entries of these rows, and all that builders have not given yet."""
    for position, builder in builders.items():
        for batch in batches:
            for entries in builder.add(batch):
                yield position, entries
        for entries in builder.finish():
            yield position, entries
