"""The rows whose array has an element, as bitmaps of their positions.

    key        <column>$<element>$<number of the file group>
    payload    BitmapIndexMetadata, as `kind_parts.bitmaps` says
    answers    array_contains, arrays_overlap and exists, where they say of which elements there must be one

Elements are what a key can hold: no arrays, maps or structs. Null is an element; a null or empty array has
none. An array column with more than `max_values` elements in a file group is not told of there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.encoding import key_type
from hudi_index.errors import UnsupportedTypeError
from hudi_index.kind_parts.bitmaps import TokenBuilder, Tokens, bitmap_question, tokens_of_values
from hudi_index.kind_parts.protocol import IndexKind
from hudi_index.kind_parts.ranges import part_domain, source_of
from hudi_index.kind_specs import built_in
from hudi_index.predicate.values.condition import HasElement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.coverage.covered import Candidates
    from hudi_index.kind_parts.protocol import Question, SliceContext, TableFacts
    from hudi_index.kind_parts.source import Source
    from hudi_index.kind_specs import KindSpec
    from hudi_index.predicate.values.condition import Constraint

__all__ = ["Array"]


@dataclass(frozen=True)
class Array(IndexKind):
    """Which rows of which file groups have an array with some elements."""

    spec: ClassVar[KindSpec] = built_in("array")
    max_values: int = 100_000

    @classmethod
    def of(cls, definition: IndexDefinition, sources: tuple[Source, ...], _: TableFacts, /) -> Array:
        """With the number of elements that it tells of."""
        return cls(definition.partition, sources, int(definition.option("max_values")))

    @classmethod
    def check_type(cls, data_type: pa.DataType, column: str) -> None:
        """Raise UnsupportedTypeError unless it is an array of what a key can hold."""
        if not isinstance(data_type, (pa.ListType, pa.LargeListType)):
            reason = "an array index is over an array"
            raise UnsupportedTypeError(column=column, type_name=str(data_type), reason=reason)
        key_type(data_type.value_type, column)

    def builder(self, context: SliceContext) -> TokenBuilder:
        """Describes one slice."""
        return TokenBuilder(self, context, self.max_values, _elements_of)

    def ask(self, constraint: Constraint, candidates: Candidates) -> Question | None:
        """The bitmaps of the elements of which an array must have one."""
        source, condition = source_of(self.sources, constraint), constraint.condition
        if source is None or not isinstance(condition, HasElement):
            return None
        element_type: Any = source.data_type
        domain = part_domain(condition.domain, element_type.value_type)
        return None if domain is None else bitmap_question(self, source, [[domain]], candidates)


def _elements_of(arrays: Any) -> Iterator[Tokens]:
    """Every element as a token of its array's row."""
    # Not `values`: what stands below a null array is undefined.
    (tokens,) = tokens_of_values(arrays.flatten())
    lengths = pc.fill_null(pc.list_value_length(arrays), 0).to_numpy(zero_copy_only=False)
    yield tokens._replace(rows=np.repeat(np.arange(len(arrays)), lengths))
