"""Which commits a table has had: the answer that sensor and trigger share."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

from hudi_index.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Collection

    from hudi_index import IndexedTable

__all__ = ["ACTIONS", "DEFAULT_ACTIONS", "commits_after"]

DEFAULT_ACTIONS = ("commit", "deltacommit", "replacecommit", "restore")
"""What changes which rows a table holds, or which files hold them."""

ACTIONS = (
    *DEFAULT_ACTIONS,
    *("clean", "clustering", "compaction", "indexing", "logcompaction", "rollback", "savepoint"),
)
"""All that Hudi writes on a timeline."""

_WRITTEN = ("partitionToWriteStats", "partitionToReplaceFileIds")


def commits_after(
    table: IndexedTable,
    after: str | None = None,
    *,
    partitions: Collection[str] | None = None,
    actions: Collection[str] | None = None,
) -> list[dict[str, str]]:
    """The completed instants of the active timeline, in the order of completion.

    Args:
        table: the table.
        after: only those completed later: an instant (`20240131120000000`) or a moment in ISO 8601. By
            completed time, since a writer that began earlier may well be done later.
        partitions: only those that wrote into one of these partitions. A restore counts: it says not where.
        actions: only these; by default those that change what a table holds.
    """
    timeline = table.timeline()
    least = _instant(after, in_utc=timeline.config.uses_utc_instants) if after else ""
    chosen = [
        instant
        for instant in timeline.instants
        if instant.completed_time > least and instant.action in (actions or DEFAULT_ACTIONS)
    ]
    if partitions:
        wanted = set(partitions)
        chosen = [
            instant
            for instant in chosen
            if not instant.is_commit
            or any(
                not wanted.isdisjoint(written or ())
                for written in timeline.metadata_of(instant, *_WRITTEN).values()
            )
        ]
    chosen.sort(key=lambda instant: (instant.completed_time, instant.requested_time))
    return [
        {"requested": each.requested_time, "completed": each.completed_time, "action": each.action}
        for each in chosen
    ]


def _instant(moment: str, *, in_utc: bool) -> str:
    """A moment as the table's instants are written: in UTC, or in the writers' local time."""
    if moment.isdigit():
        return moment
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError:
        raise InvalidOptionError(
            option="after", value=moment, reason="expected an instant of digits, or a moment in ISO 8601"
        ) from None
    parsed = parsed if parsed.tzinfo else parsed.replace(tzinfo=timezone.utc)
    local = parsed.astimezone(timezone.utc if in_utc else None)
    return f"{local:%Y%m%d%H%M%S}{local.microsecond // 1000:03d}"
