"""The verbs: a batch in one call."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from hudi_index.arguments import check_count, check_text
from hudi_index.engine import IndexedTable
from hudi_index.errors import InvalidOptionError, NoJvmError, WrongTypeError
from hudi_index.spark.write.writer import IndexedWriter, Settings
from hudi_index.storage import Storage
from hudi_index.table import TableConfig
from hudi_index.writer.batches import Batch
from hudi_index.writer.lease import WriterLease

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.writer.report import WriteReport

    Table = IndexedTable | str | PathLike[str]

__all__ = ["delete", "upsert", "writer_of"]


def upsert(
    df: DataFrame,
    table: Table,
    *,
    writer: str | None = None,
    batch: str | int | None = None,
    deletes: str | None = None,
    index: str = "sync",
    lag: str = "auto",
    keys: str | None = None,
    attempts: int = 5,
    tasks: int | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> WriteReport:
    """Insert, update, move and delete records in one Hudi commit, and bring all indexes there.

    Records are found by the table's record index, not by Hudi's look-up. A record whose row names another
    partition moves there. A row with a smaller ordering value than its record is late, and dropped. Of
    several rows with one key that with the largest ordering value counts, or else the last.

    Args:
        df: The rows, with the table's record key, partition and ordering fields.
        table: The table, which exists and has a record index.
        writer: Names who writes, together with `batch`: a batch that this writer has committed is not
            written again, only its indexes are finished.
        batch: Names the batch, as a text, or counts it, as a number that grows with each batch of this
            writer. What is counted is found sooner.
        deletes: A column that is true for rows that delete their record, beside `_hoodie_is_deleted`.
        index: `sync` maintains all indexes in this step, `async` leaves that to maintenance.
        lag: What to do about file groups that the index does not describe: `read` their keys, `maintain`
            first, or, `auto`, what costs less.
        keys: Whether a record key is one within the `table` or within its `partition`; as the record index
            has it by default.
        attempts: How often to begin anew when others commit meanwhile.
        tasks: In how many tasks to look records up; by the size of the batch by default.
        options: For Hudi's writer.
        storage_options: How to open the table from Python, as for `IndexedTable.open`.

    Raises:
        NoRecordIndexError: no record index is in service.
        UnsupportedTableError: a table that can't be written so, with the reason.
        InvalidOptionError: an option that contradicts the table or this way of writing.
        UnknownColumnError: a column is missing that says which record a row is.
        WriterRunsError: another process writes under this name.
    """
    settings = Settings(options or {}, deletes, index, lag, keys, attempts, tasks)
    named = _batch(writer, batch)
    made = writer_of(df.sparkSession, table, settings, storage_options)
    with WriterLease(made.storage, named.writer) if named else nullcontext():
        return made.upsert(df, named)


def delete(
    df: DataFrame,
    table: Table,
    *,
    writer: str | None = None,
    batch: str | int | None = None,
    index: str = "sync",
    lag: str = "auto",
    keys: str | None = None,
    attempts: int = 5,
    tasks: int | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> WriteReport:
    """Delete the records of these keys in one Hudi commit, whatever their ordering values; see `upsert`.

    The rows need the record key fields only, and the partition fields if a record key is one within its
    partition.
    """
    settings = Settings(options or {}, None, index, lag, keys, attempts, tasks)
    named = _batch(writer, batch)
    made = writer_of(df.sparkSession, table, settings, storage_options)
    with WriterLease(made.storage, named.writer) if named else nullcontext():
        return made.delete(df, named)


def writer_of(
    spark: SparkSession, table: Table, settings: Settings, storage_options: Mapping[str, str] | None
) -> IndexedWriter:
    """What writes to a table. Raises NoSuchTableError, NoJvmError."""
    if isinstance(table, IndexedTable):
        storage, location = table.storage, table.storage.location
    else:
        storage, location = Storage.open(table, storage_options), str(table)
    if not hasattr(spark, "_jsparkSession"):
        raise NoJvmError(path=storage.uri)
    TableConfig.load(storage)
    return IndexedWriter(spark, storage, location, settings)


def _batch(writer: str | None, batch: str | int | None) -> Batch | None:
    if (writer is None) != (batch is None):
        raise InvalidOptionError(
            option="batch", value=batch, reason="a writer and a batch are given together"
        )
    if writer is None or batch is None:
        return None
    if isinstance(batch, bool) or not isinstance(batch, (str, int)):
        raise WrongTypeError(option="batch", value=batch, expected="a text or a whole number")
    if isinstance(batch, int):
        check_count("batch", batch)
    name = check_text("writer", writer, "the name of a writer")
    return Batch(name, str(batch), counts=isinstance(batch, int))
