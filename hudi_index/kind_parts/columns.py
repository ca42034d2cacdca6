"""Kinds with one entry per file group and column: `<column>$<partition path>$<file id>`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.keys import SEPARATOR
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY
from hudi_index.kind_parts.protocol import Question
from hudi_index.kind_parts.values import entry_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from hudi_index.coverage.covered import Mask
    from hudi_index.kind_parts.protocol import IndexKind, SliceContext
    from hudi_index.kind_parts.source import Source

__all__ = ["ColumnQuestion", "column_entries", "column_range"]


def column_range(source: Source) -> list[tuple[str | None, KeyRange]]:
    """All entries of a column."""
    return [(source.part, KeyRange.prefix(source.part + SEPARATOR))]


def column_entries(
    kind: IndexKind, context: SliceContext, sources: Iterable[Source], payloads: Sequence[dict[str, Any]]
) -> pa.Table:
    """The entry of each column."""
    owner = kind.owner_of(context)
    keys = [f"{source.part}{SEPARATOR}{owner}" for source in sources]
    return entry_table(pa.array(keys, pa.string()), kind.spec, payloads)


@dataclass(frozen=True, kw_only=True)
class ColumnQuestion(Question):
    """An entry that says no refutes its file group."""

    source: Source

    @abstractmethod
    def says_no(self, entries: pa.Table, rows: npt.NDArray[np.int64]) -> Mask:
        """By entry, given the row of `candidates.covered` that it is of or -1."""

    def refute(self, entries: pa.Table) -> Mask:
        """The file groups whose entry says that no value meets the condition."""
        prefix = self.source.part + SEPARATOR
        keys: Any = entries.column(KEY)
        rows = self.candidates.covered.rows_of_owners(pc.utf8_slice_codeunits(keys, len(prefix)))
        says_no = self.says_no(entries, rows) & (rows >= 0)
        says_no &= pc.starts_with(keys, prefix).to_numpy()
        refuted = np.zeros(len(self.candidates.covered), np.bool_)
        refuted[rows[says_no]] = True
        return refuted
