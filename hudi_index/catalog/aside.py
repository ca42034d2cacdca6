"""Where damaged files go: nothing that might tell somebody what happened is deleted at once.

    <table>/.hoodie/.index/damaged/<when>/<path below .hoodie/.index>

`when` is the time of the repair, UTC. Nobody reads what is there; old folders are deleted by later repairs
and compactions.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hudi_index.storage import Storage

__all__ = ["INDEX_FOLDER", "Aside", "forget_damaged"]

INDEX_FOLDER = ".hoodie/.index"
_DAMAGED = f"{INDEX_FOLDER}/damaged"
_FORM = "%Y%m%d%H%M%S%f"
_KEPT = timedelta(days=7)


class Aside:
    """The place for what one repair finds damaged in the table at a storage."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.folder = f"{_DAMAGED}/{datetime.now(timezone.utc).strftime(_FORM)}"

    def move(self, path: str) -> None:
        """Take a file or folder away; none there is fine."""
        if not self._storage.exists(path):
            return
        if path == INDEX_FOLDER:  # a file where everything else is to be
            self._storage.move(path, f"{INDEX_FOLDER}-{self.folder.rpartition('/')[2]}")
            return
        self._storage.move(path, self._path_aside(path))

    def copy(self, path: str) -> None:
        """Keep what a file says now; what is a folder goes away."""
        if self._storage.is_folder(path):
            self.move(path)
        else:
            self._storage.write(self._path_aside(path), self._storage.read(path))

    def _path_aside(self, path: str) -> str:
        return f"{self.folder}/{path.removeprefix(f'{INDEX_FOLDER}/')}"


def forget_damaged(storage: Storage, *, now: datetime) -> int:
    """Delete what was set aside long ago; returns how many repairs' worth."""
    oldest = (now - _KEPT).astimezone(timezone.utc).strftime(_FORM)
    if not storage.is_folder(_DAMAGED):
        return 0
    old = [file.name for file in storage.list(_DAMAGED) if file.is_folder and file.name < oldest]
    gone = [name for name in old if re.fullmatch("[0-9]{20}", name)]
    for name in gone:
        storage.delete_folder(f"{_DAMAGED}/{name}")
    return len(gone)
