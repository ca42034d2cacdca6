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
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from hudi_index.entries.keys import SEPARATOR, join_keys
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, PAYLOADS, payload_fields
from hudi_index.errors import UnencodableValueError
from hudi_index.kind_parts.numbers import numbers_of
from hudi_index.kind_parts.postings import Postings
from hudi_index.kind_parts.protocol import RowQuestion
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
    kind: IndexKind, source: Source, alternatives: Sequence[Sequence[PartDomain]], candidates: Candidates
) -> BitmapQuestion:
    """Asks for the rows that, for some alternative, have a token in each of its domains."""
    prefix = source.part + SEPARATOR
    unknown = prefix + CUT
    wanted = {each: None for domains in alternatives for domain in domains for each in domain.keys(prefix)}
    ranges = [*wanted, (unknown, KeyRange.prefix(unknown + SEPARATOR))]
    return BitmapQuestion(
        candidates, ranges, kind.payloads, source=source, alternatives=alternatives, kind=kind
    )


@dataclass(frozen=True, kw_only=True)
class BitmapQuestion(RowQuestion):
    """See `bitmap_question`."""

    source: Source
    alternatives: Sequence[Sequence[PartDomain]]
    kind: IndexKind

    def rows(self, entries: pa.Table) -> dict[int, BitMap | None]:
        """The rows that have all tokens of an alternative; None where nobody can tell."""
        tokens, covered_rows = self._tokens_and_rows(entries)
        bitmaps = payload_fields(entries, self.payloads[0])["bitmap"]
        found: dict[int, dict[str, int]] = {row: {} for row in np.flatnonzero(self.candidates.left).tolist()}
        for entry, (token, row) in enumerate(zip(tokens, covered_rows, strict=True)):
            if token is not None and row in found:
                found[row][token] = entry
        return {row: self._matching(tokens, bitmaps) for row, tokens in found.items()}

    def _tokens_and_rows(self, entries: pa.Table) -> tuple[list[str | None], list[int]]:
        """The token of each entry, None for another column's, and the row of `candidates.covered`."""
        covered, column = self.candidates.covered, self.source.part
        keys: list[Any] = entries.column(KEY).to_pylist()
        parts = [key.split(SEPARATOR, 2) for key in keys]
        tokens = [token if name == column else None for name, token, _ in parts]
        if self.kind.spec.names_owner_by_number:
            return tokens, covered.rows_of_numbers(numbers_of(entries.column(KEY))).tolist()
        owners = pa.array([owner for _, _, owner in parts], pa.string())
        return tokens, covered.rows_of_owners(owners).tolist()

    def _matching(self, tokens: dict[str, int], bitmaps: Any) -> BitMap | None:
        if CUT in tokens:
            return None
        found = BitMap()
        for domains in self.alternatives:
            rows = self._with_all(domains, tokens, bitmaps)
            if rows is None:
                return None
            found |= rows
        return found

    def _with_all(self, domains: Sequence[PartDomain], tokens: dict[str, int], bitmaps: Any) -> BitMap | None:
        """The rows with a token in each of some domains; None if any may have."""
        chosen: list[list[int]] = []
        for domain in domains:
            if domain.is_widened:
                # It can't judge a token; then all that was asked for counts as found.
                return None if tokens else BitMap()
            if domain.has_only_points:
                held = [tokens[member] for member in domain.members if member in tokens]
            else:
                held = [entry for token, entry in tokens.items() if domain.holds(token)]
            if not held:
                return BitMap()
            chosen.append(held)
        each = [[_deserialize(bitmaps[entry].as_py()) for entry in held] for held in chosen]
        if any(rows is None for held in each for rows in held):
            return None
        united = [reduce(lambda one, other: one | other, held) for held in each]  # type: ignore[operator]
        return reduce(lambda one, other: one & other, united)  # type: ignore[operator]


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


def _deserialize(data: bytes | None) -> BitMap | None:
    try:
        return BitMap.deserialize(data) if data else None
    except ValueError:
        return None
