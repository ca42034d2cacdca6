"""The rows whose text holds a stretch of `size` characters, as bitmaps of their positions.

    key        <column>$<gram>$<number of the file group>
    payload    BitmapIndexMetadata, as `kind_parts.bitmaps` says
    answers    LIKE '%x%', LIKE 'a%b%c', contains, startswith, endswith, RLIKE with literals in it; =, IN, and
               ranges whose texts begin alike

A text gives its grams with a mark before its first and after its last character, so that beginnings and ends
are found. A text that holds the mark itself merely gives grams that mean more than one thing: rows are told
that *may* match. What is asked in fewer characters than a gram has is not answered. Null has no gram. A
column with more than `max_grams` grams in a file group is not told of there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pyarrow import types

from hudi_index.errors import UnsupportedTypeError
from hudi_index.kind_parts.bitmaps import TokenBuilder, bitmap_question
from hudi_index.kind_parts.grams import END, START, grams_of
from hudi_index.kind_parts.protocol import IndexKind
from hudi_index.kind_parts.ranges import points_of, source_of
from hudi_index.kind_specs import built_in
from hudi_index.predicate.values.condition import TextPattern
from hudi_index.predicate.values.domain import Domain, common_prefix

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.coverage.covered import Candidates
    from hudi_index.kind_parts.protocol import Question, SliceContext, TableFacts
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["Ngram"]

_MOST_GRAMS = 64
"""Of one text; more would cost more than they could still exclude."""
_MOST_TEXTS = 1_000


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
        if not (types.is_string(data_type) or types.is_large_string(data_type)):
            reason = "an ngram index is over text"
            raise UnsupportedTypeError(column=column, type_name=str(data_type), reason=reason)

    def builder(self, context: SliceContext) -> TokenBuilder:
        """Describes one slice."""
        return TokenBuilder(self, context, self.max_grams, lambda texts: grams_of(texts, self.size))

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
        start = [START + condition.start] if condition.start else []
        end = [condition.end + END] if condition.end else []
        return [[*start, *condition.pieces, *end]]
    if not isinstance(condition, Domain) or condition.has_null or len(condition.ranges) > _MOST_TEXTS:
        return []
    return [
        [f"{START}{each.low.value}{END}" if each.is_point else START + common_prefix(each)]
        for each in condition.ranges
    ]
