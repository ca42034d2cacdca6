"""What others found out about a snapshot, kept as long as the snapshot is."""

from __future__ import annotations

from typing import Any, TypeVar

__all__ = ["SnapshotCache"]

T = TypeVar("T")


class SnapshotCache:
    """One object of each class that somebody asked for, made without arguments when first asked for."""

    def __init__(self) -> None:
        self._kept: dict[type[Any], Any] = {}

    def of(self, cls: type[T]) -> T:
        """The object of a class: the same for all who ask this snapshot."""
        found: T = self._kept.setdefault(cls, cls()) if cls not in self._kept else self._kept[cls]
        return found
