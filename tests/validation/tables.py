"""Small tables for validation without Spark: a few file groups, values that indexes have been got wrong."""

from __future__ import annotations

import math
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index import IndexedTable
from tests.support.tables import Fabricated, schema_of

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = schema_of(
    pa.field("id", pa.string(), nullable=False),
    pa.field("n", pa.int32()),
    pa.field("name", pa.string()),
    pa.field("ratio", pa.float64()),
    pa.field("flag", pa.bool_()),
    pa.field("region", pa.string()),
    pa.field("tags", pa.list_(pa.field("element", pa.string()))),
)
NAMES = ("", "a$b", "ascii", "zürich", "日本語", "x" * 1500, "x" * 1500 + "y", "'q'", None, "%", "Ascii")
TAGS: tuple[list[str | None] | None, ...] = (
    None,
    [],
    [None],
    ["a", None],
    ["a", "a$b"],
    ["zürich"],
    ["", "%"],
    ["x" * 1500],
)
RATIOS = (0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -2.25, None, 1e300)
STATEMENTS = {
    "column_stats": "CREATE INDEX column_stats ON t USING column_stats (n, name, ratio)",
    "bloom_filters": "CREATE INDEX bloom_filters ON t USING bloom_filters (name, n)",
    "bitmap": "CREATE INDEX bitmap ON t USING bitmap (flag, name)",
    "record_index": "CREATE INDEX record_index ON t USING record_index (id)",
    "secondary_index": "CREATE INDEX secondary_index ON t USING secondary_index (name) OPTIONS (shards = 2)",
    "ngram": "CREATE INDEX ngram ON t USING ngram (name)",
    "array": "CREATE INDEX array ON t USING array (tags)",
}


def instant(number: int) -> str:
    return f"202401010000{number:05d}"


def random_row(chance: random.Random, key: int, region: str) -> dict[str, Any]:
    return {
        "id": f"k{key}",
        "n": chance.choice([None, *range(-5, 40)]),
        "name": chance.choice(NAMES),
        "ratio": chance.choice(RATIOS),
        "flag": chance.choice([True, False, None]),
        "region": region,
        "tags": chance.choice(TAGS),
    }


def random_table(path: Path, seed: int, *, groups: int = 4, rows: int = 6) -> Fabricated:
    """Some file groups of random rows, in two partitions."""
    chance = random.Random(seed)
    table = Fabricated(path, columns=COLUMNS)
    table.commit(instant(1))
    for place in range(groups):
        region = ("eu", "us")[place % 2]
        found = [random_row(chance, place * 1000 + key, region) for key in range(chance.randint(0, rows))]
        table.base_file(region, f"g{place}", instant(1), found)
    return table


def clustered_table(path: Path, groups: int = 4, rows: int = 5) -> Fabricated:
    """File groups that hold neighbouring values each, so that every index has something to refute."""
    table = Fabricated(path, columns=COLUMNS)
    table.commit(instant(1))
    for place in range(groups):
        region = ("eu", "us")[place % 2]
        found = [
            {
                "id": f"k{place}-{key}",
                "n": place * 100 + key,
                "name": f"name-{place}-{key}",
                "ratio": float(place) + key / 10,
                "flag": place % 2 == 0,
                "region": region,
                "tags": [f"tag-{place}-{key}", None],
            }
            for key in range(rows)
        ]
        table.base_file(region, f"g{place}", instant(1), found)
    return table


def indexed(table: Fabricated, *kinds: str) -> IndexedTable:
    """The table with indexes of these kinds, all if none is named."""
    found = IndexedTable.open(table.path)
    for kind in kinds or STATEMENTS:
        found.sql(STATEMENTS[kind])
    return found
