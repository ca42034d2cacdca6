"""What a failed write means: tasks and Hudi refuse rows in the JVM, from where errors come as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hudi_index.errors import ClusteringPendingError, CommitBetweenError, RowsRefusedError, shortened

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.errors import HudiIndexError

__all__ = ["meaning_of"]

_OURS = re.compile(rf"{RowsRefusedError.__name__}: .* are refused, nothing was written: (.*)")
_HUDIS = re.compile(
    r"org\.apache\.hudi\.exception\."
    r"(HoodieKeyException|MissingSchemaFieldException|SchemaBackwardsCompatibilityException): (.*)"
)
"""Record keys that are null or empty; columns that rows lack, or that can't become the table's."""
_CONFLICTS = (CommitBetweenError.__name__, "HoodieWriteConflictException")
_UNDER_CLUSTERING = "HoodieClusteringUpdateException"


def meaning_of(text: str, uri: str, between: Sequence[str]) -> HudiIndexError | None:
    """The error that a failed write's text tells of; None if it is no refusal.

    Args:
        text: Of the error, with its causes.
        uri: The table.
        between: What others completed or undid since it was looked at.
    """
    if refused := _OURS.search(text):
        return RowsRefusedError(uri=uri, reason=refused[1].strip())
    if between and any(each in text for each in _CONFLICTS):
        return CommitBetweenError(uri=uri, instants=list(between))
    if refused := _HUDIS.search(text):
        return RowsRefusedError(uri=uri, reason=f"{shortened(refused[2].strip())} (Hudi's {refused[1]})")
    return ClusteringPendingError(uri=uri) if _UNDER_CLUSTERING in text else None
