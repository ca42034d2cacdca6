"""What an index is over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_index.entries.encoding import encode_text

if TYPE_CHECKING:
    import pyarrow as pa

    from hudi_index.predicate.values.condition import Term

__all__ = ["Source"]


@dataclass(frozen=True, slots=True)
class Source:
    """A column or evaluated expression that an index is over."""

    name: str
    """Names it in keys."""
    column: str
    """Names it in batches; `a.b` is field b of struct column a."""
    term: Term
    data_type: pa.DataType

    @property
    def part(self) -> str:
        """Its name as a key part."""
        return encode_text(self.name)
