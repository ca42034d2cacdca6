"""The file groups of a snapshot that the indexes describe, as columns: no object per file group.

A file group is known by its place among the snapshot's slices. Sets of file groups are masks over those
places, so AND and OR of a quarter of a million file groups take no time worth counting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from hudi_index.coverage import files
from hudi_index.coverage.identities import identity_columns
from hudi_index.entries.schema import KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from hudi_index.table import FileGroupId, FileSlice, Snapshot

    Mask = npt.NDArray[np.bool_]

IndexFiles: TypeAlias = tuple[str, ...]
"""Where the index metadata table is, and which files hold what is noted."""

__all__ = ["Covered", "CoveredGroup", "IndexFiles"]


@dataclass(frozen=True, slots=True)
class CoveredGroup:
    """A file group whose current slice is the one that the entries describe."""

    group: FileGroupId
    number: int
    row_count: int


@dataclass(frozen=True)
class Covered:
    """The covered file groups of some slices, one row each."""

    slices: Sequence[FileSlice]
    places: npt.NDArray[np.int64]
    """Of each row among the slices."""
    owners: pa.Array[Any]
    """What keys of each row end with."""
    numbers: npt.NDArray[np.int64]
    row_counts: npt.NDArray[np.int64]

    @classmethod
    def none(cls, slices: Sequence[FileSlice]) -> Covered:
        """Nothing is covered."""
        nothing = np.zeros(0, np.int64)
        return cls(slices, nothing, pa.array([], pa.string()), nothing, nothing)

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
            last.state, last.covered = state, cls._matched(snapshot, load())
        return last.covered

    @classmethod
    def _matched(cls, snapshot: Snapshot, entries: pa.Table) -> Covered:
        noted = files.noted_columns(entries)
        rows, places = files.described_places(noted, snapshot.cache.of(_Identities).columns(snapshot))
        owners: Any = entries.column(KEY).combine_chunks()
        return cls(
            snapshot.slices,
            places,
            owners if len(rows) == len(owners) else owners.take(pa.array(rows)),
            noted["number"].to_numpy()[rows],
            noted["rowCount"].to_numpy()[rows],
        )

    def without_logs(self) -> Covered:
        """Those of them that are base files alone."""
        plain = np.array([not self.slices[place].log_files for place in self.places.tolist()], np.bool_)
        return Covered(
            self.slices,
            self.places[plain],
            self.owners.filter(pa.array(plain)),
            self.numbers[plain],
            self.row_counts[plain],
        )

    def __len__(self) -> int:
        return len(self.places)

    def groups_in(self, wanted: Mask) -> list[CoveredGroup]:
        """The covered file groups among some."""
        rows = np.flatnonzero(wanted[self.places])
        return [
            CoveredGroup(self.slices[place].group, number, count)
            for place, number, count in zip(
                self.places[rows].tolist(),
                self.numbers[rows].tolist(),
                self.row_counts[rows].tolist(),
                strict=True,
            )
        ]

    def mask(self, rows: Mask) -> Mask:
        """The file groups whose row is set."""
        found = np.zeros(len(self.slices), np.bool_)
        found[self.places[rows]] = True
        return found

    def mask_of(self, groups: frozenset[FileGroupId], wanted: Mask) -> Mask:
        """The file groups of a set, looked for among some."""
        found = np.zeros(len(self.slices), np.bool_)
        if groups:
            places = self.places[wanted[self.places]].tolist()
            found[[place for place in places if self.slices[place].group in groups]] = True
        return found


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
