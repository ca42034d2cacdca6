"""Upserts and streams through our record index against Hudi's own writers, all sides in turns in one run.

    python benchmarks/writer.py [--short] [--only upserts|larger|limits|stream] [--types mor,cow]

All sides get the same batches, each on a copy of its own, and must hold the same rows in the end. Ours keeps
a record, a secondary, a bitmap and a statistics index up in the same step. Seconds are medians of elapsed
time; of processor time too, of this process and all that it started, which other work beside it disturbs
less. The first rounds of each table warm up, for Java goes on compiling long into a run, and are not counted.
Tables are made once under .bench/ and kept. Permissions of files are set in Java: Hadoop without its native
library, as beside PySpark, starts a process for each file of every side.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tables import COW, FOLDER, MOR
from writers import HUDIS, OURS, RECORD_INDEX, SHARED, SIDES, batch_of, checksum, copy_for

from hudi_index.spark import start_stream
from hudi_index.spark.runtime.session import local_session
from tests.support.local_files import use_local_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession
    from writers import Side

    from hudi_index.spark import WriteReport

CORES = 2
REMEMBERED = {"spark.ui.retainedJobs": "20000", "spark.ui.retainedStages": "100000"}
"""How long a stage took is asked of Spark, which forgets old ones."""
AGAINST = dict(zip(("record", "simple", "global_simple", "defaults"), HUDIS, strict=True))
UPSTREAM = 50_000 / 256
"""Records a second of a core, as RFC-102 reports it."""
GOALS = {
    "small": {MOR: (2.5, 1.3, 5.0, 2.5), COW: (1.5, 1.0, 1.0, 2.0)},
    "large": {MOR: (2.0, 2.0, 3.0, 3.0), COW: (2.0, 2.0, 3.0, 3.0)},
}
"""How many times as fast, in the order of HUDIS."""


@dataclass(frozen=True)
class Took:
    """What one upsert took."""

    elapsed: float
    processor: float
    ours: float = 0.0
    """Seconds that are not Hudi's: looking, tagging, maintaining."""

    def __str__(self) -> str:
        parts = f", ours of it {self.ours:6.2f} s" if self.ours else ""
        return f"{self.elapsed:7.2f} s, processor {self.processor:7.2f} s{parts}"


@dataclass(frozen=True)
class Shape:
    """A table and the batches that it gets."""

    table_type: str
    rows: int
    groups: int
    touched: int = 100

    def __str__(self) -> str:
        return f"{self.table_type}, {self.rows:,} rows, {self.groups:,} file groups"


