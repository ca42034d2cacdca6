"""Streams through the record index: batches, restarts, two of one name, failures, compaction beside them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import StreamingQueryException

from hudi_index import IndexedTable
from hudi_index.errors import ConflictError, WriterRunsError
from hudi_index.spark import start_stream, stream_writer
from hudi_index.validation import Request
from hudi_index.writer.lease import WriterLease
from tests.parity.tables import COW, MOR, HudiTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from hudi_index.spark import WriteReport

pytestmark = pytest.mark.spark

_SCHEMA = "id string, ts bigint, region string, v string"
_STATEMENTS = ("CREATE INDEX records ON t USING record_index (id)", "CREATE INDEX by_v ON t (v)")
_FEW = {
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.embed.timeline.server": "false",
    "hoodie.parquet.small.file.limit": "0",
}
_NOW = {"availableNow": True}


@dataclass
class Feed:
    """A table, and files that a stream reads, one a micro-batch."""

    spark: SparkSession
    folder: Path
    table_type: str = COW
    reports: list[WriteReport] = field(default_factory=list)
    _files: int = 0

    def __post_init__(self) -> None:
        self.hudi = HudiTable(self.spark, self.folder / "t", self.table_type, schema=_SCHEMA)
        self.hudi.bulk_insert([self._row(i, ts=1, v="old") for i in range(8)])
        self.table = IndexedTable.open(self.hudi.path)
        self.table.create_all(_STATEMENTS)
        self.expected = {f"k{i}": "old" for i in range(8)}
        (self.folder / "in").mkdir()

    @staticmethod
    def _row(i: int, *, ts: int, v: str) -> dict[str, Any]:
        return {"id": f"k{i}", "ts": ts, "region": ("eu", "us")[i % 2], "v": v}

    def add(self) -> None:
        """A file that updates two records and inserts one."""
        number, self._files = self._files, self._files + 1
        rows = [self._row(i, ts=2 + number, v=f"b{number}") for i in (number, number + 1, 8 + number)]
        self.expected |= {row["id"]: row["v"] for row in rows}
        self.put("".join(f"{json.dumps(row)}\n" for row in rows), number)

    def put(self, text: str, number: int) -> None:
        file = self.folder / f"{number}.json"
        file.write_text(text)
        # Spark takes the oldest first.
        os.utime(file, (1_700_000_000 + number,) * 2)
        file.rename(self.folder / "in" / file.name)

    def rows(self) -> DataFrame:
        read = self.spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
        return read.json(str(self.folder / "in"))

    def start(self, checkpoint: str = "checkpoint", **given: Any) -> StreamingQuery:
        chosen = {"trigger": _NOW, "writer": "feed", "on_batch": self.reports.append, **given}
        options = {**_FEW, **chosen.pop("options", {})}
        return start_stream(
            self.rows(), self.table, checkpoint=self.folder / checkpoint, options=options, **chosen
        )

    def check(self) -> None:
        """The table has what came, once, and its indexes are right."""
        found = [(row.id, row.v) for row in self.hudi.read().select("id", "v").collect()]
        assert sorted(found) == sorted(self.expected.items())
        assert self.table.status().commits_behind == 0
        report = self.table.validate(Request(queries=2, sample=None), spark=self.spark)
        assert report.exit_code == 0, str(report)


def _is_free(feed: Feed, writer: str = "feed") -> bool:
    try:
        WriterLease(feed.table.storage, writer).close()
    except WriterRunsError:
        return False
    return True


def _until(is_so: Callable[[], bool]) -> None:
    """Wait for what comes by itself; the time-out of the test is the only one."""
    pause = Event()
    while not is_so():
        pause.wait(0.05)


def test_a_stream_goes_on_where_it_ended(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path)
    feed.add()
    feed.add()
    feed.start(name="orders").awaitTermination()
    feed.add()
    feed.start().awaitTermination()
    assert [report.batch for report in feed.reports] == ["0", "1", "2"]
    assert {(each.counts.inserted, each.counts.updated) for each in feed.reports} == {(1, 2)}
    assert all(each.index_commit and each.instant and not each.is_repeated for each in feed.reports)
    # The checkpoint's id is the stream's, so it is the same after a restart.
    assert len({report.writer for report in feed.reports}) == 1
    feed.check()


def test_a_name_is_for_one_stream_until_it_ends(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path)
    feed.add()
    first = feed.start(trigger=None)
    _until(lambda: len(feed.reports) == 1)
    assert not _is_free(feed)
    # Both ways to start one, in the same process.
    again = feed.rows().writeStream.foreachBatch(stream_writer(feed.table, writer="feed", options=_FEW))
    second = again.option("checkpointLocation", str(tmp_path / "second")).trigger(availableNow=True).start()
    with pytest.raises(StreamingQueryException, match="WriterRunsError: writer 'feed'"):
        second.awaitTermination()
    # The first one does not notice.
    feed.add()
    _until(lambda: len(feed.reports) == 2)
    first.stop()
    _until(lambda: _is_free(feed))
    feed.start("third", index="async").awaitTermination()
    assert [each.index_commit is None for each in feed.reports] == [False, False, True, True]
    feed.table.maintain(spark=spark)
    feed.check()


def test_a_batch_that_fails_says_why_and_is_not_lost(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path)
    feed.add()
    failed = feed.start(deletes="gone")
    with pytest.raises(StreamingQueryException, match=r"UnknownColumnError.*'gone'"):
        failed.awaitTermination()
    assert failed.exception() is not None
    assert len(feed.hudi.completed()) == 1
    _until(lambda: _is_free(feed))
    # The checkpoint has the batch noted: it is tried again as it was.
    feed.add()
    feed.start().awaitTermination()
    assert [report.batch for report in feed.reports] == ["0", "1"]
    feed.check()


def test_close_gives_the_name_free_and_the_next_batch_takes_it_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    feed = Feed(spark, tmp_path)
    feed.add()
    feed.add()
    write = stream_writer(feed.table, writer="feed", options=_FEW)
    free = []

    def and_close(rows: DataFrame, batch: int) -> None:
        write(rows, batch)
        free.append(_is_free(feed))
        write.close()
        free.append(_is_free(feed))

    query = feed.rows().writeStream.foreachBatch(and_close).trigger(availableNow=True)
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).start().awaitTermination()
    assert free == [False, True, False, True]
    assert write.last_report is not None
    assert write.last_report.batch == "1"
    feed.check()


class Beside:
    """Does something over and over while a stream runs, and keeps what came of it."""

    def __init__(self, step: Callable[[], object]) -> None:
        self.done: list[object] = []
        self.failed: list[Exception] = []
        self._step, self._is_over = step, Event()
        self._thread = Thread(target=self._run)

    def __enter__(self) -> Beside:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                self.done.append(self._step())
            except ConflictError:
                pass  # another was first: what it is for
            except Exception as error:  # noqa: BLE001  the test tells
                self.failed.append(error)
                return
            self._is_over.wait(0.2)


def test_indexes_are_compacted_beside_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    feed = Feed(spark, tmp_path, MOR)
    for _ in range(3):
        feed.add()
    with Beside(lambda: feed.table.compact(force=True).commit) as compaction:
        feed.start(options={"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "2"})
        _until(lambda: len(feed.reports) == 3)
        _until(lambda: _is_free(feed))
    assert not compaction.failed
    assert any(compaction.done)
    # And Hudi's own, within the batches.
    assert any(name.endswith(".commit") for name in feed.hudi._completed_files()[1:])
    feed.check()


@pytest.mark.slow
def test_hudi_compacts_beside_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """What a batch schedules another session runs, while the next batches are written."""
    feed = Feed(spark, tmp_path, MOR)
    for _ in range(8):
        feed.add()
    session = spark.newSession()
    other = HudiTable(session, feed.hudi.path, MOR, schema=_SCHEMA)

    def run() -> int:
        return len(other.call("run_compaction", op="execute"))

    options = {
        "hoodie.compact.inline": "false",
        "hoodie.compact.schedule.inline": "true",
        "hoodie.compact.inline.max.delta.commits": "1",
    }
    with Beside(run) as compaction:
        query = feed.start(options=options)
        query.awaitTermination()
    assert not compaction.failed
    assert len(feed.reports) == 8
    compacted = [name for name in feed.hudi._completed_files()[1:] if name.endswith(".commit")]
    assert compacted
    feed.table.maintain(spark=spark)
    feed.check()
