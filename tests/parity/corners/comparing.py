"""Queries through the indexes against a full scan, many predicates in one Spark job.

The full side is the table read once without any index and kept as rows of an RDD: nothing can be pushed down
to those, pruned or skipped. Each predicate is a column there. The pruned side is one filtered scan per
predicate, each planned by its own filter, put together by UNION ALL. Answers are multisets of the rows'
identities. Some predicates, in long runs all of them, are put to a third side as well: the table as the
catalog gives it, in a session that is enabled.

A predicate that Spark itself fails on (a cast under ANSI, a literal out of range) has no answer to compare
with and is counted as such.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import Column, functions

from hudi_index.spark import last_plans, read_indexed
from hudi_index.spark.validate.parity import ORACLE
from hudi_index.spark.validate.parity import session_settings as session
from tests.parity.tables import canonical
from tests.support.enabled import IS_LONG, catalog_frame, enabled

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pytest
    from pyspark.sql import DataFrame, SparkSession

    from tests.parity.tables import HudiTable

Predicate = str | Column
Rows = Counter[tuple[Any, ...]]

IDENTITY = ("_hoodie_record_key", "_hoodie_partition_path", "_hoodie_commit_seqno")
"""Which row it is, whatever it holds."""

EXACT = {
    **ORACLE,
    # As few tasks as can be: there is next to nothing to read.
    "spark.sql.files.minPartitionNum": "1",
}
_AT_ONCE = 10
_SAMPLE = 3
"""Predicates that a pair of sides puts to an enabled session."""
_ONE_IN = 4
"""Which part of whole queries is put to one."""
_FAILURES = (PySparkException, Py4JJavaError)


@dataclass
class Tally:
    """What was compared, what differed, and what reading less saved."""

    comparisons: int = 0
    rows: int = 0
    unanswered: int = 0
    """Predicates that Spark fails on, or can't be asked, without any index."""
    kept: int = 0
    total: int = 0
    differences: list[str] = field(default_factory=list)
    enabled: int = 0
    """Comparisons with an enabled session, which are not among the others."""
    enabled_left_out: int = 0
    """File slices that those did not read."""

    @property
    def left_out(self) -> int:
        """File slices that were not read."""
        return self.total - self.kept

    def add(self, asked: str, wanted: Rows, found: Rows, told: str = "") -> None:
        """Count one comparison."""
        self.comparisons += 1
        self.rows += wanted.total()
        if wanted != found:
            lost, extra = (wanted - found).total(), (found - wanted).total()
            self.differences.append(
                f"{asked}\n    full {wanted.total()} rows, pruned {found.total()}: {lost} lost, {extra} extra"
                f"\n    lost {sorted(map(str, wanted - found))[:3]}\n    {told}"
            )

    def add_plans(self, marker: object) -> str:
        """Count the plans made since the newest one was `marker`; what the last of them says."""
        plans = last_plans()
        places = [place for place, plan in enumerate(plans) if plan is marker]
        new = plans[places[0] + 1 :] if places else plans
        for plan in new:
            self.kept, self.total = self.kept + plan.kept, self.total + plan.total
        return "\n    ".join(new[-1].explain().splitlines()[:8]) if new else "no plan"

    def add_enabled(self, third: Tally) -> None:
        """What came of a sample in an enabled session."""
        self.enabled += third.comparisons
        self.enabled_left_out += third.left_out
        self.differences += [f"in an enabled session: {each}" for each in third.differences]

    def check(self, name: str, capsys: pytest.CaptureFixture[str], *, left_out: float = 0.0) -> None:
        """Nothing differed, and at least such a part of all file slices was not read."""
        with capsys.disabled():
            print(  # noqa: T201
                f"\n{name}: {self.comparisons} comparisons, {len(self.differences)} differences, "
                f"{self.unanswered} without an answer, {self.rows} rows, {self.left_out} of {self.total} "
                f"file slices left out; {self.enabled} more in an enabled session, which left out "
                f"{self.enabled_left_out}"
            )
        shown = "\n".join(self.differences[:40])
        assert not self.differences, f"{len(self.differences)} of {self.comparisons} differ\n{shown}"
        assert self.comparisons > 0
        assert self.left_out >= left_out * self.total, "hardly anything was pruned"
        if left_out:
            assert self.left_out > 0


