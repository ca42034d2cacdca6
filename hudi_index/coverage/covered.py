"""The file groups of a snapshot that the indexes describe, as columns: no object per file group.

A file group is known by its position among the snapshot's slices. Sets of file groups are masks over those
positions, so AND and OR of a quarter of a million file groups take no time worth counting. Kinds know a
covered file group by its row here, and by what keys call it: its owner or its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.coverage import files
from hudi_index.coverage.identities import identity_columns
from hudi_index.entries.schema import KEY

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_index.table import Snapshot

Mask: TypeAlias = npt.NDArray[np.bool_]
IndexFiles: TypeAlias = tuple[str, ...]
"""Where the index metadata table is, and which files hold what is noted."""

__all__ = ["Candidates", "Covered", "IndexFiles", "Mask"]


@dataclass(frozen=True)
class Covered:
    """The covered file groups of some slices, one row each."""

    total: int
    """How many slices there are, covered or not."""
    positions: npt.NDArray[np.int64]
    """Of each row among the slices."""
    owners: pa.Array[Any]
    """What keys of each row end with, for kinds that name owners by partition path and file id."""
    numbers: npt.NDArray[np.int64]
    """The same for kinds that name them by number."""
    row_counts: npt.NDArray[np.int64]

    @classmethod
    def none(cls, total: int) -> Covered:
        """Nothing is covered."""
        nothing = np.zeros(0, np.int64)
        return cls(total, nothing, pa.array([], pa.string()), nothing, nothing)

    @classmethod
    def of(cls, snapshot: Snapshot, state: IndexFiles, load: Callable[[], pa.Table]) -> Covered:
        """Those of the slices whose identity is the one that `files` notes.

        Kept with the snapshot while `files` is the same: matching all file groups costs far more than asking
        an index about a few values.

        Args:
            snapshot: The table as it is read.
            state: The files of the `files` partition. They never change, so their names say what they hold.
            load: Reads its entries.
        """
        last = snapshot.cache.of(_LastCovered)
        if last.state != state or last.covered is None:
            # One only: whoever reads a snapshot for long moves on with the index.
            last.state, last.covered = state, cls._match(snapshot, load())
        return last.covered

    @classmethod
    def _match(cls, snapshot: Snapshot, entries: pa.Table) -> Covered:
        noted = files.columns_of_notes(entries)
        rows, positions = files.match_slices(noted, snapshot.cache.of(_Identities).columns(snapshot))
        owners: Any = entries.column(KEY).combine_chunks()
        return cls(
            len(snapshot.slices),
            positions,
            owners if len(rows) == len(owners) else owners.take(pa.array(rows)),
            noted["number"].to_numpy()[rows],
            noted["rowCount"].to_numpy()[rows],
        )

    def __len__(self) -> int:
        return len(self.positions)

    def only(self, rows: Mask) -> Covered:
        """Some of them."""
        owners = self.owners.filter(pa.array(rows))
        return Covered(self.total, self.positions[rows], owners, self.numbers[rows], self.row_counts[rows])

    def mask(self, rows: Mask) -> Mask:
        """The file groups whose row is set, by position."""
        found = np.zeros(self.total, np.bool_)
        found[self.positions[rows]] = True
        return found

    @cached_property
    def partitions(self) -> tuple[pa.Array[Any], npt.NDArray[np.int64]]:
        """The partition paths as keys spell them, and of each row the place of its path among them."""
        encoded: Any = pc.replace_substring_regex(self.owners, r"\$[^$]*\z", "")
        found = encoded.dictionary_encode()
        return found.dictionary, found.indices.to_numpy(zero_copy_only=False).astype(np.int64)

    def rows_of_owners(self, owners: Any) -> npt.NDArray[np.int64]:
        """The rows that owners name, -1 for those that are not covered."""
        if len(owners) == len(self.owners) and pc.all(pc.equal(owners, self.owners), min_count=0).as_py():
            # The usual case: entries of just the covered file groups, in their order.
            return np.arange(len(self))
        found = pc.fill_null(pc.index_in(owners, value_set=self.owners), -1)
        return np.asarray(found.to_numpy(), np.int64)

    @cached_property
    def _by_number(self) -> npt.NDArray[np.int64]:
        return np.argsort(self.numbers, kind="stable")

    def rows_of_numbers(self, numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The rows that numbers name, -1 for those that are not covered."""
        if not len(self):
            return np.full(len(numbers), -1, np.int64)
        ranks = np.searchsorted(self.numbers, numbers, sorter=self._by_number)
        rows = self._by_number[np.minimum(ranks, len(self) - 1)]
        return np.where(self.numbers[rows] == numbers, rows, -1)


@dataclass(frozen=True)
class Candidates:
    """The covered file groups that an answer can still change."""

    covered: Covered
    left: Mask
    """By row of `covered`. Of the others an index may say what it likes."""

    @classmethod
    def all(cls, covered: Covered) -> Candidates:
        """Every covered file group."""
        return cls(covered, np.ones(len(covered), np.bool_))

    def __len__(self) -> int:
        return int(self.left.sum())


class _LastCovered:
    """What was last found to be covered of a snapshot."""

    state: IndexFiles = ()
    covered: Covered | None = None


class _Identities:
    """What a snapshot's slices are compared by, made once."""

    def __init__(self) -> None:
        self._columns: dict[str, Any] | None = None

    def columns(self, snapshot: Snapshot) -> dict[str, Any]:
        if self._columns is None:
            self._columns = identity_columns(snapshot.slices)
        return self._columns
