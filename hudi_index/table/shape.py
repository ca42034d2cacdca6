"""What one must know of a table to read its slices: configuration, columns, origin of partition values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from hudi_index.table.config import TableConfig
    from hudi_index.table.partitions import PartitionColumns
    from hudi_index.table.schema import TableSchema

__all__ = ["TableShape"]


@dataclass(frozen=True)
class TableShape:
    """A table as its slices are read. Picklable."""

    config: TableConfig
    schema: TableSchema
    partitions: PartitionColumns

    @cached_property
    def columns_with_meta(self) -> pa.Schema:
        """All columns that can be asked for."""
        return self.schema.with_meta_columns(self.config)
