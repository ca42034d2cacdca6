"""Changed rows of many file groups, described at once by the kinds that can.

An upsert of few rows into many file groups changes few rows of each, and describing those costs as much as
describing a thousand. Kinds that are by record need to know of a row only whose it is.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.kind_parts.protocol import RowOwners

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hudi_index.kind_parts.protocol import IndexKind, SliceContext

__all__ = ["ChangedRows"]

_BYTES_HELD = 8 * 1024 * 1024


class ChangedRows:
    """The changed rows of some file groups as they were and as they are, for each of some kinds."""

    def __init__(self, kinds: Sequence[IndexKind]) -> None:
        self._kinds = kinds
        self._able = {
            position
            for position, kind in enumerate(kinds)
            # Those of other packages are guarded file group by file group.
            if kind.spec.is_built_in and kind.builder_of_rows(RowOwners((), ())) is not None
        }
        self._states: dict[int, list[tuple[SliceContext, pa.Table, pa.Table]]] = defaultdict(list)
        self._size = 0

    def take(
        self, positions: Sequence[int], context: SliceContext, old: pa.Table, new: pa.Table
    ) -> frozenset[int]:
        """Take in what changed in a file group; returns which of the kinds describe it here, by place."""
        able = self._able.intersection(positions)
        for position in able:
            self._states[position].append((context, old, new))
        self._size += old.nbytes + new.nbytes if able else 0
        return frozenset(able)

    @property
    def is_full(self) -> bool:
        """Whether no more should be held."""
        return self._size >= _BYTES_HELD

    def described(self) -> Iterator[tuple[int, list[pa.Table], list[pa.Table]]]:
        """By place of a kind its entries of all that was taken in, as it was and as it is."""
        states, self._size = dict(self._states), 0
        self._states.clear()
        for position, taken in states.items():
            contexts = tuple(context for context, _, _ in taken)
            before, after = [old for _, old, _ in taken], [new for _, _, new in taken]
            kind = self._kinds[position]
            yield position, _entries(kind, contexts, before), _entries(kind, contexts, after)


def _entries(kind: IndexKind, contexts: tuple[SliceContext, ...], rows: Sequence[pa.Table]) -> list[pa.Table]:
    builder = kind.builder_of_rows(RowOwners(contexts, tuple(each.num_rows for each in rows)))
    assert builder is not None
    found = [
        entries
        for batch in pa.concat_tables(rows).combine_chunks().to_batches()
        for entries in builder.add(batch)
    ]
    return [*found, *builder.finish()]
