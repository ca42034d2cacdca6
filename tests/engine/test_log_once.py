"""Warnings that are told once."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from hudi_index import log_once
from hudi_index.log_once import forget, warn_once

log = logging.getLogger("hudi_index.tests.log_once")
MESSAGE = "index %s of %s is not used: %s; REBUILD INDEX %s makes it anew"


@pytest.fixture(autouse=True)
def afresh() -> Iterator[None]:
    forget(log)
    yield
    forget(log)


def tell(table: str = "t", index: str = "by_n", reason: str = "damaged") -> bool:
    return warn_once(log, (table, index, reason), MESSAGE, index, table, reason, index)


def test_the_same_is_told_once_and_another_reason_again(caplog: pytest.LogCaptureFixture) -> None:
    told = [tell(), tell(), tell(reason="its files are gone"), tell(table="u"), tell()]

    assert told == [True, False, True, True, False]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 3
    assert caplog.messages[0] == "index by_n of t is not used: damaged; REBUILD INDEX by_n makes it anew"


def test_record_names_the_place_that_warns(caplog: pytest.LogCaptureFixture) -> None:
    tell()

    assert (caplog.records[0].funcName, caplog.records[0].name) == ("tell", log.name)


def test_two_loggers_have_each_their_own_say(caplog: pytest.LogCaptureFixture) -> None:
    other = logging.getLogger("hudi_index.tests.log_once.other")
    try:
        assert [warn_once(each, "key", "said") for each in (log, other, log)] == [True, True, False]
    finally:
        forget(other)
    assert len(caplog.records) == 2


def test_what_nobody_could_see_is_told_when_somebody_can(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, logger=log.name):
        assert not tell()

    assert tell()


def test_threads_that_meet_it_together_tell_it_once(caplog: pytest.LogCaptureFixture) -> None:
    threads, rounds = 8, 50
    barrier = Barrier(threads)

    def meet(_: int) -> int:
        found = 0
        for number in range(rounds):
            barrier.wait()
            found += tell(reason=str(number))
        return found

    with ThreadPoolExecutor(threads) as pool:
        assert sum(pool.map(meet, range(threads))) == rounds
    assert len(caplog.records) == rounds


def test_memory_is_bounded_and_keeps_what_is_met_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_once, "_REMEMBERED", 3)
    log_once._told.clear()

    assert [tell(reason=each) for each in "abc"] == [True] * 3
    assert not tell(reason="a")
    assert tell(reason="d")  # "b" was not met for the longest time
    assert [tell(reason=each) for each in "acd"] == [False] * 3
    assert len(log_once._told) == 3
    assert tell(reason="b")
