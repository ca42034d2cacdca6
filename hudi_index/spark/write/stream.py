"""Streams: each micro-batch is one Hudi commit and one commit of the indexes, once.

Spark gives a micro-batch again if it did not note its end. The commit of the first try names the batch, so it
is found, and only the indexes are finished. Batches are counted anew in a new checkpoint; therefore the id of
the streaming query, which is the checkpoint's, is part of their names.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from hudi_index.arguments import check_text
from hudi_index.errors import HudiIndexError
from hudi_index.spark.write.verbs import writer_of
from hudi_index.spark.write.writer import IndexedWriter, Settings
from hudi_index.writer.batches import Batch
from hudi_index.writer.lease import WriterLease

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from hudi_index.engine import IndexedTable
    from hudi_index.writer.report import WriteReport

__all__ = ["StreamWriter", "start_stream", "stream_writer"]

log = logging.getLogger(__name__)

_QUERY_ID = "sql.streaming.queryId"
_holders: dict[tuple[str, str], StreamWriter] = {}
_lock = Lock()


class StreamWriter:
    """Writes micro-batches, for `writeStream.foreachBatch`.

    The right to write under its name is taken with the first batch, and given back when the query or the
    process ends, or by `close`.
    """

    def __init__(
        self,
        table: IndexedTable | str | PathLike[str],
        settings: Settings,
        *,
        writer: str | None = None,
        on_batch: Callable[[WriteReport], None] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        self._table, self._settings, self._storage_options = table, settings, storage_options
        self.writer = None if writer is None else check_text("writer", writer, "the name of a writer")
        self._on_batch = on_batch
        self.last_report: WriteReport | None = None
        """Of the last batch that was written."""
        self._made: IndexedWriter | None = None
        self._lease: WriterLease | None = None
        self._query_id = ""

    def __call__(self, rows: DataFrame, batch: int) -> None:
        """Write a micro-batch. Raises WriterRunsError if another stream writes under this name."""
        spark = rows.sparkSession
        query_id = spark.sparkContext.getLocalProperty(_QUERY_ID) or ""
        # Each micro-batch has a session of its own, a clone of the query's.
        made = self._made
        if made is None:
            made = self._made = writer_of(spark, self._table, self._settings, self._storage_options)
        made.spark = spark
        name = self.writer or query_id or "stream"
        self._hold(spark, made, name, query_id)
        report = made.upsert(rows, Batch(f"{name}/{query_id}", str(batch), counts=True))
        self.last_report = report
        log.info("%s", report.to_json())
        if self._on_batch is not None:
            self._on_batch(report)

    def close(self) -> None:
        """Give the name free. A batch that comes afterwards takes it again."""
        if self._lease is not None:
            self._release(self._lease)

    def _hold(self, spark: SparkSession, made: IndexedWriter, name: str, query_id: str) -> None:
        if self._lease is not None and self._query_id == query_id:
            # A process that slept for long may have lost it.
            self._lease.check()
            return
        key = made.storage.uri, name
        held = _holders.get(key)
        if held is not None and held._query_id and _query_of(spark, held._query_id) is None:
            # It has ended a moment ago, and its thread was not as fast as this one.
            held.close()
        lease = WriterLease(made.storage, name)
        with _lock:
            self._lease, self._query_id, _holders[key] = lease, query_id, self
        query = _query_of(spark, query_id)
        if query is not None:
            Thread(target=self._release_after, args=(query, lease), daemon=True).start()

    def _release_after(self, query: Any, lease: WriterLease) -> None:
        """Give the name free when a query ends, however it does."""
        with suppress(PySparkException, Py4JError, OSError):
            # Raises what the query failed with, and if Java is gone.
            query.awaitTermination()
        with suppress(HudiIndexError, OSError):
            self._release(lease)

    def _release(self, lease: WriterLease) -> None:
        with _lock:
            if self._lease is lease:
                self._lease = None
                for key in [key for key, each in _holders.items() if each is self]:
                    del _holders[key]
        lease.close()


def _query_of(spark: SparkSession, query_id: str) -> Any:
    """Java's object for a running query; None if there is none.

    Not by `spark.streams`: that of a micro-batch's session knows no query.
    """
    jvm: Any = spark._jvm
    running = spark._jsparkSession.sharedState().activeStreamingQueries()
    return running.get(jvm.java.util.UUID.fromString(query_id)) if query_id else None


def stream_writer(
    table: IndexedTable | str | PathLike[str],
    *,
    writer: str | None = None,
    deletes: str | None = None,
    index: str = "sync",
    lag: str = "auto",
    keys: str | None = None,
    attempts: int = 5,
    tasks: int | None = None,
    on_batch: Callable[[WriteReport], None] | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> StreamWriter:
    """What writes micro-batches: `df.writeStream.foreachBatch(stream_writer(table)).start()`.

    Args:
        table: The table, which exists and has a record index.
        writer: Names the stream: two of one name do not write at once. The query's id by default.
        on_batch: Called with the report of every batch.
        deletes: See `upsert`, as for all that follow.
        index: The same.
        lag: The same.
        keys: The same.
        attempts: The same.
        tasks: The same.
        options: The same.
        storage_options: The same.
    """
    settings = Settings(options or {}, deletes, index, lag, keys, attempts, tasks)
    return StreamWriter(table, settings, writer=writer, on_batch=on_batch, storage_options=storage_options)


def start_stream(
    df: DataFrame,
    table: IndexedTable | str | PathLike[str],
    *,
    checkpoint: str | PathLike[str],
    trigger: Mapping[str, object] | None = None,
    name: str | None = None,
    writer: str | None = None,
    deletes: str | None = None,
    index: str = "sync",
    lag: str = "auto",
    keys: str | None = None,
    attempts: int = 5,
    tasks: int | None = None,
    on_batch: Callable[[WriteReport], None] | None = None,
    options: Mapping[str, str] | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> StreamingQuery:
    """Start a stream into a table; ends when the query that it returns is stopped.

    Args:
        df: A streaming DataFrame.
        table: The table, which exists and has a record index.
        checkpoint: Where Spark notes how far it is. A stream that goes on with it loses and doubles nothing.
        trigger: Spark's, such as `{"processingTime": "1 minute"}` or `{"availableNow": True}`.
        name: The query's.
        writer: See `stream_writer`, as for all that follow.
        deletes: The same.
        index: The same.
        lag: The same.
        keys: The same.
        attempts: The same.
        tasks: The same.
        on_batch: The same.
        options: The same.
        storage_options: The same.
    """
    write = stream_writer(
        table,
        writer=writer,
        deletes=deletes,
        index=index,
        lag=lag,
        keys=keys,
        attempts=attempts,
        tasks=tasks,
        on_batch=on_batch,
        options=options,
        storage_options=storage_options,
    )
    started = df.writeStream.foreachBatch(write).option("checkpointLocation", str(checkpoint))
    if trigger:
        started = started.trigger(**dict[str, Any](trigger))
    if name:
        started = started.queryName(name)
    return started.start()