def processor_seconds() -> float:
    """Of this process and all that it started, the living and those that were waited for."""
    stats = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        stats[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    tree, size = {os.getpid()}, 0
    while len(tree) > size:
        size = len(tree)
        tree |= {process for process, (parent, _) in stats.items() if parent in tree}
    return sum(stats[process][1] for process in tree if process in stats) / os.sysconf("SC_CLK_TCK")


def measured(spark: SparkSession, side: Side, rows: DataFrame, path: Path) -> tuple[Took, WriteReport | None]:
    """One upsert."""
    before, used, started = _last_job(spark), processor_seconds(), time.perf_counter()
    report = side.upsert(rows, path)
    elapsed, used = time.perf_counter() - started, processor_seconds() - used
    if report is None:
        return Took(elapsed, used), None
    beside = sum(spent for phase, spent in report.seconds.items() if phase != "write")
    tagging = _keys_seconds(spark, before) + report.counts.tag_seconds / CORES
    return Took(elapsed, used, beside + tagging), report


def _last_job(spark: SparkSession) -> int:
    context: Any = spark.sparkContext
    jobs = context._jsc.sc().statusStore().jobsList(None)
    return max((jobs.apply(place).jobId() for place in range(jobs.size())), default=-1)


def _keys_seconds(spark: SparkSession, after: int) -> float:
    """How long the stage ran that makes record keys and shuffles by them: the first one of a write."""
    context: Any = spark.sparkContext
    store = context._jsc.sc().statusStore()
    jobs, stages = store.jobsList(None), []
    for job in (jobs.apply(place) for place in range(jobs.size())):
        if job.jobId() > after:
            numbers = job.stageIds()
            stages += [store.lastStageAttempt(numbers.apply(place)) for place in range(numbers.size())]
    ran = (each for each in stages if each.completionTime().isDefined())
    first = min(ran, key=lambda each: each.stageId())
    return float(first.completionTime().get().getTime() - first.submissionTime().get().getTime()) / 1000


def median(times: Sequence[float]) -> float:
    return statistics.median(times)


def measure_upserts(
    spark: SparkSession, shape: Shape, counts: Sequence[int], sides: Sequence[Side], repeats: int, warm: int
) -> dict[int, dict[str, list[Took]]]:
    """All sides in turns, the same batches; what each of them took, by the size of the batch."""
    print(f"\n{shape}", flush=True)
    paths = {side.name: copy_for(spark, side, shape.table_type, shape.rows, shape.groups) for side in sides}
    found: dict[int, dict[str, list[Took]]] = {}
    for count in counts:
        found[count] = defaultdict(list)
        for turn in range(-warm if count == counts[0] else 0, repeats):
            rows = batch_of(spark, shape.rows, shape.groups, count, touched=shape.touched, seed=count + turn)
            # Forwards and backwards: what comes first meets the garbage of what came before.
            for side in sides if turn % 2 else reversed(sides):
                took, report = measured(spark, side, rows, paths[side.name])
                assert report is None or report.counts.updated == count, str(report)
                is_counted = turn >= 0
                if is_counted:
                    found[count][side.name].append(took)
                # As they come: a run takes long, and what was seen so far counts.
                print(
                    f"    {count:>7,} rows  {side.name:<24} {took}{'' if is_counted else ' warms up'}",
                    flush=True,
                )
        for side in sides:
            all_took = found[count][side.name]
            elapsed, used = (
                median([each.elapsed for each in all_took]),
                median([e.processor for e in all_took]),
            )
            print(
                f"  {count:>7,} rows  {side.name:<24} {elapsed:7.2f} s, processor {used:7.2f} s", flush=True
            )
    sums = {name: checksum(spark, path) for name, path in paths.items()}
    assert len(set(sums.values())) == 1, sums
    for path in paths.values():
        shutil.rmtree(path)
    return found


def compare_sides(
    found: dict[int, dict[str, list[Took]]], goals: Sequence[float], sides: Sequence[Side]
) -> None:
    """Ours against all others, and against the whole of it."""
    wanted = dict(zip((side.name for side in HUDIS), goals, strict=True))
    for count, by_side in found.items():
        ours = by_side[OURS.name]
        for side in sides:
            if side is OURS:
                continue
            goal, theirs = wanted[side.name], by_side[side.name]
            name, limit = f"upsert of {count:,} rows", f"<= {1 / goal:.2f}"
            # Both of a turn are as near in time as can be.
            ratio = median([one.elapsed / two.elapsed for one, two in zip(ours, theirs, strict=True)])
            used = median([one.processor / two.processor for one, two in zip(ours, theirs, strict=True)])
            print(
                f"{name:<28} {1 / ratio:5.2f} x as fast, {1 / used:5.2f} x by processor time   "
                f"goal {goal} x ({limit})  {side.name}",
                flush=True,
            )
        share = median([each.ours / each.elapsed for each in ours])
        print(f"{'tagging + maintaining':<28} {share:5.2f} of the whole   goal <= 0.25", flush=True)


def measure_growth(spark: SparkSession, shapes: Sequence[Shape], repeats: int) -> None:
    """The same batch through our index, on a table and on one ten times larger, in turns."""
    paths = [copy_for(spark, OURS, each.table_type, each.rows, each.groups) for each in shapes]
    found: list[list[Took]] = [[] for _ in shapes]
    for turn in range(repeats + 1):
        for shape, path, times in zip(shapes, paths, found, strict=True):
            rows = batch_of(spark, shape.rows, shape.groups, 1_000, touched=shape.touched, seed=turn)
            times.append(measured(spark, OURS, rows, path)[0])
    small, large = (times[1:] for times in found)
    ratio = median([two.elapsed / one.elapsed for one, two in zip(small, large, strict=True)])
    used = median([two.processor / one.processor for one, two in zip(small, large, strict=True)])
    print(
        f"{'ten times the table':<28} {ratio:5.2f} of the time, {used:5.2f} of processor time   goal <= 1.3",
        flush=True,
    )
    for path in paths:
        shutil.rmtree(path)


def measure_limits(spark: SparkSession, shapes: Sequence[Shape], counts: Sequence[int], repeats: int) -> None:
    """Records a second of a core, by the size of batch and table and the share of updates."""
    print(f"\nrecords/s of a core; upstream reports {UPSTREAM:.0f} of a vCPU (50,000 on 256)")
    for shape in shapes:
        path = copy_for(spark, OURS, shape.table_type, shape.rows, shape.groups)
        first = shape.rows
        for count in counts:
            for share in (1.0, 0.5, 0.0):
                found = []
                for turn in range(repeats):
                    new = range(first, first + round(count * (1 - share)))
                    first += len(new)
                    seed = count * 10 + turn
                    rows = batch_of(
                        spark, shape.rows, shape.groups, count, touched=shape.touched, seed=seed, new=new
                    )
                    found.append(measured(spark, OURS, rows, path)[0])
                elapsed = median([each.elapsed for each in found])
                used = median([each.processor for each in found])
                print(
                    f"  {shape}: {count:>8,} rows, {share:4.0%} updates: {count / elapsed / CORES:8,.0f} by "
                    f"the clock, {count / used:8,.0f} of processor time",
                    flush=True,
                )
        shutil.rmtree(path)


def measure_stream(spark: SparkSession, shape: Shape, batches: int, count: int) -> None:
    """Micro-batches by our stream and by Hudi's sink with its record index, ten of each in turns."""
    print(f"\nstream of {batches} micro-batches of {count:,} rows; {shape}", flush=True)
    folder, at_once = FOLDER / "writer-stream", min(10, batches)
    shutil.rmtree(folder, ignore_errors=True)
    sides = (OURS, RECORD_INDEX)
    paths = {side.name: copy_for(spark, side, shape.table_type, shape.rows, shape.groups) for side in sides}
    seconds: dict[str, list[float]] = {side.name: [] for side in sides}
    used: dict[str, float] = defaultdict(float)
    first, fresh = shape.rows, count // 10
    for begin in range(0, batches, at_once):
        for seed in range(begin, begin + at_once):
            new = range(first, first + fresh)
            first += fresh
            rows = batch_of(spark, shape.rows, shape.groups, count, touched=shape.touched, seed=seed, new=new)
            rows.coalesce(1).write.parquet(str(folder / "files" / f"{seed:04}"))
        for side in sides if begin // at_once % 2 else reversed(sides):
            before = processor_seconds()
            seconds[side.name] += _stream(spark, side, folder, paths[side.name])
            used[side.name] += processor_seconds() - before
    ours, theirs = (seconds[side.name] for side in sides)
    assert len(ours) == len(theirs) == batches
    sums = {name: checksum(spark, path) for name, path in paths.items()}
    assert len(set(sums.values())) == 1, sums
    for side in sides:
        spent = seconds[side.name]
        rate = batches * count / sum(spent)
        print(
            f"  {side.name:<24} {rate:8,.0f} records/s, {used[side.name] / batches:6.2f} s of processor each"
        )
        print(f"    seconds of batches: {json.dumps([round(each, 1) for each in spent])}")
    print(
        f"{'stream':<28} {sum(theirs) / sum(ours):5.2f} x the records/s, "
        f"{used[RECORD_INDEX.name] / used[OURS.name]:5.2f} x by processor time   goal 2 x  "
        f"{RECORD_INDEX.name}"
    )
    flat = statistics.mean(ours[-at_once:]) / statistics.mean(ours[:at_once])
    print(f"{'last ten batches':<28} {flat:5.2f} of the first ten   goal <= 1.3", flush=True)
    for path in (*paths.values(), folder):
        shutil.rmtree(path)


COMPACTION = {
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "5",
    "hoodie.datasource.compaction.async.enable": "false",
}


def _stream(spark: SparkSession, side: Side, folder: Path, path: Path) -> list[float]:
    """Let a side read what has come since; seconds of each micro-batch."""
    files = str(folder / "files")
    schema = spark.read.parquet(f"{files}/*").schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(f"{files}/*")
    checkpoint = str(folder / f"checkpoint-{side.made}")
    if side is OURS:
        options = {**SHARED, **COMPACTION}
        query = start_stream(
            source, path, checkpoint=checkpoint, trigger={"availableNow": True}, options=options
        )
    else:
        options = {**side.stream_options(), **COMPACTION, "checkpointLocation": checkpoint}
        sink = source.writeStream.format("hudi").options(**options).outputMode("append")
        query = sink.trigger(availableNow=True).start(str(path))
    query.awaitTermination()
    return [
        each["durationMs"]["triggerExecution"] / 1000 for each in query.recentProgress if each["numInputRows"]
    ]


def main() -> None:
    """Make the tables if need be, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--short", action="store_true", help="a small table and few sides, in under 90 s")
    parser.add_argument("--only", choices=("upserts", "larger", "limits", "stream"), default=None)
    parser.add_argument("--types", default="mor,cow")
    parser.add_argument("--sides", default=",".join(AGAINST), help="whom to write against")
    parser.add_argument("--counts", default="1000,20000", help="rows of the batches")
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--warm", type=int, default=3, help="rounds that warm up")
    parser.add_argument("--batches", type=int, default=50, help="of the stream")
    asked = parser.parse_args()
    settings = {"spark.log.level": "ERROR", "spark.driver.memory": "4g", **REMEMBERED}
    spark = local_session("bench", settings=settings)
    use_local_files(spark.sparkContext._gateway)
    try:
        run(spark, asked)
    finally:
        spark.stop()


def run(spark: SparkSession, asked: argparse.Namespace) -> None:
    """What is asked for."""
    if asked.short:
        shape, few = Shape(MOR, 20_000, 20, 20), SIDES[:3]
        found = measure_upserts(spark, shape, (1_000,), few, 1, 1)
        compare_sides(found, GOALS["small"][MOR], few)
        return
    types = [{"mor": MOR, "cow": COW}[name] for name in asked.types.split(",")]
    sides = (OURS, *(AGAINST[name] for name in asked.sides.split(",")))
    counts = [int(count) for count in asked.counts.split(",")]
    for table_type in types:
        small = Shape(table_type, asked.rows, asked.groups)
        large = Shape(table_type, 10 * asked.rows, 10 * asked.groups)
        if asked.only in (None, "upserts"):
            found = measure_upserts(spark, small, counts, sides, asked.repeats, asked.warm)
            compare_sides(found, GOALS["small"][table_type], sides)
        if asked.only in (None, "larger"):
            found = measure_upserts(spark, large, counts[:1], sides, asked.repeats, asked.warm)
            compare_sides(found, GOALS["large"][table_type], sides)
            measure_growth(spark, (small, large), asked.repeats)
    if asked.only in (None, "limits"):
        shapes = [Shape(MOR, asked.rows, asked.groups), Shape(MOR, 10 * asked.rows, 10 * asked.groups)]
        measure_limits(spark, shapes, (1_000, 20_000, 200_000), asked.repeats)
    if asked.only in (None, "stream"):
        measure_stream(spark, Shape(MOR, asked.rows, asked.groups), asked.batches, 10_000)


if __name__ == "__main__":
    main()
