"""What a look-up costs, what it can save, and when it is not worth asking.

Costs are counted in bytes. Opening a file counts as much as reading some MiB of it, as Spark counts it
(`spark.sql.files.openCostInBytes`). Files of the index are opened once for all plans of a table and count a
little less. A look-up reads the logs of the shards that it touches, and of their base files one row group for
each value, or all if it asks for whole stretches.

The rule: a look-up is made if it costs no more than reading the file groups that are left, which is all that
it can save. Statistics are always asked: they are small, and stay in memory for all plans of a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_index.entries.keys import shard_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.kind_parts.protocol import Question
    from hudi_index.metadata_table import Reader
    from hudi_index.table import FileSlice

__all__ = ["look_up_cost", "pays", "reading_cost"]

OPEN_COST = 4 * 1024 * 1024
INDEX_OPEN_COST = 3 * 1024 * 1024
ROW_GROUP_BYTES = 512 * 1024


def reading_cost(slices: Iterable[FileSlice]) -> int:
    """What reading these slices costs."""
    return sum(
        shard_slice.size + OPEN_COST * ((shard_slice.base_file is not None) + len(shard_slice.log_files))
        for shard_slice in slices
    )


def look_up_cost(reader: Reader, partition: str, question: Question) -> int:
    """What a look-up costs if nothing of it was read before."""
    shards = reader.view.state.shards.get(partition, 1)
    ranges: dict[int | None, int] = {}
    for part, _ in question.ranges:
        shard = None if part is None else shard_of(part, shards)
        ranges[shard] = ranges.get(shard, 0) + 1
    cost = 0
    for shard_slice in reader.view.slices(partition):
        count = ranges.get(shard_slice.shard, 0) + ranges.get(None, 0)
        if count:
            is_whole = bool(question.payloads)
            base = (
                shard_slice.base_bytes if is_whole else min(shard_slice.base_bytes, count * ROW_GROUP_BYTES)
            )
            cost += base + shard_slice.log_bytes + INDEX_OPEN_COST * len(shard_slice.files)
    return cost


def pays(cost: int, left: int) -> bool:
    """Whether a look-up is worth asking when reading what is left costs so much."""
    return cost <= left
