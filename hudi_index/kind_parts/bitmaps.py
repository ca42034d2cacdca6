"""Kinds with one entry per file group and token: the rows that hold it, as a bitmap of their positions.

    key        <column>$<token>$<owner>
               <column>$%~$<owner>        the column has too many tokens here: can't tell
    payload    BitmapIndexMetadata: RoaringBitmap in its portable form; none in a `%~` entry
    shard      column and token

What is a token is the kind's to say: a value, an element, a stretch of text. No encoded token is `%~`, and
every question reads the `%~` entries of its column. A token without an entry stands in no row. Long tokens
are shortened as `kind_parts.values` says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyroaring import BitMap

from hudi_index.entries.keys import SEPARATOR, join_keys
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, PAYLOADS, payload_fields
from hudi_index.errors import UnencodableValueError
from hudi_index.kind_parts.postings import Postings
from hudi_index.kind_parts.protocol import RowQuestion
from hudi_index.kind_parts.told import ToldBitmaps
from hudi_index.kind_parts.values import CUT, entry_table, key_parts, values_of
from hudi_index.table.rows import ROW_POSITION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from hudi_index.coverage.covered import Candidates
    from hudi_index.kind_parts.protocol import IndexKind, SliceContext
    from hudi_index.kind_parts.ranges import PartDomain
    from hudi_index.kind_parts.source import Source

__all__ = ["BitmapQuestion", "TokenBuilder", "Tokens", "bitmap_question", "tokens_of_values"]

_PAYLOAD = PAYLOADS["BitmapIndexMetadata"]
_TOO_MANY = (pa.array([CUT]), pa.nulls(1, _PAYLOAD))


class Tokens(NamedTuple):
    """The tokens of some rows: distinct ones, and which of them stands in which row."""

    distinct: pa.Array[Any]
    indices: npt.NDArray[Any]
    """Into `distinct`."""
    rows: npt.NDArray[Any]
    """Of each index, the row of the batch."""


def tokens_of_values(values: Any) -> Iterator[Tokens]:
    """Every value, null too, as the token of its row."""
    encoded = values.dictionary_encode(null_encoding="encode")
    indices = encoded.indices.to_numpy(zero_copy_only=False)
    yield Tokens(encoded.dictionary, indices, np.arange(len(values)))


def bitmap_question(
    kind: IndexKind,
    source: Source,
    alternatives: Sequence[Sequence[PartDomain]],
    candidates: Candidates,
    *,
    is_for_others: bool = False,
) -> BitmapQuestion:
    """Asks for the rows that, for some alternative, have a token in each of its domains.

    Or for all other rows.
    """
    prefix = source.part + SEPARATOR
    unknown = prefix + CUT
    wanted = {each: None for domains in alternatives for domain in domains for each in domain.keys(prefix)}
    ranges = [*wanted, (unknown, KeyRange.prefix(unknown + SEPARATOR))]
    return BitmapQuestion(
        candidates,
        ranges,
        kind.payloads,
        source=source,
        alternatives=alternatives,
        kind=kind,
        is_for_others=is_for_others,
    )


@dataclass(frozen=True, kw_only=True)
class BitmapQuestion(RowQuestion):
    """See `bitmap_question`."""

    source: Source
    alternatives: Sequence[Sequence[PartDomain]]
    kind: IndexKind
    is_for_others: bool = False
    """Whether it is the other rows that are asked for."""

    def rows(self, entries: pa.Table) -> dict[int, BitMap | None]:
        """The rows that have all tokens of an alternative; None where nobody can tell."""
        left = np.flatnonzero(self.candidates.left).tolist()
        found: dict[int, BitMap | None] = {row: BitMap() for row in left}
        told = self._told(entries)
        for domains in self.alternatives:
            for row, rows in told.rows_with(domains):
                known = found[row]
                found[row] = None if rows is None or known is None else known | rows
        if self.is_for_others:
            counts = self.candidates.covered.row_counts.tolist()
            found = {
                row: None if rows is None else BitMap(range(counts[row])) - rows
                for row, rows in found.items()
            }
        found.update(dict.fromkeys(told.file_groups_with(CUT)))
        return found

    def _told(self, entries: pa.Table) -> ToldBitmaps:
        """The entries of this column and of file groups that are left."""
        covered, left = self.candidates.covered, self.candidates.left
        # As Any: pyarrow's stubs don't know these functions' results.
        keys: Any = entries.column(KEY).combine_chunks()
        parts: Any = pc.split_pattern(keys, SEPARATOR, max_splits=2)
        tokens, owners = pc.list_element(parts, 1), pc.list_element(parts, 2)
        if self.kind.spec.names_owner_by_number:
            rows = covered.rows_of_numbers(owners.cast(pa.int64()).to_numpy(zero_copy_only=False))
        else:
            rows = covered.rows_of_owners(owners)
        is_asked = pc.starts_with(keys, self.source.part + SEPARATOR).to_numpy(zero_copy_only=False)
        ordinals = np.flatnonzero(is_asked & (rows >= 0))
        ordinals = ordinals[left[rows[ordinals]]]
        bitmaps = payload_fields(entries, self.payloads[0])["bitmap"]
        return ToldBitmaps.of(tokens.take(ordinals), rows[ordinals], ordinals, bitmaps)


class TokenBuilder:
    """Keeps token and position of the rows so far."""

    def __init__(
        self,
        kind: IndexKind,
        context: SliceContext,
        most: int,
        tokens_of: Callable[[Any], Iterator[Tokens]] = tokens_of_values,
    ) -> None:
        self._kind, self._context, self._tokens_of = kind, context, tokens_of
        self._found = {source: Postings(most) for source in kind.sources}

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in; nothing is complete before the last."""
        positions = batch.column(ROW_POSITION).to_numpy(zero_copy_only=False).astype(np.uint32)
        for source, found in self._found.items():
            try:
                for tokens in self._tokens_of(values_of(batch, source.column)):
                    if found.fit:
                        parts = key_parts(tokens.distinct, source.name)
                        found.add(parts, tokens.indices, positions[tokens.rows])
            except (pa.ArrowInvalid, UnicodeDecodeError) as error:
                type_name = str(source.data_type)
                raise UnencodableValueError(
                    column=source.name, type_name=type_name, reason=str(error)
                ) from error
        return iter(())

    def finish(self) -> Iterator[pa.Table]:
        """The bitmaps, column by column."""
        owner = self._kind.owner_of(self._context)
        for source, found in self._found.items():
            for parts, bitmaps in found.bitmaps() if found.fit else [_TOO_MANY]:
                keys = join_keys([source.part, parts, owner])
                yield entry_table(keys, self._kind.spec, bitmaps)
