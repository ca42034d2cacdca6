"""Indexes for Apache Hudi tables: the engine.

Each part may import what stands below it, never what stands above or beside it:

    cli                          the command `hudi-index`
    spark                        sessions, building, reading and validating on Spark: alone with pyspark
    engine                       IndexedTable, the facade of all below
    validation | queries         proof that the indexes are right, by content and by queries | what one asks
    dataset                      a table for engines that bring filters of Arrow's
    aggregates                   numbers and extremes of rows, from indexes where they can tell
    scan | writer                rows of a plan as Arrow batches | rows to the locations of their records
    lifecycle | planner          create, maintain, compact, repair, drop | which file groups a query reads
    kinds | metadata_table       what an index knows about a file group | where its entries are stored
    kind_parts                   what kinds are made of: their protocol, and parts that several share
    coverage                     why no row is lost: which slices the indexes describe
    entries                      keys, values and changes of entries: the words those share
    catalog                      index definitions, their states, the SQL that changes them
    table                        a Hudi table as of one instant: file groups, slices, rows
    predicate                    what a query asks: expressions, binding, domains
    gate                         what a text that somebody gives may do: ask the table's rows, nothing else
    storage_check                proof that a storage can hold indexes
    storage | jobs | storage_arguments
                                 files under one root, with atomic create and replace | what a job reports |
                                 storage options on a command line
    arguments | kind_specs | side_by_side
                                 what a caller may give | the kinds of index, a row each | calls at once
    errors                       what can go wrong, by what the caller can do about it
    credentials | deprecation | log_once
                                 what must never be shown | names that go away | warnings told once

There is no Airflow below this package, and no JVM below `spark`. Importing `hudi_index` itself imports
none of its parts, so that Airflow can load the provider, which needs `errors`, without loading Arrow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hudi_index.engine import IndexedTable
    from hudi_index.scan import ScanReport

__all__ = ["IndexedTable", "ScanReport", "__version__"]

__version__ = "0.1.0"

_HOMES = {"IndexedTable": "hudi_index.engine", "ScanReport": "hudi_index.scan"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
