"""The rows whose text holds a stretch of `size` characters, as bitmaps of their positions.

    key        <column>$<gram>$<number of the file group>
    payload    BitmapIndexMetadata, as `kind_parts.bitmaps` says
    answers    LIKE '%x%', LIKE 'a%b%c', contains, startswith, endswith, RLIKE with literals in it; =, IN, and
               ranges whose texts begin alike

Grams are taken with a mark before a text's first and after its last character, so that beginnings and ends
are found. A text that holds the mark gives grams of two meanings: rows *may* match. What is shorter than a
gram is not answered. Null has no gram; more than `max_grams` grams in a file group are not told of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.errors import UnsupportedTypeError
from hudi_index.kind_parts.bitmaps import TokenBuilder, Tokens, bitmap_question
from hudi_index.kind_parts.protocol import IndexKind
from hudi_index.kind_parts.ranges import points_of, source_of
from hudi_index.kind_specs import built_in
from hudi_index.predicate.values.condition import TextPattern
from hudi_index.predicate.values.domain import Domain, common_prefix

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.coverage.covered import Candidates
    from hudi_index.kind_parts.protocol import Question, SliceContext, TableFacts
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["Ngram"]

_START, _END = "\x02", "\x03"
_MOST_GRAMS = 64
"""Of one text; more would cost more than they could still exclude."""
_MOST_TEXTS = 1_000
_CHARACTERS = 2_000_000
"""That are looked at at a time."""


@dataclass(frozen=True)
class Ngram(IndexKind):
    """Which rows of which file groups hold some stretches of text."""

    spec: ClassVar[KindSpec] = built_in("ngram")
    size: int = 3
    max_grams: int = 100_000

    @classmethod
    def of(cls, definition: IndexDefinition, sources: tuple[Source, ...], _: TableFacts, /) -> Ngram:
        """With the length of its grams and how many it tells of."""
        size, most = int(definition.option("size")), int(definition.option("max_grams"))
        return cls(definition.partition, sources, size, most)

    @classmethod
    def check_type(cls, data_type: pa.DataType, column: str) -> None:
        """Raise UnsupportedTypeError unless it is text."""
        if not (pa.types.is_string(data_type) or pa.types.is_large_string(data_type)):
            reason = "an ngram index is over text"
            raise UnsupportedTypeError(column=column, type_name=str(data_type), reason=reason)

    def builder(self, context: SliceContext) -> TokenBuilder:
        """Describes one slice."""
        return TokenBuilder(self, context, self.max_grams, lambda texts: _grams_of(texts, self.size))

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """The bitmaps of the grams that a text must have; None if it may have none of them."""
        source = source_of(self.sources, constraint)
        alternatives = [self._grams(texts) for texts in _stretches(constraint)] if source else []
        if source is None or not alternatives or not all(alternatives):
            return None
        return bitmap_question(self, source, [points_of(grams) for grams in alternatives], candidates)

    def _grams(self, texts: Sequence[str]) -> list[str]:
        starts = ((text, start) for text in texts for start in range(len(text) - self.size + 1))
        every = dict.fromkeys(text[start : start + self.size] for text, start in starts)
        # Halves of a surrogate pair stand in no text.
        found = [gram for gram in every if not re.search("[\ud800-\udfff]", gram)]
        # From all over the text: neighbours say nearly the same.
        return found[:: -(-len(found) // _MOST_GRAMS) or 1]


def _stretches(constraint: Constraint) -> list[list[str]]:
    """What a text must hold, for each way to meet a constraint; nothing if that is not certain."""
    condition = constraint.condition
    if isinstance(condition, TextPattern):
        return [[_START + condition.start, *condition.pieces, condition.end + _END]]
    if not isinstance(condition, Domain) or condition.has_null or len(condition.ranges) > _MOST_TEXTS:
        return []
    return [
        [f"{_START}{each.low.value}{_END}" if each.is_point else _START + common_prefix(each)]
        for each in condition.ranges
    ]


def _grams_of(texts: Any, size: int) -> Iterator[Tokens]:
    """The grams of texts, each once for its row."""
    lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    first = 0
    while first < len(texts):
        # As many rows as have so many characters, at least one.
        count = max(1, int(np.searchsorted(np.cumsum(lengths[first:]), _CHARACTERS, side="right")))
        found = _grams_of_few(texts.slice(first, count), size)
        yield found._replace(rows=found.rows + first)
        first += count


def _grams_of_few(texts: Any, size: int) -> Tokens:
    encoded = texts.dictionary_encode()
    distinct: list[Any] = encoded.dictionary.to_pylist()
    marked = "".join(f"{_START}{text}{_END}" for text in distinct)
    owners = np.repeat(np.arange(len(distinct)), [len(text) + 2 for text in distinct])
    count = max(0, len(owners) - size + 1)
    inside = np.flatnonzero(owners[:count] == owners[len(owners) - count :])
    _, examples, grams = np.unique(_codes_of(marked, size)[inside], return_index=True, return_inverse=True)
    words = [marked[start : start + size] for start in inside[examples].tolist()]
    # A gram that stands several times in a text counts once.
    pairs = np.unique(owners[inside] * max(1, len(words)) + grams)
    text_of, gram_of = np.divmod(pairs, max(1, len(words)))
    starts = np.searchsorted(text_of, np.arange(len(distinct) + 1))
    rows = np.flatnonzero(encoded.indices.is_valid().to_numpy(zero_copy_only=False))
    of_rows = encoded.indices.drop_null().to_numpy(zero_copy_only=False)
    counts = np.diff(starts)[of_rows]
    places = np.repeat(starts[of_rows] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    return Tokens(pa.array(words, pa.string()), gram_of[places], np.repeat(rows, counts))


def _codes_of(text: str, size: int) -> npt.NDArray[np.uint64]:
    """A number for the gram at each place, the same for the same gram."""
    characters = np.frombuffer(text.encode("utf-32-le"), np.uint32).astype(np.uint64)
    count = max(0, len(characters) - size + 1)
    codes = characters[:count]
    for offset in range(1, size):
        if offset > 2:
            # Three code points of 21 bits fill a word: a rank leaves room for one more.
            codes = np.unique(codes, return_inverse=True)[1].astype(np.uint64)
        codes = (codes << np.uint64(21)) | characters[offset : offset + count]
    return codes
