"""What one write did: plain values, the same as JSON for machines and as text for people."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from hudi_index.jobs import timed

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["TagCounts", "WriteReport"]


@dataclass
class TagCounts:
    """What became of the rows of a batch, and what it cost to find out."""

    rows: int = 0
    """Rows that came in."""
    inserted: int = 0
    """Records that the table did not have."""
    updated: int = 0
    """Records that were written where they stood, once for each place."""
    moved: int = 0
    """Records that left a partition for another one."""
    deleted: int = 0
    """Places that a record was deleted at, moves aside."""
    late: int = 0
    """Rows that were dropped: the table holds a larger ordering value."""
    settled: int = 0
    """Rows that were dropped for another row of the same batch and key."""
    absent: int = 0
    """Deletes of records that the table does not have."""
    keys_looked_up: int = 0
    row_groups_read: int = 0
    """Row groups of the index whose keys were decoded."""
    cache_hits: int = 0
    """Columns of row groups, of keys or of ordering values, that a worker had decoded before."""
    keys_read: int = 0
    """Record keys that were read from file slices which the index does not describe yet."""
    look_up_seconds: float = 0.0
    """Summed over tasks."""
    tag_seconds: float = 0.0
    """From a task's first row to its last one that is located, look-ups among it; summed over tasks."""

    def add(self, other: TagCounts) -> None:
        """Count what another task did as well."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass
class WriteReport:
    """What a write did and what it cost."""

    verb: str
    table: str
    writer: str | None = None
    batch: str | None = None
    is_repeated: bool = False
    """Whether an earlier try had committed this batch, so that only the indexes were finished."""
    instant: str | None = None
    """The data commit; None if there was nothing to write."""
    index_commit: str | None = None
    """The commit that brought the indexes there; None if that is left to maintenance, or was done."""
    indexes: list[str] = field(default_factory=list)
    """The indexes that describe the data commit."""
    counts: TagCounts = field(default_factory=TagCounts)
    file_groups: int = 0
    """File groups that the commit wrote to."""
    attempts: int = 0
    """How often the rows were handed to Hudi: more than once if others committed meanwhile."""
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    """By phase: look, lag, write (with the look-ups, which run inside), index."""

    @property
    def exit_code(self) -> int:
        """What a process exits with: a write that has a report and no error went well."""
        return 0

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Counts the time spent inside as part of a phase."""
        return timed(self.seconds, name)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON, the counts among the rest."""
        found = asdict(self)
        counts = found.pop("counts")
        for name in ("look_up_seconds", "tag_seconds"):
            counts[name] = round(counts[name], 3)
        return {**found, **counts}

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.as_dict(), sort_keys=True)

    def __str__(self) -> str:
        counts = self.counts
        facts: dict[str, Any] = {
            "batch": f"{self.batch} of {self.writer}" if self.writer else "not named",
            "data instant": self.instant or "nothing to write",
            "records": f"{counts.inserted} inserted, {counts.updated} updated, {counts.moved} moved, "
            f"{counts.deleted} deleted",
            "dropped": f"{counts.late} late, {counts.settled} of a key that came again, {counts.absent} "
            "deletes of what is not there",
            "file groups": self.file_groups,
            "keys looked up": f"{counts.keys_looked_up}, {counts.row_groups_read} row groups decoded, "
            f"{counts.cache_hits} columns of some cached, {counts.look_up_seconds:.3f} s of "
            f"{counts.tag_seconds:.3f} s of tagging",
            "index commit": self.index_commit or "none",
            "seconds": ", ".join(f"{name} {spent}" for name, spent in self.seconds.items()),
        }
        if self.is_repeated:
            facts["batch"] += ", committed before: only the indexes were finished"
        lines = [f"  {name:<15} {value}" for name, value in facts.items()]
        notes = [f"  {'note':<15} {note}" for note in self.notes]
        return "\n".join([f"{self.verb} {self.table}", *lines, *notes])
