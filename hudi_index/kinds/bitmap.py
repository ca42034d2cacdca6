"""The rows of each value, as bitmaps of their positions (RFC-92).

    key        <column>$<value>$<partition path>$<file id>
               <column>$%~$<partition path>$<file id>        the column has too many values here: can't tell
    payload    BitmapIndexMetadata: RoaringBitmap in its portable form; none in a `%~` entry
    shard      column and value
    answers    every domain; `positions` tells rows, so that AND, OR and NOT are taken row by row

Null is a value. No encoded value is `%~`, and every look-up of a column reads its `%~` entries. A value
without an entry stands in no row. Long values are shortened as `_parts` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from hudi_index.entries.encoding import NULL
from hudi_index.entries.keys import OWNER_PARTS, SEPARATOR, join_keys, owner_suffix
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, PAYLOADS, PayloadType, payload_fields
from hudi_index.kinds._parts import CUT, entry_table, key_parts, owners_of, values_of
from hudi_index.kinds._ranges import asked_of
from hudi_index.kinds.protocol import Lookup
from hudi_index.table.rows import ROW_POSITION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    import numpy.typing as npt

    from hudi_index.kinds._parts import Source
    from hudi_index.kinds.protocol import CoveredGroup, SliceContext
    from hudi_index.predicate.values.condition import Constraint
    from hudi_index.table.slices import FileGroupId

__all__ = ["Bitmap", "negated"]

PAYLOAD = "BitmapIndexMetadata"


@dataclass(frozen=True)
class Bitmap:
    """Which rows of which file groups have some values."""

    partition: str
    sources: tuple[Source, ...]
    max_values: int = 10_000

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns with bitmaps."""
        return tuple(source.column for source in self.sources)

    @property
    def payloads(self) -> tuple[str, ...]:
        """The bitmap."""
        return (PAYLOAD,)

    @property
    def is_divisible(self) -> bool:
        """An entry describes all rows."""
        return False

    def owner_suffix(self, context: SliceContext) -> str:
        """Partition path and file id."""
        return SEPARATOR + owner_suffix(context.group.partition_path, context.group.file_id)

    def builder(self, context: SliceContext) -> BitmapBuilder:
        """Describes one slice."""
        return BitmapBuilder(self, context)

    @property
    def key_tail(self) -> int:
        """The owner: the entries of a column's value sit together."""
        return OWNER_PARTS

    def lookup(self, constraint: Constraint) -> Lookup | None:
        """The bitmaps of the wanted values, and where nobody can tell."""
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None:
            return None
        prefix = source.part + SEPARATOR
        unknown = prefix + CUT
        return Lookup([*domain.keys(prefix), (unknown, KeyRange.prefix(unknown + SEPARATOR))], [PAYLOAD])

    def prune(
        self, constraint: Constraint, entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> frozenset[FileGroupId]:
        """The covered file groups that hold none of the values."""
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None:
            return frozenset()
        owners = owners_of(covered)
        for _, value, owner in _entries_of(source, entries):
            # A widened domain can't judge a value; then all that was asked for counts as found.
            if value == CUT or domain.is_widened or domain.holds(value):
                owners.pop(owner, None)
        return frozenset(owners.values())

    def positions(
        self, constraint: Constraint, entries: pa.Table, covered: Collection[CoveredGroup]
    ) -> dict[FileGroupId, BitMap | None]:
        """The positions of the matching rows, exactly, by covered file group; None where nobody can tell."""
        found: dict[FileGroupId, BitMap | None] = {each.group: None for each in covered}
        source, domain = asked_of(self.sources, constraint)
        if source is None or domain is None or domain.is_widened:
            return found
        owners, bitmaps = owners_of(covered), payload_fields(entries, PAYLOAD)["bitmap"]
        found = {group: BitMap() for group in found}
        for row, value, owner in _entries_of(source, entries):
            group = owners.get(owner)
            if group is None or not (value == CUT or domain.holds(value)):
                continue
            rows, more = found[group], _deserialized(bitmaps[row].as_py())
            found[group] = None if rows is None or more is None else rows | more
        return found


def negated(rows: BitMap | None, row_count: int) -> BitMap | None:
    """All rows of a file group but these."""
    return None if rows is None else rows.flip(0, row_count)


def _entries_of(source: Source, entries: pa.Table) -> Iterator[tuple[int, str, str]]:
    """Row, value and owner of a column's entries."""
    keys: list[Any] = entries.column(KEY).to_pylist()
    for row, key in enumerate(keys):
        column, value, owner = key.split(SEPARATOR, 2)
        if column == source.part:
            yield row, value, owner


class BitmapBuilder:
    """Keeps value and position of the rows so far."""

    def __init__(self, kind: Bitmap, context: SliceContext) -> None:
        self._context = context
        self._found = {source: _Values(kind.max_values) for source in kind.sources}

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last."""
        positions = batch.column(ROW_POSITION).to_numpy(zero_copy_only=False)
        for source, found in self._found.items():
            if found.fit:
                found.add(values_of(batch, source.column), positions, source.name)
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """The bitmaps, column by column."""
        owner = owner_suffix(self._context.group.partition_path, self._context.group.file_id)
        for source, found in self._found.items():
            bitmaps = found.bitmaps() if found.fit else {CUT: None}
            keys = join_keys([source.part, pa.array(list(bitmaps), pa.string()), owner])
            payloads = [None if data is None else {"bitmap": data} for data in bitmaps.values()]
            payload = pa.array(payloads, PAYLOADS[PAYLOAD])
            yield entry_table(keys, PayloadType.BITMAP, (PAYLOAD, payload, PAYLOADS[PAYLOAD]))


class _Values:
    """Values by number, and the number and position of each row."""

    def __init__(self, max_values: int) -> None:
        self._max_values = max_values
        self._numbers: dict[str, int] = {}
        self._rows: list[tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32]]] = []
        self.fit = True
        """Whether there are not too many values."""

    def add(self, values: pa.Array[Any], positions: npt.NDArray[Any], column: str) -> None:
        """Take rows in."""
        encoded: Any = values.dictionary_encode(null_encoding="encode")
        parts: list[Any] = key_parts(encoded.dictionary, column).to_pylist()
        # Values that differ for Arrow may be equal here, such as NaNs of different bits.
        numbers = np.array([self._numbers.setdefault(part, len(self._numbers)) for part in parts], np.uint32)
        self.fit = len(self._numbers) - (NULL in self._numbers) <= self._max_values
        if not self.fit:
            self._rows.clear()
            return
        places = encoded.indices.to_numpy(zero_copy_only=False)
        self._rows.append((numbers[places], positions.astype(np.uint32)))

    def bitmaps(self) -> dict[str, bytes | None]:
        """The serialized positions of each value, by value."""
        if not self._rows:
            return {}
        numbers = np.concatenate([each for each, _ in self._rows])
        positions = np.concatenate([each for _, each in self._rows])
        # Short numbers sort by radix, ten times as fast.
        small = numbers.astype(np.uint16) if len(self._numbers) <= 1 << 16 else numbers
        order = np.argsort(small, kind="stable")
        ends = np.cumsum(np.bincount(numbers, minlength=len(self._numbers)))
        pieces = np.split(positions[order], ends[:-1])
        return {part: _serialized(pieces[number]) for part, number in sorted(self._numbers.items())}


def _deserialized(data: bytes | None) -> BitMap | None:
    try:
        return BitMap.deserialize(data) if data else None
    except ValueError:
        return None


def _serialized(positions: npt.NDArray[np.uint32]) -> bytes:
    rows = BitMap(np.sort(positions))
    rows.run_optimize()
    return bytes(rows.serialize())
