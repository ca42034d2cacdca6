"""A real storage that dies on demand, leaving on the disk what a killed process leaves."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pytest

from hudi_index.storage import Storage
from hudi_index.storage.local import LocalFiles

if TYPE_CHECKING:
    from collections.abc import Iterator


IS_FAR = os.environ.get("HUDI_INDEX_TEST_STORE") == "s3"
"""Whether tests run in an object store."""

HOSTILE_NAMES = [
    "plain",
    "a b",
    " a ",
    "a%20b",
    "100%",
    "a#b",
    "a?b=c",
    "a+b&c;d",
    "a:b",
    "a\\b",
    "[a]{b}",
    "ä€😀",
    "city=s%C3%A3o paulo",
    "...",
    "a\"b'c",
]
"""Of files and folders, and of tables."""


def only_on_disk(reason: str) -> pytest.MarkDecorator:
    """Skips a test of what an object store does not have, where tests run in one."""
    return pytest.mark.skipif(IS_FAR, reason=reason)


class Crash(BaseException):
    """The process dies here. Not an Exception: nothing may catch it and go on."""


@dataclass
class Bomb:
    """Goes off at the n-th point that mutating storage operations pass; None never."""

    left: int | None = None
    passed: int = 0

    def point(self) -> None:
        self.passed += 1
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0:
            raise Crash


def path_of(storage: Storage, path: str = "") -> Path:
    """The place of a storage, or of a file in it: where tests run in an object store, that of its objects."""
    if storage.is_local:
        return Path(storage._local.full_path(path))
    return Path(os.environ["HUDI_INDEX_TEST_ROOT"]).parent / storage.location.removeprefix("s3://") / path


class _CrashingFiles(LocalFiles):
    """Dies within the two steps that are one to everybody else."""

    @contextmanager
    def temporary(self, path: str, data: bytes) -> Iterator[Path]:
        bomb = CrashingStorage.bomb
        temporary: Path | None = None
        left: bytes | None = None
        try:
            bomb.point()
            with super().temporary(path, data) as temporary:
                left = data[: len(data) // 2]
                bomb.point()  # half of it was written
                left = data
                bomb.point()  # it was not yet moved to its place
                yield temporary
                left = data if temporary.exists() else None
                bomb.point()  # the file has its place, the temporary one is not yet gone
                left = None
        except Crash:
            # An exception runs every `finally` on its way, a killed process none.
            if temporary is not None and left is not None:
                temporary.write_bytes(left)
            raise


class CrashingStorage(Storage):
    """Dies before, within and after every operation that changes a file.

    Methods that `Storage` does not have can't be overridden unnoticed: mypy knows the names used below, and
    `test_crashing_storage.py` counts the points of each operation.
    """

    bomb: ClassVar[Bomb] = Bomb()

    def write(self, path: str, data: bytes) -> None:
        super().write(path, data[: len(data) // 2])
        self.bomb.point()  # leaves half a file
        super().write(path, data)
        self.bomb.point()

    def open_output(self, path: str) -> pa.NativeFile:
        self.bomb.point()
        super().open_output(path).close()
        self.bomb.point()  # leaves an empty file
        return super().open_output(path)

    @cached_property
    def _local(self) -> LocalFiles:
        files = super()._local
        return _CrashingFiles(Path(files.root), self.uri)

    def create(self, path: str, data: bytes) -> None:
        self._points_of_requests(3)
        super().create(path, data)
        self._points_of_requests(1)
        self.bomb.point()

    def replace(self, path: str, data: bytes) -> None:
        self._points_of_requests(3)
        super().replace(path, data)
        self._points_of_requests(1)
        self.bomb.point()

    def _points_of_requests(self, count: int) -> None:
        """As many as the steps on a disk have, which are one in an object store."""
        for _ in range(0 if self.is_local else count):
            self.bomb.point()

    def delete(self, *paths: str) -> None:
        self.bomb.point()
        for path in paths:
            super().delete(path)
            self.bomb.point()

    def move(self, path: str, other: str) -> None:
        self.bomb.point()
        super().move(path, other)
        self.bomb.point()

    def delete_folder(self, folder: str) -> None:
        self.bomb.point()
        super().delete_folder(folder)
        self.bomb.point()


@contextmanager
def points_counted() -> Iterator[Bomb]:
    """Nothing dies inside; the points that were passed are counted."""
    CrashingStorage.bomb = bomb = Bomb()
    try:
        yield bomb
    finally:
        CrashingStorage.bomb = Bomb()


@contextmanager
def dying_at(point: int) -> Iterator[None]:
    """What is done inside dies at a point; it has to."""
    CrashingStorage.bomb = Bomb(point)
    try:
        yield
    except Crash:
        pass
    else:
        raise AssertionError(f"the process should have died at point {point}")
    finally:
        CrashingStorage.bomb = Bomb()
