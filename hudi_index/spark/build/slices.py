"""Slices that only Hudi on Spark can merge: their rows as changes.

Hudi's own snapshot read, as of the instant that is being indexed, is restricted to the wanted slices as a
query through the indexes is: by `IndexedFileIndex.java`, from one listing in one text. What Hudi lists for
them must be what the index will note as covered, file by file; anything else is a conflict, and a later run
sees the newer table.

    scan       Hudi merges; beside the columns a row gets its file, its place and the values of expressions
    gather     the rows of a file group come together in reading order, behind the item they belong to
    build      positions are counted, rows become changes
"""

from __future__ import annotations

import json
import logging
import pickle
import re
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import functions

from hudi_index.errors import NoHudiError, SliceChangedError, TableFileError, UnsupportedTableError
from hudi_index.lifecycle.changes import as_changes
from hudi_index.lifecycle.description import ItemPlan
from hudi_index.lifecycle.tasks import changes_of
from hudi_index.spark.build.expressions import runs_by, with_expressions
from hudi_index.spark.read.file_index import ListedSlice, make_unplanned_index
from hudi_index.spark.read.indexed import relation_of, rows_over
from hudi_index.spark.runtime.calendar import reading_as_stored
from hudi_index.table import RECORD_KEY
from hudi_index.table.record_keys import reason_against_computing
from hudi_index.table.slices import parse_log_file

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa
    from pyspark.accumulators import Accumulator
    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.lifecycle.changes import Described, TaskNotes, TwoStates
    from hudi_index.lifecycle.description import Description, WorkItem
    from hudi_index.lifecycle.runs import Changes
    from hudi_index.table import FileGroupId, FileSlice

__all__ = ["naming_slices", "refuse_changed_logs", "runs_of_slices"]

log = logging.getLogger(__name__)

_OWNER, _BLOCK, _PLACE, _WORK = "_owner", "_block", "_place", "_work"
_OPENING = -1
_NAMED = 3
_READ_OPTIONS = {"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*):/+")


def _slice_changed(group: FileGroupId, reason: str) -> SliceChangedError:
    return SliceChangedError(file_group=group.path_of(group.file_id), reason=reason)


def runs_of_slices(
    spark: SparkSession, job: Description, items: Sequence[WorkItem], tasks: int, done: Accumulator[int]
) -> DataFrame:
    """The changes of items whose present slices Hudi on Spark reads, as rows with the fields of a Run."""
    _refuse_without_record_keys(job)
    spark = reading_as_stored(spark)
    file_slices = {item.after.group: item.after for item in items if item.after}
    scan, owners = _scan(spark, job, file_slices)
    names = _columns(job)
    rows = scan.select(
        # Spark gives the name as an encoded URI.
        functions.expr(
            "regexp_replace(url_decode(replace(input_file_name(), '+', '%2B')), '^([^:/]+):/+', '$1:/')"
        ).alias(_OWNER),
        functions.expr("input_file_block_start()").alias(_BLOCK),
        functions.monotonically_increasing_id().alias(_PLACE),
        *(functions.col(f"`{name}`") for name in names),
    )
    rows = with_expressions(spark, job, rows)
    opened = [(owners[item.after.group], _OPENING, pickle.dumps(item)) for item in items if item.after]
    openings = spark.createDataFrame(opened, f"{_OWNER} string, {_BLOCK} bigint, {_WORK} binary")
    gathered = (
        # In this order: of two sessions, that of the rows counts.
        rows.unionByName(openings, allowMissingColumns=True)
        .repartition(tasks, _OWNER)
        .sortWithinPartitions(_OWNER, _BLOCK, _PLACE)
    )
    return runs_by(gathered, _build(job.without_items(), done))


@contextmanager
def naming_slices(job: Description, items: Sequence[WorkItem]) -> Iterator[None]:
    """Name the slices that neither hudi-rs nor, now, Hudi on Spark could read."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        file_slices = [
            item.after for item in items if item.after and item.after.identity in job.reader.refused
        ]
        if not file_slices:
            raise
        names = ", ".join(
            job.reader.storage.uri_of(file_slice.paths[-1]) for file_slice in file_slices[:_NAMED]
        )
        causes = [line for line in str(error).splitlines() if "Caused by" in line]
        said = causes[-1] if causes else type(error).__name__
        reason = f"{job.reader.refused[file_slices[0].identity]}, and Hudi on Spark fails: {said.strip()}"
        raise TableFileError(path=names, reason=reason) from error


def refuse_changed_logs(job: Description, items: Sequence[WorkItem]) -> None:
    """Refuse if a log was written to under its name while it was read, which only version 6 does."""
    file_slices = [item.after for item in items if item.after and item.after.log_times]
    for group, error in job.reader.losses(file_slices).items() if file_slices else ():
        raise _slice_changed(group, error.reason)


def _refuse_without_record_keys(job: Description) -> None:
    shape = job.reader.shape
    if not shape.config.populates_meta_fields:
        reason = reason_against_computing(shape.config, shape.schema.stored)
        if reason:
            raise UnsupportedTableError(uri=job.reader.storage.uri, reason=reason)


def _columns(job: Description) -> list[str]:
    """The top-level columns that are read, those of the record key first."""
    config = job.reader.shape.config
    keys = [RECORD_KEY] if config.populates_meta_fields else list(config.record_key_fields)
    wanted = job.columns_to_read(job.kinds)
    return list(dict.fromkeys([*map(job.reader.column_of, keys), *map(job.reader.column_of, wanted)]))


def _scan(
    spark: SparkSession, job: Description, file_slices: Mapping[FileGroupId, FileSlice]
) -> tuple[DataFrame, dict[FileGroupId, str]]:
    """The rows of the slices, and by file group the file that Spark calls its rows' origin."""
    frame = _frame(spark, job, next(iter(file_slices.values())))
    relation = relation_of(frame, job.reader.storage)
    if relation is None:
        raise _slice_changed(next(iter(file_slices)), "its files are no longer listed")
    index = make_unplanned_index(spark.sparkContext._gateway, relation.location())
    listed = [ListedSlice.of(each) for each in json.loads(index.listing())]
    log.debug("Hudi lists %d file slices of %s", len(listed), job.reader.storage.uri)
    found = _find_slices(listed, file_slices, job.instant)
    keep = "".join("1" if each.group in found else "0" for each in listed)
    owners = {group: _normal(each.path) for group, each in found.items()}
    return rows_over(spark, relation, index.planned(keep)), owners


