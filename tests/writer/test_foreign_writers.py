"""Indexes that lag, and others who commit while a batch is written: no record twice, no update lost."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.errors import CommitBetweenError
from hudi_index.spark import upsert
from hudi_index.spark.write import writer as writer_module
from hudi_index.writer.prepare import prepare
from hudi_index.writer.tagger import Tagger
from tests.parity.tables import COW, MOR
from tests.writer.twins import HUDIS_INDEX, RECORDS, SMALL, Twins, hold_back, row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SHARED = {
    "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
    "hoodie.clean.failed.writes.policy": "LAZY",
    "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.InProcessLockProvider",
}
"""What all writers of a table say that has several."""

BEGIN = [row(f"k{place}", 5, ("eu", "us")[place % 2], "begin") for place in range(8)]


@pytest.mark.parametrize("table_type", [pytest.param(COW, marks=pytest.mark.slow), MOR])
def test_an_index_that_lags_misses_no_record(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    twins = Twins(spark, tmp_path, table_type, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    for lag, commits in (("read", 1), ("auto", 1), ("maintain", 2)):
        for number in range(commits):
            word = f"{lag} {number}"
            twins.both(
                "upsert",
                [row(f"new {word}", 5, "eu", word), row("k0", 10, ("us", "eu")[number % 2], word)],
            )
        assert twins.indexed.status().commits_behind == commits
        mine = [row(f"new {lag} {number}", 6, "us", "mine") for number in range(commits)]
        report = twins.upsert([*mine, row("k0", 9, "asia", "late"), row("k1", 11, "asia", lag)], lag=lag)
        assert report.counts.moved == commits + (lag == "read")
        assert report.counts.updated == (lag != "read")
        assert report.counts.late == 1
        assert bool(report.counts.keys_read) == (lag != "maintain")
        assert any("maintained first" in note for note in report.notes) == (lag == "maintain")
        twins.check(validates=lag == "maintain")


@pytest.mark.parametrize("version", [6, 9])
def test_what_only_spark_reads_is_maintained_first(spark: SparkSession, tmp_path: Path, version: int) -> None:
    """Hudi's global index writes delete blocks with ordering values of two types, which hudi-rs refuses.

    In version 6 a write that began and failed would keep maintenance from them.
    """
    twins = Twins(spark, tmp_path, MOR, version, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    twins.both("upsert", [row("k0", 6, "us", "moved"), row("k2", 6, "eu", "gone", deletes=True)])
    mine = [row("k0", 7, "eu", "mine"), row("k2", 7, "us", "new again")]
    report = twins.upsert(mine)
    assert any("maintained first" in note for note in report.notes)
    twins.check()


def at_the_moment(monkeypatch: pytest.MonkeyPatch, act: Callable[[], None], *, is_tagged: bool) -> None:
    """Have something happen in the worker that tags, before it or after: once, while Hudi writes."""

    class Interrupted(Tagger):
        def refuse_if_moved(self) -> None:
            if not is_tagged:
                act()
            super().refuse_if_moved()

        def tag(self, table: pa.Table) -> Any:
            found = super().tag(table)
            if is_tagged:
                act()
            return found

    def interrupted(*given: Any, **named: Any) -> Any:
        prepared = prepare(*given, **named)
        fields = {name: getattr(prepared.tagger, name) for name in Tagger.__dataclass_fields__}
        return replace(prepared, tagger=Interrupted(**fields))

    monkeypatch.setattr(writer_module, "prepare", interrupted)


@pytest.mark.parametrize(
    ("table_type", "is_tagged"),
    [
        pytest.param(COW, False, id="copy on write, before tagging"),
        pytest.param(COW, True, id="copy on write, after tagging", marks=pytest.mark.slow),
        pytest.param(MOR, False, id="merge on read, before tagging", marks=pytest.mark.slow),
        pytest.param(MOR, True, id="merge on read, after tagging", marks=pytest.mark.slow),
    ],
)
def test_a_commit_that_completes_meanwhile_has_the_batch_begin_anew(
    spark: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    table_type: str,
    is_tagged: bool,
) -> None:
    twins = Twins(spark, tmp_path, table_type, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    # It began before this batch looks, and has a new record that this batch takes for new as well.
    complete = hold_back(
        twins.ours,
        [row("new", 6, "eu", "other"), row("k0", 6, "us", "other"), row("k1", 9, "us", "other")],
        {**HUDIS_INDEX, **SHARED},
    )
    at_the_moment(monkeypatch, complete, is_tagged=is_tagged)
    report = upsert(
        twins.ours.frame(
            [row("new", 7, "us", "mine"), row("k0", 7, "eu", "mine"), row("k1", 8, "eu", "mine")]
        ),
        twins.ours.path,
        options={**_small_options(twins), **SHARED},
        tasks=1,
    )
    assert report.attempts == 2
    assert any("tried again" in note for note in report.notes)
    records = {key: rest for key, *rest in twins.records()}
    assert len(records) == len(twins.records())
    assert records["new"] == [7, "us", "mine"]
    assert records["k0"] == [7, "eu", "mine"]
    assert records["k1"] == [9, "us", "other"]
    assert twins.indexed.status().is_fresh


def test_two_that_insert_one_key_into_file_groups_of_their_own_do_not_double_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Hudi's own rule they do not conflict."""
    twins = Twins(spark, tmp_path, MOR, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    complete = hold_back(twins.ours, [row("new", 6, "eu", "other")], {**HUDIS_INDEX, **SHARED})
    at_the_moment(monkeypatch, complete, is_tagged=True)
    given = {**_small_options(twins), **SHARED}
    report = upsert(twins.ours.frame([row("new", 7, "us", "mine")]), twins.ours.path, options=given, tasks=1)
    assert (report.attempts, report.counts.moved) == (2, 1)
    assert [each for each in twins.records() if each[0] == "new"] == [("new", 7, "us", "mine")]


def test_without_concurrency_control_the_report_says_that_others_wrote_meanwhile(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins = Twins(spark, tmp_path, MOR, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    complete = hold_back(twins.ours, [row("other", 6, "eu", "other")], {**HUDIS_INDEX, **SHARED})
    at_the_moment(monkeypatch, complete, is_tagged=True)
    # Else Hudi takes back what it finds begun.
    given = {**_small_options(twins), "hoodie.clean.failed.writes.policy": "LAZY"}
    report = upsert(twins.ours.frame([row("mine", 7, "us", "mine")]), twins.ours.path, options=given, tasks=1)
    other, mine = twins.ours.completed()[-2:]
    assert (report.attempts, report.instant) == (1, mine)
    assert any(note.startswith(f"{other} completed while") for note in report.notes)
    assert {"other", "mine"} <= {key for key, *_ in twins.records()}


def _small_options(twins: Twins) -> dict[str, str]:
    options: dict[str, str] = twins._given["options"]
    return options


def test_a_batch_that_others_overtake_each_time_is_a_conflict(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twins = Twins(spark, tmp_path, COW, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    complete = hold_back(twins.ours, [row("new", 6, "eu", "other")], {**HUDIS_INDEX, **SHARED})
    at_the_moment(monkeypatch, complete, is_tagged=False)
    with pytest.raises(CommitBetweenError, match="retry") as caught:
        upsert(
            twins.ours.frame([row("new", 7, "us", "mine")]),
            twins.ours.path,
            attempts=1,
            options={**_small_options(twins), **SHARED},
        )
    assert caught.value.instants == [twins.ours.completed()[-1]]
    assert ("new", 6, "eu", "other") in twins.records()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_others_that_commit_at_random_moments_cost_no_record(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Each batch of ours meets one of another's; both are in the table, as if one came after the other."""
    chance = random.Random(seed)
    twins = Twins(spark, tmp_path, (COW, MOR)[seed % 2], shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    expected = {each["id"]: (each["ts"], each["region"], each["v"]) for each in BEGIN}
    for moment in range(6, 10):
        batches = [
            [
                # Ordering values differ, so that the order of the two commits does not matter.
                row(key, 2 * moment + mine, chance.choice(("eu", "us", "asia")), f"{mine} {moment}")
                for key in chance.sample([*(f"k{place}" for place in range(8)), "x", "y", "z"], 4)
            ]
            for mine in (0, 1)
        ]
        with monkeypatch.context() as patch:
            complete = hold_back(twins.ours, batches[0], {**HUDIS_INDEX, **SHARED})
            at_the_moment(patch, complete, is_tagged=chance.random() < 0.5)
            upsert(
                twins.ours.frame(batches[1]),
                twins.ours.path,
                options={**_small_options(twins), **SHARED},
                tasks=1,
                lag=chance.choice(("auto", "read", "maintain")),
                index=chance.choice(("sync", "async")),
            )
        for each in (*batches[0], *batches[1]):
            if each["ts"] >= expected.get(each["id"], (0,))[0]:
                expected[each["id"]] = (each["ts"], each["region"], each["v"])
        found = twins.records()
        assert {key: tuple(rest) for key, *rest in found} == expected
        assert len(found) == len(expected)


@pytest.mark.slow
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_batch_after_a_restore_finds_what_is_there_again(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    twins = Twins(spark, tmp_path, table_type, shape=SMALL, statements=RECORDS)
    twins.begin(BEGIN)
    saved = [table.savepoint() for table in (twins.ours, twins.hudis)]
    twins.upsert([row("new", 6, "eu", "undone"), row("k0", 6, "us", "undone")])
    for table, instant in zip((twins.ours, twins.hudis), saved, strict=True):
        table.restore(instant)
    report = twins.upsert(
        [row("new", 7, "us", "mine"), row("k0", 5, "us", "tie"), row("k1", 4, "us", "late")]
    )
    assert (report.counts.inserted, report.counts.moved, report.counts.late) == (1, 1, 1)
    twins.check()
