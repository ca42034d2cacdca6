"""Which keys a reader wants: sorted ranges, the one shape that points, prefixes and ranges all take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hudi_index.entries.keys import successor

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["KeyRange", "merge_ranges"]


@dataclass(frozen=True, slots=True)
class KeyRange:
    """Keys from `low` (inclusive) to `high` (exclusive; None: no end)."""

    low: str
    high: str | None

    @classmethod
    def point(cls, key: str) -> KeyRange:
        """Exactly one key."""
        return cls(key, key + "\0")

    @classmethod
    def prefix(cls, prefix: str) -> KeyRange:
        """All keys that begin with `prefix`."""
        return cls(prefix, successor(prefix))

    @classmethod
    def all(cls) -> KeyRange:
        """Every key."""
        return cls("", None)


def merge_ranges(ranges: Iterable[KeyRange]) -> list[KeyRange]:
    """The same keys as sorted ranges that neither overlap nor touch; empty ones are left out."""
    merged: list[KeyRange] = []
    for wanted in sorted(ranges, key=lambda one: one.low):
        if wanted.high is not None and wanted.high <= wanted.low:
            continue
        if merged and (merged[-1].high is None or merged[-1].high >= wanted.low):
            last = merged[-1]
            if last.high is not None and (wanted.high is None or wanted.high > last.high):
                merged[-1] = KeyRange(last.low, wanted.high)
        else:
            merged.append(wanted)
    return merged