def _frame(spark: SparkSession, job: Description, file_slice: FileSlice) -> DataFrame:
    """The table as of the instant that is being indexed."""
    reader = spark.read.format("hudi").options(**_READ_OPTIONS).option("as.of.instant", job.instant)
    if job.reader.shape.schema.has_internal_schema:
        reader = reader.option("hoodie.schema.on.read.enable", "true")
    try:
        return reader.load(job.reader.storage.location)
    except PySparkException as error:
        if error.getErrorClass() != "DATA_SOURCE_NOT_FOUND" and "DATA_SOURCE_NOT_FOUND" not in str(error):
            raise
        reason = job.reader.choice_of(file_slice).reason
        raise NoHudiError(uri=job.reader.storage.uri, reason=reason) from error


def _find_slices(
    listed: Iterable[ListedSlice], file_slices: Mapping[FileGroupId, FileSlice], instant: str | None
) -> dict[FileGroupId, ListedSlice]:
    """Slices in Hudi's listing. Raises SliceChangedError where Hudi would merge other files."""
    by_group = {each.group: each for each in listed if each.group in file_slices}
    for group, file_slice in file_slices.items():
        _refuse_another(file_slice, by_group.get(group), instant)
    return by_group


def _refuse_another(file_slice: FileSlice, listed: ListedSlice | None, instant: str | None) -> None:
    """Refuse if Hudi would merge other files than those of the slice."""
    group = file_slice.group
    if listed is None or listed.base_file != file_slice.base_file:
        raise _slice_changed(group, "its files are no longer listed")
    logs = {name: size for name, size, _ in listed.logs if parse_log_file(name, 0)}
    missing = [name for name in file_slice.log_files if name not in logs]
    if missing:
        raise _slice_changed(group, f"{missing[0]} is no longer listed")
    for name in logs.keys() - set(file_slice.log_files):
        parsed = parse_log_file(name, 0)
        # Hudi lists the logs of later commits too, and leaves them out when it reads.
        if parsed and not (instant and parsed.instant > instant):
            raise _slice_changed(group, f"{name} was added")
    if file_slice.log_times:
        for name, size in zip(file_slice.log_files, file_slice.log_sizes, strict=True):
            if logs[name] not in (size, -1):
                raise _slice_changed(group, f"{name} has grown")


def _normal(path: str) -> str:
    """A path with one slash after its scheme: Hadoop and Spark differ in that."""
    return _SCHEME.sub(r"\1:/", path)


def _build(job: Description, done: Accumulator[int]) -> Any:
    def of_items(batches: Iterable[pa.RecordBatch], notes: TaskNotes) -> Iterator[Described | TwoStates]:
        for data, rows in _runs_of(batches):
            item = pickle.loads(data)
            columns = job.columns_to_read(ItemPlan.of(job, item).kinds_after)
            extra = [each.column for each in job.expressions]
            arranged = job.reader.rows(item.after, columns).arrange(rows, extra)
            yield from changes_of(job, item, (), arranged, notes)
            done.add(1)

    def changes(batches: Iterable[pa.RecordBatch], notes: TaskNotes) -> Iterator[Changes]:
        return as_changes(job, of_items(batches, notes), notes)

    return changes


def _runs_of(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[bytes, Iterator[pa.RecordBatch]]]:
    """Items with their rows, each to be consumed before the next."""
    file_slices = (file_slice for batch in batches for file_slice in _pieces_of(batch))
    held = next(file_slices, None)
    while held is not None:
        data = held.column(_WORK)[0].as_py()
        rest: list[pa.RecordBatch] = []

        def rows(first: pa.RecordBatch = held, rest: list[pa.RecordBatch] = rest) -> Iterator[pa.RecordBatch]:
            yield first.slice(1)
            for file_slice in file_slices:
                if file_slice.column(_WORK)[0].is_valid:
                    rest.append(file_slice)
                    return
                yield file_slice

        stream = rows()
        yield data, stream
        for _ in stream:
            pass
        held = rest[0] if rest else None


def _pieces_of(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """A batch cut before every row that opens an item."""
    opens = [
        position for position, is_open in enumerate(batch.column(_WORK).is_valid().to_pylist()) if is_open
    ]
    cuts = sorted({0, *opens, batch.num_rows})
    return (batch.slice(start, stop - start) for start, stop in pairwise(cuts))
