"""Counts requests to a storage, and how many of them waited for another.

A wave is what can be under way at once: a request is in the wave after that of the last answer which whoever
sends it had to wait for. Nothing is timed. Each thread knows the wave of the latest answer it has seen; work
that is handed to a pool begins with what its giver knew, and who takes a result then knows what the worker
knew. So the count is the same on any machine, however busy.
"""

from __future__ import annotations

from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import local
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.storage import Storage
from hudi_index.table import TableReader, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Requests", "requests_counted"]


@dataclass
class Requests:
    """What was asked of the storage."""

    sent: list[tuple[int, str, str]] = field(default_factory=list)
    """The wave, what was asked, and of which file or folder."""

    def __len__(self) -> int:
        return len(self.sent)

    @property
    def waves(self) -> int:
        """The longest row of requests that each waited for the one before."""
        return max((wave for wave, _, _ in self.sent), default=0)

    @property
    def kinds(self) -> Counter[str]:
        """How many of each kind."""
        return Counter(kind for _, kind, _ in self.sent)

    def __str__(self) -> str:
        head = f"{len(self)} requests in {self.waves} waves: {dict(self.kinds)}"
        return "\n".join([head, *(f"  {wave:3} {kind:7} {path}" for wave, kind, path in sorted(self.sent))])


class _Waves(local):
    seen = 0
    """The wave of the latest answer that this thread knows of."""
    is_inside = False
    """Whether a counted operation is under way, which is made of others."""


_here = _Waves()


@contextmanager
def requests_counted() -> Iterator[Requests]:
    """Counts what a far storage would be asked, while files are on the local disk."""
    found = Requests()
    with pytest.MonkeyPatch.context() as patch:
        _follow_threads(patch)
        patch.setattr(Storage, "is_local", property(lambda _: False))
        for name, cost in _COSTS.items():
            patch.setattr(Storage, name, _counting(found, getattr(Storage, name), cost))
        patch.setattr(
            snapshot, "list_partitions", _counting(found, snapshot.list_partitions, lambda *_: ["LIST"] * 2)
        )
        patch.setattr(TableReader, "losses", _counting(found, TableReader.losses, _heads_of_slices))
        _here.seen = 0
        yield found


_COSTS: dict[str, Callable[..., list[str]]] = {
    "list": lambda *_, **__: ["LIST"],
    "walk": lambda *_, **__: ["LIST"],
    "exists": lambda *_: ["HEAD"],
    "is_folder": lambda *_: ["LIST"],
    "stat": lambda _, paths: ["HEAD"] * len(list(paths)),
    "read": lambda *_: ["GET"],
    "read_many": lambda _, paths: ["GET"] * len(list(paths)),
    "tail": lambda *_: ["GET"],
    "open_input": lambda *_: ["GET"],
    "open_output": lambda *_: ["PUT"],
    "write": lambda *_: ["PUT"],
    "create": lambda *_: ["PUT"],
    "check_create": lambda *_: ["PUT", "PUT"],
    "replace": lambda *_: ["PUT"],
    "delete": lambda _, *paths: ["DELETE"] if paths else [],
    "delete_folder": lambda *_: ["LIST", "DELETE"],
    "move": lambda *_: ["COPY", "DELETE"],
}
"""What operations cost on an object store."""


def _heads_of_slices(_: Any, slices: Any) -> list[str]:
    return ["HEAD" for file_slice in slices for _ in file_slice.paths]


def _counting(found: Requests, operation: Callable[..., Any], cost: Callable[..., list[str]]) -> Any:
    def counting(*given: Any, **named: Any) -> Any:
        if _here.is_inside:
            return operation(*given, **named)
        kinds = cost(*given, **named)
        path = " ".join(map(str, given[1:2]))
        if kinds:
            _here.seen += 1
            found.sent.extend((_here.seen, kind, path) for kind in kinds)
        _here.is_inside = True
        try:
            return operation(*given, **named)
        finally:
            _here.is_inside = False

    return counting


def _follow_threads(patch: pytest.MonkeyPatch) -> None:
    submit, result = ThreadPoolExecutor.submit, Future.result

    def following(self: Any, call: Callable[..., Any], /, *given: Any, **named: Any) -> Any:
        known = _here.seen
        ends: list[int] = []

        def run() -> Any:
            _here.seen = known
            try:
                return call(*given, **named)
            finally:
                ends.append(_here.seen)

        future: Any = submit(self, run)
        future.ends = ends
        return future

    def taking(self: Any, timeout: float | None = None) -> Any:
        try:
            return result(self, timeout)
        finally:
            _here.seen = max([_here.seen, *getattr(self, "ends", [])])

    patch.setattr(ThreadPoolExecutor, "submit", following)
    patch.setattr(Future, "result", taking)
