"""One table with its indexes: the facade that the library, the CLI, the jobs and the provider use."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from hudi_index import lifecycle
from hudi_index.catalog import (
    Catalog,
    CreateIndex,
    DropIndex,
    RebuildIndex,
    RefreshIndex,
    ShowIndexes,
    definition_of,
    parse_statement,
)
from hudi_index.lifecycle import LocalExecutor
from hudi_index.metadata_table import MetadataTable
from hudi_index.planner import plan
from hudi_index.storage import Storage
from hudi_index.table import TableConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hudi_index.catalog import IndexDefinition
    from hudi_index.jobs import JobReport
    from hudi_index.lifecycle import Executor, TableStatus
    from hudi_index.planner import ScanPlan

__all__ = ["IndexedTable"]


@dataclass(frozen=True)
class IndexedTable:
    """A Hudi table and its indexes.

    Verbs that build take the Spark session they run on; without one they run in this process, which is for
    small tables.
    """

    storage: Storage

    @classmethod
    def open(cls, location: str | Path, options: Mapping[str, str] | None = None) -> IndexedTable:
        """The table at a path or URI. Raises NoSuchTableError."""
        storage = Storage.open(location, options)
        TableConfig.load(storage)
        return cls(storage)

    @cached_property
    def _metadata_table(self) -> MetadataTable:
        # One for all plans: what it read of files that never change serves the next plan too.
        return MetadataTable.of(self.storage)

    def indexes(self) -> tuple[IndexDefinition, ...]:
        """The indexes with their state."""
        return tuple(Catalog(self.storage).load())

    def status(self) -> TableStatus:
        """How the indexes are, and how far behind the table."""
        return lifecycle.status(self.storage)

    def plan(self, predicate: str, *, as_of: str | None = None, time_zone: str = "UTC") -> ScanPlan:
        """The file slices that a query with this predicate has to read, without a JVM."""
        return plan(self._metadata_table, self.storage, predicate, as_of=as_of, time_zone=time_zone)

    def sql(self, statement: str, *, spark: Any = None) -> JobReport | tuple[IndexDefinition, ...]:
        """Carry out a statement about indexes; SHOW INDEXES returns the definitions, all others a report."""
        parsed = parse_statement(statement)
        match parsed:
            case CreateIndex():
                return lifecycle.create(
                    self.storage, _executor(spark), definition_of(parsed), if_not_exists=parsed.if_not_exists
                )
            case DropIndex():
                return self.drop(parsed.name, if_exists=parsed.if_exists)
            case RebuildIndex():
                return lifecycle.rebuild(self.storage, _executor(spark), parsed.name)
            case RefreshIndex():
                Catalog(self.storage).load().definition_of(parsed.name)
                return self.maintain(spark=spark)
            case ShowIndexes():
                return self.indexes()

    def maintain(self, *, spark: Any = None) -> JobReport:
        """Bring all indexes up to the table's newest commit."""
        return lifecycle.maintain(self.storage, _executor(spark))

    def compact(
        self, *, partitions: Sequence[str] | None = None, force: bool = False, spark: Any = None
    ) -> JobReport:
        """Compact the index metadata table where that is due."""
        return lifecycle.compact(self.storage, _executor(spark), partitions=partitions, force=force)

    def drop(self, name: str, *, if_exists: bool = False) -> JobReport:
        """Take an index away."""
        return lifecycle.drop(self.storage, name, if_exists=if_exists)


def _executor(spark: Any) -> Executor:
    if spark is None:
        return LocalExecutor()
    # By name: the engine must import where there is no pyspark.
    module = importlib.import_module("hudi_index.spark.executor")
    return cast("Executor", module.SparkExecutor(spark))
