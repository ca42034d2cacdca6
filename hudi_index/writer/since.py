"""Whether a table is still as it was looked at: by its timeline alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hudi_index.table import Timeline
    from hudi_index.table.timeline import Instant

__all__ = ["Seen"]

_UNDOING = frozenset({"rollback", "restore"})
_OPERATION = "operationType"
_SERVICES = frozenset({"COMPACT", "LOG_COMPACT", "CLUSTER", "INDEX"})
"""They move no record to where a writer would not find it."""


@dataclass(frozen=True)
class Seen:
    """What a timeline held at one moment of what moves records."""

    commits: frozenset[str]
    """Requested times of completed commits. One that began earlier and completes later is not among them."""
    undoing: frozenset[tuple[str, str]]
    """Requested time and action of rollbacks and restores, begun or completed."""

    @classmethod
    def of(cls, timeline: Timeline) -> Seen:
        """What a timeline holds."""
        done = {(each.requested_time, each.action) for each in timeline.instants}
        undoing = frozenset(each for each in done | timeline.pending if each[1] in _UNDOING)
        return cls(frozenset(each.requested_time for each in timeline.commits), undoing)

    def changed_by(self, timeline: Timeline) -> list[str]:
        """Requested times of the commits that were completed since, or undone.

        A commit that is gone may also be archived, which moves no record. It counts as undone only if
        something was undone since: what Hudi takes back of a write that died is no commit.
        """
        now = Seen.of(timeline)
        undone = self.commits - now.commits if now.undoing - self.undoing else frozenset()
        return sorted((now.commits - self.commits) | undone)

    def written_before(self, mine: Instant, timeline: Timeline) -> list[str]:
        """Requested times of the writes of others that were completed since, before a commit of one's own."""
        return [
            each.requested_time
            for each in timeline.commits
            if each.requested_time not in self.commits
            and each.completed_time < mine.completed_time
            and timeline.metadata_of(each, _OPERATION).get(_OPERATION) not in _SERVICES
        ]
