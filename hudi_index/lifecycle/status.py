"""How the indexes of a table are: state, lag behind the table, size, depth of logs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from hudi_index.lifecycle.state import IndexedState
from hudi_index.metadata_table import MetadataTable

if TYPE_CHECKING:
    from hudi_index.catalog import IndexDefinition
    from hudi_index.metadata_table import PartitionStatus
    from hudi_index.storage import Storage

__all__ = ["IndexStatus", "TableStatus", "status"]


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """One index."""

    name: str
    kind: str
    on: str
    """Its columns, or its expression."""
    state: str
    reason: str | None
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
    commits_behind: int
    seconds_behind: float
    """Since the oldest commit that is not covered."""
    file_groups: int
    file_groups_uncovered: int
    """File groups that queries read whatever the indexes say."""
    bytes_uncovered: int
    indexes: list[IndexStatus] = field(default_factory=list)

    @property
    def is_fresh(self) -> bool:
        """Whether the indexes describe the whole table as it is."""
        return self.file_groups_uncovered == 0

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self) | {"is_fresh": self.is_fresh}


def status(storage: Storage) -> TableStatus:
    """How the indexes are, without a JVM."""
    metadata_table = MetadataTable.of(storage)
    state = IndexedState.load(storage, metadata_table)
    uncovered = [
        piece
        for piece in state.snapshot.slices
        if (known := state.indexed.get(piece.group)) is None or known.identity != piece.identity
    ]
    latest = state.snapshot.instant
    indexed = state.view.state.data_snapshot.get("instant") or None
    behind = [each for each in state.snapshot.timeline.commits if each.requested_time > (indexed or "")]
    partitions = {each.partition: each for each in metadata_table.status()} if metadata_table.exists() else {}
    return TableStatus(
        table=storage.uri,
        latest_instant=latest.requested_time if latest else None,
        indexed_instant=indexed,
        commits_behind=len(behind) if uncovered else 0,
        seconds_behind=_age(behind[0].completed_time, state) if uncovered and behind else 0.0,
        file_groups=len(state.snapshot.slices),
        file_groups_uncovered=len(uncovered),
        bytes_uncovered=sum(piece.size for piece in uncovered),
        indexes=[_index_status(each, partitions.get(each.partition)) for each in state.definitions],
    )


def _index_status(definition: IndexDefinition, partition: PartitionStatus | None) -> IndexStatus:
    return IndexStatus(
        name=definition.name,
        kind=str(definition.kind),
        on=definition.expression or ", ".join(definition.source_fields),
        state=str(definition.state),
        reason=definition.reason,
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
