"""Counts requests to an object store, and how many of them waited for another.

The store is a folder that obstore itself serves, so everything runs as it does far away but for the network;
what is counted is what is asked of obstore, in the requests that S3 needs for it. hudi-rs, which reads slices
with logs, asks for itself and is not counted.

A wave is what can be under way at once: a request is in the wave after that of the last answer which whoever
sends it had to wait for. Nothing is timed. Each thread knows the wave of the latest answer it has seen; work
that is handed to a pool begins with what its giver knew, and who takes a result then knows what the worker
knew. So the count is the same on any machine, however busy.
"""

from __future__ import annotations

import time
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock, local
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import obstore
import pytest
from obstore.store import LocalStore

from hudi_index.storage import Storage
from hudi_index.storage.options import StoreOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

__all__ = ["BUCKET", "Requests", "object_store_in", "requests_counted"]

BUCKET = "s3://bucket"
_PAGE = 1000


@dataclass
class Requests:
    """What was asked of the storage."""

    sent: list[tuple[int, str, str]] = field(default_factory=list)
    """The wave, what was asked, and of which file or folder."""
    _lock: Lock = field(default_factory=Lock, repr=False)

    delay: float = 0.0
    """Seconds that each answer takes, for those who want to see time pass."""

    def send(self, kind: str, path: str, count: int = 1) -> None:
        """Count requests that go out at once, and wait for their answers."""
        if self.delay:
            time.sleep(self.delay)
        _here.seen += 1
        with self._lock:
            self.sent += [(_here.seen, kind, path)] * count

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


_here = _Waves()


@contextmanager
def object_store_in(folder: Path) -> Iterator[None]:
    """`s3://bucket/…` is an object store, and its objects are the files below a folder."""

    def opened(_: StoreOptions, url: str, __: object) -> LocalStore:
        return LocalStore(folder / unquote(url.removeprefix(f"{BUCKET}/")), mkdir=True)

    def place(self: Storage) -> tuple[str, dict[str, str]]:
        return (folder / unquote(self.uri.removeprefix(f"{BUCKET}/"))).as_uri(), {}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(obstore, "list", _in_order(obstore.list))
        patch.setattr(StoreOptions, "open_with_obstore", opened)
        patch.setattr(Storage, "for_hudi_rs", place)
        yield


@contextmanager
def requests_counted(delay: float = 0.0) -> Iterator[Requests]:
    """Counts what is asked of object stores inside; tests leave the delay alone."""
    found = Requests(delay=delay)
    with pytest.MonkeyPatch.context() as patch:
        _follow_threads(patch)
        for name, kind in _KINDS.items():
            patch.setattr(obstore, name, _counting(found, kind, getattr(obstore, name)))
        patch.setattr(obstore, "delete", _counting_pages(found, obstore.delete))
        patch.setattr(obstore, "list", _counting_lists(found, obstore.list))
        _here.seen = 0
        yield found


_KINDS = {
    "get": "GET",
    "get_range": "GET",
    "head": "HEAD",
    "list_with_delimiter": "LIST",
    "put": "PUT",
    "open_writer": "PUT",
    "copy": "COPY",
}


def _counting(found: Requests, kind: str, operation: Callable[..., Any]) -> Callable[..., Any]:
    def counting(store: Any, path: Any = None, *given: Any, **named: Any) -> Any:
        found.send(kind, str(path or ""))
        return operation(store, path, *given, **named)

    return counting


def _counting_pages(found: Requests, delete: Callable[..., Any]) -> Callable[..., Any]:
    def counting(store: Any, paths: Any) -> Any:
        count = 1 if isinstance(paths, str) else len(paths)
        found.send("DELETE", f"{count} files", -(-count // _PAGE))
        return delete(store, paths)

    return counting


def _in_order(listing: Callable[..., Any]) -> Callable[..., Any]:
    """Lists by name, as S3 does. A folder's files come in whatever order its file system likes."""

    def ordered(store: Any, prefix: Any = None, **named: Any) -> Iterator[Any]:
        found = sorted((each for page in listing(store, prefix, **named) for each in page), key=_path_of)
        for start in range(0, len(found), _PAGE):
            yield found[start : start + _PAGE]

    return ordered


def _path_of(found: Any) -> str:
    return str(found["path"])


def _counting_lists(found: Requests, listing: Callable[..., Any]) -> Callable[..., Any]:
    def counting(store: Any, prefix: Any = None, *, offset: Any = None, **named: Any) -> Iterator[Any]:
        is_full = True
        for page in listing(store, prefix, offset=offset, **named):
            if is_full:
                found.send("LIST", f"{prefix or ''} after {offset or ''}")
            is_full = len(page) == _PAGE
            yield page
        if is_full:
            # Nothing there, or nothing behind a full page: that had to be asked too.
            found.send("LIST", f"{prefix or ''} after {offset or ''}")

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
