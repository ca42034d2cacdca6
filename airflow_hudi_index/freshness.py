"""Whether indexes are fresh enough: the answer that sensor and trigger share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["staleness"]


def staleness(
    status: Mapping[str, Any],
    *,
    indexes: Collection[str] | None = None,
    max_commits_behind: int = 0,
    max_seconds_behind: float | None = None,
) -> str | None:
    """Why the indexes are not fresh enough; None if they are.

    Args:
        status: `TableStatus.as_dict()`.
        indexes: these must exist and be ready; by default only coverage counts.
        max_commits_behind: fresh enough with so many commits that are not covered.
        max_seconds_behind: fresh enough if the oldest commit that is not covered is younger.
    """
    states = {each["name"]: each["state"] for each in status["indexes"]}
    for name in indexes or ():
        if states.get(name) != "ready":
            return f"index {name} is {states.get(name, 'missing')}"
    if not states:
        return "the table has no index"
    if status["is_fresh"]:
        return None
    behind, seconds = status["commits_behind"], status["seconds_behind"]
    # Nothing is indexed yet, or files changed without a commit that says so: neither is a lag.
    is_measured = status["indexed_instant"] is not None and behind > 0
    if is_measured and behind <= max_commits_behind:
        return None
    if is_measured and max_seconds_behind is not None and seconds <= max_seconds_behind:
        return None
    return (
        f"{status['file_groups_uncovered']} of {status['file_groups']} file groups are not covered, "
        f"{behind} commits and {seconds:.0f} seconds behind"
    )
