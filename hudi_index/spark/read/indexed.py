"""Hudi tables as DataFrames whose scans read only what the indexes could not refute.

The DataFrame is Hudi's own, with one part exchanged: the file index that Spark asks, at planning, which files
a scan reads. Hudi's file-group reader still merges base and log files, and Spark still applies the query's
filters to what is read, so reading too much is never wrong.
"""

from __future__ import annotations

import contextlib
import json
from typing import TYPE_CHECKING, Any, cast

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame

from hudi_index.arguments import check_text
from hudi_index.credentials import without_credentials
from hudi_index.errors import (
    ConflictError,
    CorruptError,
    InvalidOptionError,
    NoJvmError,
    TableFileError,
    UnsupportedTableError,
    UserError,
)
from hudi_index.gate import check_condition
from hudi_index.spark.catalyst.gate import filter_rows
from hudi_index.spark.read.base_files import read_base_files
from hudi_index.spark.read.file_index import FilePlanner, index_factory, make_unplanned_index
from hudi_index.storage import Storage
from hudi_index.table import Snapshot, TableConfig
from hudi_index.table.snapshot import check_instant

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["UNPRUNED", "Readings", "read_indexed", "relation_of", "rows_over"]

UNPRUNED = {"hudi_index.enabled": "false"}
"""The option of a reader whose scans an enabled session leaves alone."""
_QUERY_TYPE = "hoodie.datasource.query.type"
_AS_OF = "as.of.instant"
_FIXED = {
    _QUERY_TYPE: "snapshot",
    # It loses rows (NaN, LIKE, long strings); our indexes take its place.
    "hoodie.enable.data.skipping": "false",
}


def read_indexed(
    spark: SparkSession,
    path: str | Path,
    *,
    where: str | None = None,
    as_of: str | None = None,
    strict: bool = False,
    storage_options: Mapping[str, str] | None = None,
    **options: str,
) -> DataFrame:
    """A Hudi table, pruned at planning by the filters of whatever query reads it.

    The DataFrame shows the table as it is now, and goes on showing that after later commits: for those, call
    this again (`createOrReplaceTempView` under the same name is enough for SQL).

    Args:
        spark: A session with Hudi on its class path.
        path: The table.
        where: Read only rows for which this is true. The plan is made at once and is not made again.
        as_of: The instant to read at (`yyyyMMddHHmmss`, with milliseconds or without).
        strict: Fail the query if a scan can't be planned, instead of a warning and reading everything.
        storage_options: How to open the table from Python, as for `IndexedTable.open`.
        options: For Hudi's reader.

    Raises:
        NoSuchTableError: no Hudi table there.
        UnsupportedTableError: a table that can't be read this way.
        InvalidOptionError: an option that contradicts what this function does.
        NoJvmError: Spark Connect, and no `where`.
    """
    if where is not None:
        check_text("where", where, "one predicate, as a text")
    storage = Storage.open(path, storage_options)
    TableConfig.load(storage)
    # Hadoop takes no credentials from a URI, and Spark shows in its plans what it is given.
    path = without_credentials(str(path))
    settings = _reader_options(as_of, options)
    if not hasattr(spark, "_jsparkSession"):
        if where is None:
            raise NoJvmError(path=path)
        check_condition(where)
        return cast("DataFrame", read_base_files(spark, storage, where, as_of))
    planner = FilePlanner(storage, as_of, strict, options=options)
    frame = spark.read.format("hudi").options(**settings).load(path)
    relation = relation_of(frame, storage)
    if relation is None:
        return frame if where is None else filter_rows(frame, where)
    # As close as can be to the moment that Hudi looked; what can't be seen now is tried again at planning.
    with contextlib.suppress(ConflictError, CorruptError, TableFileError, OSError):
        _ = planner.snapshot
    gateway = spark.sparkContext._gateway
    if where is not None:
        index = make_unplanned_index(gateway, relation.location())
        chosen = filter_rows(frame, where)._jdf.queryExecution().analyzed()
        answer = json.loads(planner.apply(index.request(chosen.condition(), chosen.child().output())))
        if "error" in answer:
            raise UserError(f"can't plan {where!r} over {storage.uri}:\n{answer['error']}")
        return filter_rows(_frame_over(frame, relation, index.planned(answer["keep"] or "")), where)
    ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
    location = relation.location()
    return _frame_over(frame, relation, index_factory(gateway, location).over(location, planner, strict))


