"""The rows of each value, as bitmaps of their positions (RFC-92).

    key        <column>$<value>$<partition path>$<file id>
    payload    BitmapIndexMetadata, as `kind_parts.bitmaps` says
    answers    every domain; rows are told, so that AND, OR and NOT are taken row by row

Null is a value. A column with more than `max_values` values in a file group is not told of there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from hudi_index.kind_parts.bitmaps import TokenBuilder, bitmap_question
from hudi_index.kind_parts.protocol import IndexKind
from hudi_index.kind_parts.ranges import find_domain
from hudi_index.kind_specs import built_in

if TYPE_CHECKING:
    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.coverage.covered import Candidates
    from hudi_index.kind_parts.protocol import Question, SliceContext, TableFacts
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["Bitmap"]


@dataclass(frozen=True)
class Bitmap(IndexKind):
    """Which rows of which file groups have some values."""

    spec: ClassVar[KindSpec] = built_in("bitmap")
    max_values: int = 10_000

    @classmethod
    def of(cls, definition: IndexDefinition, sources: tuple[Source, ...], _: TableFacts, /) -> Bitmap:
        """With the number of values that it tells of."""
        return cls(definition.partition, sources, int(definition.option("max_values")))

    def builder(self, context: SliceContext) -> TokenBuilder:
        """Describes one slice."""
        return TokenBuilder(self, context, self.max_values)

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """The bitmaps of the values that meet it."""
        asked = find_domain(self.sources, constraint)
        if asked is None:
            return None
        source, domain = asked
        # Every row has one value: all but a few are the rest of the rows, without a look at any of them.
        if others := domain.left_out:
            return bitmap_question(self, source, [[others]], candidates, is_for_others=True)
        return bitmap_question(self, source, [[domain]], candidates)
