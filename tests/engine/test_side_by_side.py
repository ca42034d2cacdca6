"""Calls that don't wait for one another: in their order, with the first error, in threads only far away."""

from __future__ import annotations

from threading import Barrier, current_thread

import pytest

from hudi_index.side_by_side import each_of, side_by_side

EVERYWHERE = pytest.mark.parametrize("is_local", [True, False])


@EVERYWHERE
def test_outcomes_come_in_the_order_of_the_calls(is_local: bool) -> None:
    assert side_by_side(lambda: 1, lambda: "two", lambda: 3.0, is_local=is_local) == (1, "two", 3.0)
    assert each_of(lambda number: number * 2, range(50), is_local=is_local) == [2 * n for n in range(50)]
    assert each_of(str, [], is_local=is_local) == []


def test_far_away_calls_are_under_way_at_once() -> None:
    # Each waits for the others: one after the other none would end.
    barrier = Barrier(3)
    assert sorted(each_of(lambda _: barrier.wait(), range(3), is_local=False)) == [0, 1, 2]


def test_on_a_local_disk_they_run_here() -> None:
    assert set(each_of(lambda _: current_thread(), range(3), is_local=True)) == {current_thread()}


def test_calls_may_make_such_calls_themselves() -> None:
    def inner(number: int) -> int:
        return sum(each_of(lambda more: number + more, range(20), is_local=False))

    assert each_of(inner, range(40), is_local=False) == [20 * number + 190 for number in range(40)]


@EVERYWHERE
def test_first_error_is_raised(is_local: bool) -> None:
    def fail(number: int) -> int:
        if number >= 3:
            raise ValueError(number)
        return number

    with pytest.raises(ValueError, match="3"):
        each_of(fail, range(10), is_local=is_local)


def test_error_is_raised_after_the_others_have_ended() -> None:
    barrier, ended = Barrier(2), []

    def fail() -> None:
        barrier.wait()
        raise ValueError("first")

    def go_on() -> None:
        barrier.wait()
        ended.append("second")

    with pytest.raises(ValueError, match="first"):
        side_by_side(fail, go_on, is_local=False)
    assert ended == ["second"]
