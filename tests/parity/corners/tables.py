"""Small tables for the corners: one write, one file group per value of `g`, indexes of every kind over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index.engine import IndexedTable
from tests.parity.tables import COW, HudiTable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

GROUPS = 8


def spread(rows: Sequence[Mapping[str, Any]], *, by_turns: bool = False) -> list[dict[str, Any]]:
    """Rows with key, ordering value and group.

    Neighbours share a group, so that ranges tell groups apart; `by_turns` they never do, so that an index
    which takes a value for the one beside it refutes the wrong group.
    """
    size = -(-len(rows) // GROUPS)
    return [
        {"id": f"k{place:05d}", "ts": 1, "g": f"g{place % GROUPS if by_turns else place // size}", **row}
        for place, row in enumerate(rows)
    ]


def made(
    spark: SparkSession,
    path: Path,
    schema: str,
    rows: Sequence[Mapping[str, Any]],
    statements: Sequence[str] = (),
    *,
    by_turns: bool = False,
    **how: Any,
) -> HudiTable:
    """A table of such rows with these indexes; the columns of `spread` come by themselves."""
    chosen = {"table_type": COW, "partition_by": "g", **how}
    hudi = HudiTable(spark, path, schema=f"id string, ts bigint, g string, {schema}", **chosen)
    hudi.bulk_insert(spread(rows, by_turns=by_turns))
    if statements:
        IndexedTable.open(path).create_all(list(statements), spark=spark)
    return hudi