@dataclass
class Sides:
    """A table read with and without its indexes, as of one moment."""

    pruned: DataFrame
    full: DataFrame
    identity: tuple[str, ...] = IDENTITY
    plain: DataFrame | None = None
    """The table as the catalog gives it."""
    _sampled: int = 0

    @classmethod
    def of(cls, hudi: HudiTable, spark: SparkSession | None = None) -> Sides:
        """Both sides, in the session that the table was made with or in another."""
        chosen = spark or hudi.spark
        reader = chosen.read.format("hudi").options(
            **{"hoodie.metadata.enable": "false", "hoodie.enable.data.skipping": "false"}
        )
        with session(chosen, {"spark.sql.parquet.filterPushdown": "false"}):
            full = reader.load(str(hudi.path)).coalesce(1).localCheckpoint()
        return cls(read_indexed(chosen, hudi.path, strict=True), full, plain=catalog_frame(chosen, hudi.path))

    @property
    def spark(self) -> SparkSession:
        return self.full.sparkSession

    def compare(
        self,
        tally: Tally,
        predicates: Sequence[Predicate],
        settings: Mapping[str, str] | None = None,
        note: str = "",
    ) -> None:
        """Put each predicate to both sides, under the same settings of the session."""
        given = settings or {}
        told = f"{note} {dict(given)}" if given else note
        with session(self.spark, {**EXACT, **given}):
            accepted = [each for each in predicates if self._is_accepted(each)]
            tally.unanswered += len(predicates) - len(accepted)
            for start in range(0, len(accepted), _AT_ONCE):
                self._compare(tally, accepted[start : start + _AT_ONCE], told, self.pruned)
            sample = accepted if IS_LONG else accepted[: _SAMPLE - self._sampled]
            if sample and self.plain is not None:
                self._sampled += len(sample)
                third = Tally()
                with enabled(self.spark):
                    for start in range(0, len(sample), _AT_ONCE):
                        self._compare(third, sample[start : start + _AT_ONCE], told, self.plain)
                tally.add_enabled(third)

    def _compare(self, tally: Tally, predicates: Sequence[Predicate], note: str, side: DataFrame) -> None:
        """All at once; one by one where one of them fails or differs."""
        wanted = unless_failing(self._full, predicates)
        before = next(iter(last_plans(1)), None)
        found = unless_failing(self._pruned, predicates, side) if wanted else None
        if wanted is None or found is None or wanted != found:
            if len(predicates) > 1:
                for each in predicates:
                    self._compare(tally, [each], note, side)
                return
            if wanted is None:
                tally.unanswered += 1
                return
        told = tally.add_plans(before)
        for place, each in enumerate(predicates):
            text = f"{each} {note}"
            if found is None:
                tally.add(text, wanted[place], Counter(), f"the pruned query fails\n    {told}")
            else:
                tally.add(text, wanted[place], found[place], told)

    def _is_accepted(self, predicate: Predicate) -> bool:
        return unless_failing(lambda: self.full.where(predicate)) is not None

    def _full(self, predicates: Sequence[Predicate]) -> list[Rows]:
        flags = [
            functions.coalesce(_column(each), functions.lit(False)).alias(f"_p{place}")
            for place, each in enumerate(predicates)
        ]
        found: list[Rows] = [Counter() for _ in predicates]
        width = len(self.identity)
        for row in self.full.select(*self.identity, *flags).collect():
            for counter, is_true in zip(found, row[width:], strict=True):
                if is_true:
                    counter[tuple(row[:width])] += 1
        return found

    def _pruned(self, predicates: Sequence[Predicate], side: DataFrame) -> list[Rows]:
        scans = [
            side.where(_column(each)).select(functions.lit(place).alias("_place"), *self.identity)
            for place, each in enumerate(predicates)
        ]
        found: list[Rows] = [Counter() for _ in predicates]
        for row in reduce(lambda all_of, one: all_of.union(one), scans).collect():
            found[row[0]][tuple(row[1:])] += 1
        return found

    def compare_rows(self, tally: Tally, predicate: Predicate = "true") -> None:
        """Every column of the rows that a predicate finds."""
        with session(self.spark, EXACT):
            before = next(iter(last_plans(1)), None)
            wanted, found = (
                _rows(side.where(predicate).select(*map(quoted, self.full.columns)))
                for side in (self.full, self.pruned)
            )
            tally.add(f"all columns where {predicate}", wanted, found, tally.add_plans(before))


def compare_queries(
    spark: SparkSession,
    tally: Tally,
    queries: Sequence[str],
    tables: Mapping[str, Sides],
    settings: Mapping[str, str] | None = None,
) -> None:
    """Put whole queries to both sides; `{name}` in a query is the view of that table.

    Not in one job: what Spark plans of joins and subqueries differs with what surrounds them. Some of them,
    in long runs all, are put to an enabled session as well.
    """
    views = {
        f"{side}_{name}": frame
        for name, sides in tables.items()
        for side, frame in (("full", sides.full), ("pruned", sides.pruned), ("plain", sides.plain))
        if frame is not None
    }
    third = Tally()
    with session(spark, {**EXACT, **(settings or {})}):
        for view, frame in views.items():
            frame.createOrReplaceTempView(view)
        try:
            for place, query in enumerate(queries):
                full, pruned, plain = (
                    query.format(**{n: f"{side}_{n}" for n in tables}) for side in ("full", "pruned", "plain")
                )
                wanted, (found, told) = _rows(spark.sql(full)), _counted_rows(spark, tally, pruned)
                tally.add(f"{query} {dict(settings or {})}", wanted, found, told)
                if IS_LONG or place % _ONE_IN == 0:
                    with enabled(spark):
                        found, told = _counted_rows(spark, third, plain)
                    third.add(f"{query} {dict(settings or {})}", wanted, found, told)
        finally:
            for view in views:
                spark.catalog.dropTempView(view)
    tally.add_enabled(third)


def _counted_rows(spark: SparkSession, tally: Tally, query: str) -> tuple[Rows, str]:
    before = next(iter(last_plans(1)), None)
    found = _rows(spark.sql(query))
    return found, tally.add_plans(before)


def _rows(frame: DataFrame) -> Rows:
    return Counter(tuple(canonical(_plain(value)) for value in row) for row in frame.collect())


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return value.asDict(recursive=True)
    return bytes(value) if isinstance(value, bytearray) else value


def unless_failing(action: Callable[..., Any], *given: Any) -> Any:
    """What an action gives, None where Spark refuses or fails it."""
    try:
        return action(*given)
    except _FAILURES:
        return None


def _column(predicate: Predicate) -> Column:
    return functions.expr(predicate) if isinstance(predicate, str) else predicate


def quoted(name: str) -> str:
    """A column's name as Spark SQL takes any name."""
    return "`" + name.replace("`", "``") + "`"
