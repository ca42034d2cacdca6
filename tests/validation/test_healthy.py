"""Healthy indexes raise no alarm, whatever the table holds and whatever is done to it meanwhile."""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.errors import NoSuchIndexError
from hudi_index.storage import Storage
from tests.validation.tables import STATEMENTS, clustered_table, indexed, instant, random_row, random_table

if TYPE_CHECKING:
    from pathlib import Path


def _history(path: Path, seed: int) -> IndexedTable:
    """A random table with random indexes, random commits, and maintenance now and then."""
    chance = random.Random(seed)
    made = random_table(path, seed, groups=chance.randint(1, 5))
    kinds = chance.sample(sorted(STATEMENTS), chance.randint(1, 3))
    table = indexed(made, *kinds)
    for number in range(2, 2 + chance.randint(0, 3)):
        made.commit(instant(number))
        for place in chance.sample(range(6), chance.randint(1, 3)):
            region = ("eu", "us")[place % 2]
            rows = [random_row(chance, place * 1000 + key, region) for key in range(chance.randint(0, 6))]
            made.base_file(region, f"g{place}", instant(number), rows)
        if chance.random() < 0.6:
            table.maintain()
        if chance.random() < 0.2:
            table.compact(force=True)
    return table


def _check(path: Path, seed: int) -> None:
    report = _history(path, seed).validate(queries=8, seed=seed)
    assert report.passed, str(report)
    assert {each.result for each in report.queries} == {"same"}, [each.reason for each in report.queries]


@pytest.mark.parametrize("seed", range(12))
def test_healthy_index_raises_no_alarm(seed: int, tmp_path: Path) -> None:
    _check(tmp_path / "t", seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12, 500))
def test_healthy_index_raises_no_alarm_in_many_runs(seed: int, tmp_path: Path) -> None:
    _check(tmp_path / "t", seed)


def test_same_seed_asks_the_same(tmp_path: Path) -> None:
    table = indexed(random_table(tmp_path / "t", 5))
    one, two = (table.validate(queries=12, seed=9, sample=0) for _ in range(2))
    assert [each.query for each in one.queries] == [each.query for each in two.queries]
    other = table.validate(queries=12, seed=10, sample=0)
    assert [each.query for each in one.queries] != [each.query for each in other.queries]
    assert not one.content.is_checked


def test_sample_reads_only_the_chosen_file_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = clustered_table(tmp_path / "t", groups=400, rows=1)
    table = indexed(made, "secondary_index", "column_stats")
    opened: set[str] = set()
    real = Storage.open_input

    def counting(storage: Storage, path: str) -> Any:
        opened.add(path)
        return real(storage, path)

    monkeypatch.setattr(Storage, "open_input", counting)
    # hudi-rs opens files by itself: what is not there can't be read.
    report = table.validate(queries=0, sample=10, seed=1)
    chosen = {name.rpartition("/")[2] for name in report.content.sample or []}
    assert len(chosen) == report.content.file_groups_checked == 10
    assert report.content.file_groups == 400
    assert report.content.rows_read == 10
    assert not any("/g" in path and ".hoodie" not in path for path in opened - _of(chosen, opened))
    for file in (tmp_path / "t").glob("*/*.parquet"):
        if file.name.partition("_")[0] not in chosen:
            file.write_bytes(b"nobody may read this")
    again = table.validate(queries=0, sample=10, seed=1)
    assert again.passed, str(again)
    assert again.content.sample == report.content.sample


def _of(chosen: set[str], paths: set[str]) -> set[str]:
    return {path for path in paths if path.rpartition("/")[2].partition("_")[0] in chosen}


def test_validation_that_never_pruned_says_so(tmp_path: Path) -> None:
    table = indexed(clustered_table(tmp_path / "t"), "bitmap")
    report = table.validate(queries=0, where=("n = 1", "ratio > 0"))
    assert report.passed
    assert any("no query was pruned" in note for note in report.notes)
    assert report.effect["queries_pruned"] == 0
    pruned = table.validate(queries=0, where=("name = 'name-1-1'",))
    assert pruned.effect == {
        "queries": 1,
        "queries_pruned": 1,
        "file_groups_skipped": 0.75,
        "bytes_skipped": pytest.approx(0.75, abs=0.01),
    }
    assert not any("no query was pruned" in note for note in pruned.notes)


def test_no_index_or_an_unknown_one(tmp_path: Path) -> None:
    made = clustered_table(tmp_path / "t")
    report = IndexedTable.open(made.path).validate(queries=3)
    assert report.passed
    assert report.queries == []
    with pytest.raises(NoSuchIndexError):
        IndexedTable.open(made.path).validate(indexes=("nothing",))


def test_no_false_alarm_while_a_writer_commits_and_maintains(tmp_path: Path) -> None:
    made = clustered_table(tmp_path / "t")
    table = indexed(made, "secondary_index", "column_stats", "bitmap")
    stop = threading.Event()
    errors: list[BaseException] = []
    commits: list[int] = []

    def write() -> None:
        chance = random.Random(3)
        writer = IndexedTable.open(made.path)
        try:
            while not stop.wait(0.02):
                number = len(commits) + 2
                place = chance.randrange(6)
                region = ("eu", "us")[place % 2]
                rows = [random_row(chance, number * 100 + key, region) for key in range(4)]
                # As Hudi's writers do: the files first, then the commit.
                made.base_file(region, f"g{place}", instant(number), rows)
                made.commit(instant(number))
                commits.append(number)
                if number % 2:
                    writer.maintain()
        except BaseException as error:  # noqa: BLE001  told by the main thread
            errors.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        while len(commits) < 15 and not errors:
            report = table.validate(queries=6, seed=len(commits))
            assert report.passed, str(report)
    finally:
        stop.set()
        thread.join()
    assert not errors, errors
