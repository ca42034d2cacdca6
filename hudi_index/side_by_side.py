"""Runs what does not wait for one another side by side, where waiting is what costs.

On an object store every operation is a round trip, and three that don't need each other's answer take the
time of one. On a local disk each takes less than starting a thread: there they run one after the other.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar, overload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = ["each_of", "side_by_side"]

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")

_MOST_THREADS = 16


@overload
def side_by_side(first: Callable[[], A], second: Callable[[], B], /, *, is_local: bool) -> tuple[A, B]: ...
@overload
def side_by_side(
    first: Callable[[], A], second: Callable[[], B], third: Callable[[], C], /, *, is_local: bool
) -> tuple[A, B, C]: ...
def side_by_side(*calls: Callable[[], Any], is_local: bool) -> tuple[Any, ...]:
    """What the calls return; if some raise, what the first of them raises, after all have ended.

    Args:
        calls: None of them may rest on another having come before.
        is_local: Whether the storage that they ask is a local disk.
    """
    return tuple(each_of(lambda call: call(), calls, is_local=is_local))


def each_of(call: Callable[[A], B], items: Iterable[A], *, is_local: bool) -> list[B]:
    """What a call returns for each of some items, in their order; raises as `side_by_side` does."""
    given: Sequence[A] = list(items)
    if is_local or len(given) < 2:
        return [call(item) for item in given]
    # A pool of its own: what runs in it may come here again, and must not wait for a place behind itself.
    with ThreadPoolExecutor(min(_MOST_THREADS, len(given))) as pool:
        return list(pool.map(call, given))
