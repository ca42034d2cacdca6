"""How the indexes of a table are: state, lag behind the table, size, depth of logs."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from hudi_index.catalog import IndexState
from hudi_index.errors import MissingSliceFileError
from hudi_index.jobs import align
from hudi_index.lifecycle.state import Kept
from hudi_index.table.footer import row_count_of

if TYPE_CHECKING:
    from hudi_index.catalog import IndexDefinition
    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import PartitionStatus
    from hudi_index.storage import Storage
    from hudi_index.table import FileSlice

__all__ = ["IndexStatus", "TableStatus", "status"]

_READERS = 8

_SHOWN = (
    *("name", "kind", "on", "state", "reason", "is_used"),
    *("shards", "bytes", "log_files", "deepest_log", "due"),
)
"""What the text of a status says of an index."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """One index."""

    name: str
    kind: str
    on: str
    """Its columns, or its expression."""
    state: str
    reason: str | None
    """Why it is not used, if that has to do with the index itself."""
    is_used: bool
    """Whether plans ask it: it is ready, fits the table's schema and describes the indexed slices."""
    partition: str
    shards: int
    entries_written: int
    """Rows in its files: entries, superseded versions and tombstones. Shared with others of its partition."""
    bytes: int
    log_files: int
    deepest_log: int
    due: str | None
    """Why compaction is due, None if it is not."""


@dataclass(frozen=True, slots=True)
class TableStatus:
    """All indexes of a table, and how far they are behind it."""

    table: str
    latest_instant: str | None
    indexed_instant: str | None
    """The latest instant of the table when it was last maintained."""
    commits_behind: int
    """Commits and restores completed since then, in whatever order they were requested."""
    seconds_behind: float
    """Since the oldest of them was completed."""
    file_groups: int
    file_groups_uncovered: int
    """File groups that queries read whatever the indexes say."""
    file_groups_gone: int
    """File groups that the indexes still describe and that the table no longer has."""
    rows_uncovered: int
    """Rows in the base files of uncovered file groups, as their footers tell; logs are not opened."""
    bytes_uncovered: int
    indexes: list[IndexStatus] = field(default_factory=list)

    @property
    def is_fresh(self) -> bool:
        """Whether the indexes describe the whole table as it is."""
        return self.file_groups_uncovered == self.file_groups_gone == 0

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self) | {"is_fresh": self.is_fresh}

    def __str__(self) -> str:
        facts = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "indexes"}
        lines = [f"{name.replace('_', ' '):<22} {value}" for name, value in facts.items()]
        rows = [[getattr(each, column) for column in _SHOWN] for each in self.indexes]
        return "\n".join([*lines, "", align([_SHOWN, *rows]) if rows else "no indexes"])


def status(storage: Storage, *, kept: Kept | None = None) -> TableStatus:
    """How the indexes are, without a JVM."""
    state = (kept or Kept.of(storage)).look()
    uncovered = state.indexed.uncovered(state.snapshot.slices)
    gone = state.indexed.gone(state.snapshot.slices)
    latest = state.snapshot.instant
    noted = state.view.state.data_snapshot
    # Commits that left every slice as it was (an empty one, a clean's) put nobody behind.
    is_behind = uncovered or gone
    behind = state.snapshot.timeline.changes_since(noted.get("completed_time", "")) if is_behind else []
    partitions = {each.partition: each for each in state.metadata_table.status_of(state.view)}
    return TableStatus(
        table=storage.uri,
        latest_instant=latest.requested_time if latest else None,
        indexed_instant=noted.get("instant") or None,
        commits_behind=len(behind),
        seconds_behind=_age(behind[0], state) if behind else 0.0,
        file_groups=len(state.snapshot.slices),
        file_groups_uncovered=len(uncovered),
        file_groups_gone=len(gone),
        rows_uncovered=_rows_of(storage, uncovered),
        bytes_uncovered=sum(file_slice.size for file_slice in uncovered),
        indexes=[_index_status(each, state, partitions.get(each.partition)) for each in state.definitions],
    )


def _rows_of(storage: Storage, slices: list[FileSlice]) -> int:
    def rows(path: str) -> int:
        # The table goes on meanwhile: a file that was cleaned is of a file group that is still uncovered.
        with suppress(MissingSliceFileError):
            return row_count_of(storage, path)
        return 0

    with ThreadPoolExecutor(_READERS) as pool:
        return sum(pool.map(rows, [file_slice.base_path for file_slice in slices if file_slice.base_path]))


def _index_status(
    definition: IndexDefinition, state: IndexedState, partition: PartitionStatus | None
) -> IndexStatus:
    against = state.reason_against(definition)
    is_ready = definition.state is IndexState.READY and against is None
    return IndexStatus(
        name=definition.name,
        kind=str(definition.kind),
        on=definition.expression or ", ".join(definition.source_fields),
        state=str(definition.state),
        reason=definition.reason or against,
        is_used=is_ready and definition.id in state.describing,
        partition=definition.partition,
        shards=partition.shards if partition else 0,
        entries_written=partition.entries_written if partition else 0,
        bytes=partition.base_bytes + partition.log_bytes if partition else 0,
        log_files=partition.log_files if partition else 0,
        deepest_log=partition.deepest_log if partition else 0,
        due=partition.due if partition else None,
    )


def _age(instant: str, state: IndexedState) -> float:
    """Seconds since an instant. Hudi writes instants in the writer's local time unless told otherwise."""
    moment = datetime.strptime(instant[:14], "%Y%m%d%H%M%S")  # noqa: DTZ007  the zone comes next
    in_utc = state.snapshot.config.uses_utc_instants
    aware = moment.replace(tzinfo=timezone.utc) if in_utc else moment.astimezone()
    return max(0.0, (datetime.now(timezone.utc) - aware).total_seconds())
