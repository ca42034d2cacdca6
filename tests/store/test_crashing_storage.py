"""The storage that dies on demand: at which points, and what it leaves there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hudi_index.storage import TEMPORARY_SUFFIX, Storage
from tests.support.storage import CrashingStorage, dying_at, only_on_disk, points_counted

OLD, NEW = b"old", b"new content"


def _create(storage: Storage) -> None:
    storage.create("f/new", NEW)


def _replace(storage: Storage) -> None:
    storage.replace("f/old", NEW)


def _left_after(
    folder: Path, work: Callable[[Storage], None], point: int
) -> tuple[dict[str, bytes], list[bytes]]:
    """The files with a name of their own, and what is in the temporary ones."""
    Storage.open(folder).write("f/old", OLD)
    with dying_at(point):
        work(CrashingStorage.open(folder))
    files = {file.name: file.read_bytes() for file in (folder / "f").iterdir()}
    named = {name: data for name, data in files.items() if not name.endswith(TEMPORARY_SUFFIX)}
    return named, [data for name, data in files.items() if name not in named]


@only_on_disk("an object store has no temporary files")
@pytest.mark.parametrize(
    ("work", "done", "after_the_step"),
    [
        # A hard link stands beside the temporary file, a move takes it away.
        pytest.param(_create, {"old": OLD, "new": NEW}, [NEW], id="create"),
        pytest.param(_replace, {"old": NEW}, [], id="replace"),
    ],
)
def test_dies_before_within_and_after(
    work: Callable[[Storage], None], done: dict[str, bytes], after_the_step: list[bytes], tmp_path: Path
) -> None:
    Storage.open(tmp_path / "whole").write("f/old", OLD)
    with points_counted() as bomb:
        work(CrashingStorage.open(tmp_path / "whole"))

    found = [_left_after(tmp_path / str(point), work, point) for point in range(bomb.passed)]

    before = {"old": OLD}
    half = NEW[: len(NEW) // 2]
    assert found == [(before, []), (before, [half]), (before, [NEW]), (done, after_the_step), (done, [])]


def test_what_does_not_die_is_told(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="should have died at point 99"), dying_at(99):
        _create(CrashingStorage.open(tmp_path))
