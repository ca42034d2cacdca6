"""A stream in a process of its own, which kills itself (-9) where it is told to.

    python -m tests.writer.mortal_stream FOLDER CHECKPOINT POINT BATCH

Reads the files of FOLDER/in, one a micro-batch, into the table FOLDER/table, and ends when all are read. The
first time that it comes to POINT in micro-batch BATCH or later it dies, driver and Java; at a worker's points
a Python worker does, and the driver lives on. Each finished batch leaves a line in FOLDER/reports.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from hudi_index.metadata_table.ledger import Ledger
from hudi_index.spark import SHORT_RUN, local_session, stream_writer
from hudi_index.spark.write.writer import IndexedWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from hudi_index.spark import WriteReport

__all__ = ["DRIVER_POINTS", "JAVA_LIVES_ON", "SCHEMA", "WORKER_POINTS", "WRITER"]

SCHEMA = "id string, part string, ts bigint, v string, gone boolean"
WRITER = "orders"
DRIVER_POINTS = (
    "before the data commit",
    "within the data commit",
    "between data and index commit",
    "within the index commit",
    "index commit decided, not visible",
    "before Spark notes the end",
)
JAVA_LIVES_ON = ", Java lives on"
"""Behind a point: only Python is killed, and Java has the moment to go on in which it notices."""
WORKER_POINTS = ("a worker while rows are tagged", "a worker, all its tries")
_FEW = {
    "hoodie.upsert.shuffle.parallelism": "2",
    "hoodie.finalize.write.parallelism": "2",
    "hoodie.markers.delete.parallelism": "2",
    "hoodie.rollback.parallelism": "2",
    "hoodie.embed.timeline.server": "false",
    "hoodie.parquet.small.file.limit": "0",
}


@dataclass
class Mortal:
    """What dies, where, and from which batch on."""

    spark: SparkSession
    folder: Path
    point: str
    batch: int
    now: int = field(default=-1, init=False)

    def die(self, point: str) -> None:
        """Die if this is the point, with Java if that is not to live on."""
        if self.now >= self.batch and self.point in (point, point + JAVA_LIVES_ON):
            gateway: Any = self.spark.sparkContext._gateway
            if point == self.point:
                os.kill(gateway.proc.pid, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

    def arm(self) -> None:
        """Put the points into the writer."""
        self._around(IndexedWriter, "_hand_to_hudi", before="before the data commit")
        self._around(IndexedWriter, "_note_commit", before="between data and index commit")
        self._around(Ledger, "commit", before="within the index commit")
        self._around(Ledger, "_complete", before="index commit decided, not visible", only_commits=True)
        if self.point.startswith("within the data commit"):
            Thread(target=self._die_beside_written_files, daemon=True).start()

    def _around(self, owner: type, name: str, *, before: str, only_commits: bool = False) -> None:
        original: Callable[..., Any] = getattr(owner, name)

        def armed(this: Any, *given: Any, **named: Any) -> Any:
            # A ledger settles what was decided before, too: only what is not visible yet counts.
            if not only_commits or _is_invisible(this, given[0]):
                self.die(before)
            return original(this, *given, **named)

        setattr(owner, name, armed)

    def _die_beside_written_files(self) -> None:
        """Once Hudi has written a file of a commit that is not complete; if need be, of the next one."""
        while True:
            if self.now >= self.batch and pending_with_files(self.folder / "table"):
                self.die("within the data commit")
            time.sleep(0.001)

    def breaking(self, rows: DataFrame) -> DataFrame:
        """The rows of a batch, whose workers die."""
        if self.point not in WORKER_POINTS or self.now < self.batch:
            return rows
        died, once = self.folder / "worker died", self.point == WORKER_POINTS[0]

        def tell(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            if not (once and died.exists()):
                with died.open("a") as file:
                    file.write(f"{os.getpid()}\n")
                os.kill(os.getpid(), signal.SIGKILL)
            yield from batches

        return rows.mapInArrow(tell, rows.schema)


def _is_invisible(ledger: Any, decision: Any) -> bool:
    completes = decision.completes
    return bool(completes) and not ledger._storage.exists(completes)


def pending_with_files(table: Path) -> list[str]:
    """Instants of pending writes that have left files in a partition."""
    folder = table / ".hoodie" / "timeline"
    folder = folder if folder.exists() else table / ".hoodie"
    names = [file.name for file in folder.iterdir() if file.name[0] != "."]
    started = {name.split(".")[0] for name in names if name.endswith("commit.inflight")}
    # A version-6 commit is not named in its pending files.
    started |= {name.split(".")[0] for name in names if name.endswith(".inflight") and "commit" not in name}
    completed = {name.split(".")[0].split("_")[0] for name in names if name.endswith("commit")}
    files = [file.name for part in table.iterdir() if part.name[0] != "." for file in part.iterdir()]
    return sorted(each for each in started - completed if any(each in name for name in files))


def main(folder: Path, checkpoint: Path, point: str, batch: int) -> None:
    """Run the stream."""
    settings = {
        **SHORT_RUN,
        # Tasks are tried again, as on a cluster.
        "spark.master": "local[2,3]",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
        "spark.log.level": "OFF",
    }
    spark = local_session("mortal", settings=settings)
    mortal = Mortal(spark, folder, point, batch)
    mortal.arm()

    def told(report: WriteReport) -> None:
        with (folder / "reports").open("a") as file:
            file.write(f"{report.to_json()}\n")
        mortal.die("before Spark notes the end")

    write = stream_writer(folder / "table", writer=WRITER, deletes="gone", on_batch=told, options=_FEW)

    def write_batch(rows: DataFrame, number: int) -> None:
        mortal.now = number
        write(mortal.breaking(rows), number)

    rows = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).json(str(folder / "in"))
    query = rows.writeStream.foreachBatch(write_batch).option("checkpointLocation", str(checkpoint))
    query.trigger(availableNow=True).start().awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
