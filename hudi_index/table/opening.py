"""Opens a table with hudi-rs so that it counts the commits that a snapshot saw, and no others.

hudi-rs reads the timeline when it opens a table, which may be long after somebody looked at the table, and
keeps it. Records of log files count up to an instant that is given here. From version 8 on that is all: a log
file belongs to one commit and is part of a slice only if that commit was completed. In version 6 the blocks
of a log file belong to any commits, and count by the timeline that hudi-rs has read: it is compared.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hudi import HudiReadOptions, HudiTableBuilder

from hudi_index.errors import TimelineMovedError

if TYPE_CHECKING:
    from hudi import HudiFileGroupReader, HudiTable

__all__ = ["READ_OPTIONS", "open_reader"]

# Spark's default. Where a base file holds a key twice, hudi-rs without positions updates one of the two
# rows only.
READ_OPTIONS = {"hoodie.merge.use.record.positions": "true"}


@lru_cache(maxsize=16)
def open_reader(
    uri: str,
    storage_options: tuple[tuple[str, str], ...],
    table_options: tuple[tuple[str, str], ...],
    state: str,  # noqa: ARG001  one more key of the cache
    as_of: str | None,
    delta_commits: frozenset[str] | None,
) -> HudiFileGroupReader:
    """What reads slices of a table, opened once for each state of its timeline.

    Raises:
        TimelineMovedError: hudi-rs would count other delta commits than these.
    """
    # Through the table, not HudiFileGroupReader(uri): only then hudi-rs leaves out the blocks of
    # uncommitted delta commits that a version-6 log file may hold.
    builder = HudiTableBuilder.from_base_uri(uri).with_storage_options(dict(storage_options))
    table = builder.with_hudi_options(dict(table_options)).build()
    if delta_commits is not None:
        _refuse_another_timeline(uri, table, delta_commits, as_of)
    asked = HudiReadOptions(hudi_options=READ_OPTIONS)
    return table.create_file_group_reader_with_options(asked.with_as_of_timestamp(as_of) if as_of else asked)


def _refuse_another_timeline(uri: str, table: HudiTable, expected: frozenset[str], as_of: str | None) -> None:
    """Refuse if hudi-rs, which keeps the timeline it has just read, would count other delta commits."""
    timeline: Any = table.get_timeline()
    found = {instant.timestamp for instant in timeline.get_completed_deltacommits()}
    first = min([*found, *(instant.timestamp for instant in timeline.get_completed_commits())], default="")
    for instant in sorted(found ^ expected):
        # Earlier ones are archived, which takes nothing back; later ones are left out.
        if instant >= first and (as_of is None or instant <= as_of):
            raise TimelineMovedError(uri=uri, instant=instant)