class Readings:
    """A table's present, read with indexes and without, over one listing of its files.

    All go on showing the same slices after later commits.
    """

    def __init__(self, spark: SparkSession, storage: Storage) -> None:
        """Look.

        Raises:
            UnsupportedTableError: a table that can't be read through its indexes.
        """
        self._spark, self._storage = spark, storage
        # Also in an enabled session: what is to be proven must not take part.
        settings = {**_FIXED, **UNPRUNED, "hoodie.metadata.enable": "false"}
        self.full = spark.read.format("hudi").options(**settings).load(storage.location)
        """All rows."""
        self._relation = relation_of(self.full, storage)
        self._snapshot = None if self._relation is None else Snapshot.load(storage)

    def prune(self, only: Collection[str] | None = None) -> tuple[DataFrame, FilePlanner]:
        """What the indexes leave to whatever filters it, and who plans that; a plan that fails, fails it.

        Args:
            only: Ask the indexes of these names, whatever that costs; those that pay if None.
        """
        planner = FilePlanner(self._storage, None, is_strict=True, only=only, seen=self._snapshot)
        if self._relation is None:
            return self.full, planner
        gateway, location = self._spark.sparkContext._gateway, self._relation.location()
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        index = index_factory(gateway, location).over(location, planner, True)  # noqa: FBT003
        return _frame_over(self.full, self._relation, index), planner


def _reader_options(as_of: str | None, options: Mapping[str, str]) -> dict[str, str]:
    for name, value in options.items():
        if _FIXED.get(name, value) != value:
            reason = "indexes describe what a snapshot query reads, and take the place of Hudi's own skipping"
            raise InvalidOptionError(option=name, value=value, reason=reason)
        if name == _AS_OF:
            raise InvalidOptionError(option=name, value=value, reason="say as_of=… instead")
    if as_of is None:
        return {**options, **_FIXED}
    check_instant("as_of", as_of)
    return {**options, **_FIXED, _AS_OF: as_of}


def relation_of(frame: DataFrame, storage: Storage) -> Any:
    """The relation that Hudi made; None for a table without rows, which is none over files."""
    leaf = frame._jdf.queryExecution().analyzed().collectLeaves().head()
    if leaf.getClass().getSimpleName() != "LogicalRelation":
        raise _refuse_unlisted(storage, leaf)
    relation = leaf.relation()
    kind = relation.getClass().getSimpleName()
    if kind == "EmptyRelation":
        return None
    if kind != "HadoopFsRelation":
        raise _refuse_unlisted(storage, relation)
    if relation.location().getClass().getSimpleName() != "HoodieFileIndex":
        raise _refuse_unlisted(storage, relation.location())
    return relation


def _refuse_unlisted(storage: Storage, part: Any) -> UnsupportedTableError:
    reason = f"Hudi reads it through {part.getClass().getName()}, which gives no list of file slices"
    return UnsupportedTableError(uri=storage.uri, reason=reason)


def rows_over(spark: SparkSession, relation: Any, index: Any) -> DataFrame:
    """The rows of a relation over another file index, with the columns in the relation's order."""
    changed = relation.copy(
        index,
        relation.partitionSchema(),
        relation.dataSchema(),
        relation.bucketSpec(),
        relation.fileFormat(),
        relation.options(),
        relation.sparkSession(),
    )
    session: Any = spark._jsparkSession
    return DataFrame(session.baseRelationToDataFrame(changed), spark)


def _frame_over(frame: DataFrame, relation: Any, index: Any) -> DataFrame:
    """The same DataFrame over another file index."""
    found = rows_over(frame.sparkSession, relation, index)
    if found.columns == frame.columns:
        return found
    # Hudi puts the partition columns back to where the table has them.
    return found.select(*("`" + name.replace("`", "``") + "`" for name in frame.columns))
