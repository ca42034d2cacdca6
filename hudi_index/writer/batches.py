"""Which batches a table holds: commits name them, so a batch that is tried again is found.

A commit's extra metadata say `{"writer": ..., "batch": ...}`. They are looked for backwards, in the active
timeline and then in what Hudi has archived. What was read of an instant is kept: no instant ever changes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hudi_index.table.archived import archived_extra_metadata_backwards
from hudi_index.writer.options import BATCH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from hudi_index.table import Timeline

__all__ = ["Batch", "CommittedBatches"]

_EXTRA = "extraMetadata"


@dataclass(frozen=True)
class Batch:
    """A batch that a commit holds."""

    writer: str
    batch: str
    counts: bool = field(default=False, compare=False)
    """Whether it is a number, and each batch of this writer has a larger one than those before it."""

    @classmethod
    def of(cls, extra: Mapping[str, str] | None) -> Batch | None:
        """The batch that extra metadata name; None if they name none, or not as we write it."""
        try:
            noted = json.loads((extra or {}).get(BATCH) or "null")
            return cls(str(noted["writer"]), str(noted["batch"])) if noted else None
        except (ValueError, KeyError, TypeError):
            return None

    def comes_after(self, other: Batch) -> bool:
        """Whether this writer counts its batches, and wrote the other one before this one."""
        if not self.counts or self.writer != other.writer or not other.batch.isdecimal():
            return False
        return int(other.batch) < int(self.batch)


@dataclass
class CommittedBatches:
    """What a process knows of the batches in one table."""

    archived: Callable[[Timeline], Iterable[tuple[str, Mapping[str, str]]]] = (
        archived_extra_metadata_backwards
    )
    """Gives requested time and extra metadata of what Hudi has archived, latest first."""
    _read: dict[str, Batch | None] = field(default_factory=dict)
    """By the file of the instant."""

    def find(self, wanted: Batch, timeline: Timeline) -> str | None:
        """The requested time of the commit that holds a batch; None if there is none."""
        for requested_time, batch in self._backwards(timeline):
            if batch == wanted:
                return requested_time
            if wanted.comes_after(batch):
                # What is further back has smaller numbers still.
                return None
        return None

    def _backwards(self, timeline: Timeline) -> Iterator[tuple[str, Batch]]:
        for instant in reversed(timeline.commits):
            if instant.path not in self._read:
                extra = timeline.metadata_of(instant, _EXTRA).get(_EXTRA)
                self._read[instant.path] = Batch.of(extra)
            if batch := self._read[instant.path]:
                yield instant.requested_time, batch
        for requested_time, extra in self.archived(timeline):
            if batch := Batch.of(extra):
                yield requested_time, batch
