"""Which tables this writer may write to, and why not the others."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hudi_index.table.config import MergeMode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.table import FileSlice, TableConfig

__all__ = ["orders_by_event_time", "reason_against_table"]

# A bucket's number, and then a UUID without its first block. A random UUID looks so once in half a million.
_BUCKET = re.compile(r"0000\d{4}-")
_PARTIAL_UPDATES = "hoodie.table.partial.update.mode"


def reason_against_table(config: TableConfig, slices: Iterable[FileSlice]) -> str | None:
    """Why records of a table can't be written through an index; None if they can."""
    if not config.record_key_fields:
        return "it has no record key fields, so no record can be found again"
    if not config.populates_meta_fields:
        return "its files do not hold Hudi's meta columns, and rows are handed to Hudi by them"
    if config.drops_partition_columns:
        return "its files do not hold the partition columns, which Hudi can't add to rows that are located"
    if config.merge_mode is MergeMode.CUSTOM or config.properties.get(_PARTIAL_UPDATES):
        return "its records are merged by a payload or merger of its own, which has to see both of them"
    groups = [file_slice.group.file_id for file_slice in slices]
    if groups and all(map(_BUCKET.match, groups)):
        return "it has a bucket index: a record's key alone says where it has to be"
    return None


def orders_by_event_time(config: TableConfig) -> bool:
    """Whether of two records the one with the larger ordering value stands; else the later one."""
    return bool(config.ordering_fields) and config.merge_mode in (MergeMode.EVENT_TIME_ORDERING, None)
