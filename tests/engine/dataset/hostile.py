"""A table with values that engines disagree about, the same rows as a plain Arrow table, and its indexes."""

from __future__ import annotations

import random
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index import IndexedTable
from tests.support.tables import T1, T2, Fabricated, schema_of

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = schema_of(
    pa.field("id", pa.string(), nullable=False),
    pa.field("n", pa.int32()),
    pa.field("l", pa.int64()),
    pa.field("f", pa.float64()),
    pa.field("r", pa.float32()),
    pa.field("s", pa.string()),
    pa.field("city", pa.string()),
    pa.field("b", pa.bool_()),
    pa.field("day", pa.date32()),
    pa.field("ts", pa.timestamp("us", "UTC")),
    pa.field("local", pa.timestamp("us")),
    pa.field("d", pa.decimal128(10, 2)),
    pa.field("big", pa.decimal128(38, 10)),
    pa.field("raw", pa.binary()),
    pa.field("tags", pa.list_(pa.string())),
    pa.field("seat", pa.struct([pa.field("row", pa.int32()), pa.field("letter", pa.string())])),
)
NAN, INF = float("nan"), float("inf")
FLOATS = [0.0, -0.0, NAN, INF, -INF, 1.5, -1.5, 0.1, 16777217.0, 1e300]
WHOLES = [0, 1, -1, 7, 2**31 - 1, -(2**31)]
LONGS = [0, 1, 2**53, 2**53 + 1, -(2**63), 2**63 - 1]
TEXTS = ["", "a", "A", "a b", "ab", "ä", "\U0001f600", "z%", "a_b", "null", "x" * 70]
CITIES = ["berlin", "paris", "rome"]
DAYS = [date(1970, 1, 1), date(1969, 12, 31), date(2024, 2, 29), date(1582, 10, 14), date(9999, 12, 31)]
INSTANTS = [
    datetime(1970, 1, 1, tzinfo=timezone.utc),
    datetime(2024, 10, 27, 1, 30, tzinfo=timezone.utc),
    datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=timezone.utc),
]
AMOUNTS = [Decimal("0.00"), Decimal("-0.01"), Decimal("1.50"), Decimal("99999999.99")]
HUGE = [Decimal(0), Decimal("-1E-10"), Decimal("9" * 28 + "." + "9" * 10), Decimal("1.5")]
VALUES: dict[str, list[Any]] = {
    "n": WHOLES,
    "l": LONGS,
    "f": FLOATS,
    "r": FLOATS[:-1],
    "s": TEXTS,
    "city": CITIES,
    "b": [True, False],
    "day": DAYS,
    "ts": INSTANTS,
    "local": [each.replace(tzinfo=None) for each in INSTANTS],
    "d": AMOUNTS,
    "big": HUGE,
    "raw": [b"", b"a", b"\x00", b"\xff\xfe", b"a\x00"],
}
INDEXES = (
    "CREATE INDEX stats ON t USING column_stats (n, l, f, r, s, city, b, day, ts, local, d, big, raw)",
    "CREATE INDEX rows ON t USING column_stats (seat.row)",
    "CREATE INDEX city_bits ON t USING bitmap (city, b, n)",
    "CREATE INDEX by_s ON t USING secondary_index (s)",
    "CREATE INDEX bloom ON t USING bloom_filters (l, r, d)",
    "CREATE INDEX parts ON t USING ngram (s)",
    "CREATE INDEX by_tag ON t USING array (tags)",
    "CREATE INDEX keys ON t USING record_index (id)",
)


def make_table(path: Path, *, seed: int, groups: int = 10, is_merged: bool = False) -> IndexedTable:
    """File groups whose values are few and other ones in each, so that indexes have something to refute."""
    chosen = random.Random(seed)
    kind = "MERGE_ON_READ" if is_merged else "COPY_ON_WRITE"
    # hudi-rs doesn't merge local times yet.
    columns = schema_of(*(each for each in COLUMNS if each.name != "local" or not is_merged))
    table = Fabricated(path, columns=columns, partition_fields="", table_type=kind)
    table.commit(T1, "deltacommit" if is_merged else "commit")
    for group in range(groups):
        pools = {name: chosen.sample(values, min(2, len(values))) for name, values in VALUES.items()}
        keys = range(group * 100, group * 100 + chosen.choice([1, 6, 12]))
        rows = [_row(f"{key:05}", pools, chosen) for key in keys]
        table.base_file("", f"g{group}", T1, rows, row_group_size=5)
    if is_merged:
        for group in range(0, groups, 2):
            rows = [_row(f"{group * 100 + offset:05}", VALUES, chosen) for offset in (0, 50)]
            table.log_of_rows("", f"g{group}", T1, T2, rows)
        table.commit(T2, "deltacommit")
    indexed = IndexedTable.open(path)
    indexed.create_all([each.replace("local, ", "") if is_merged else each for each in INDEXES])
    # One more that no index covers.
    pools = {name: values[:3] for name, values in VALUES.items()}
    table.base_file("", "late", T1, [_row(f"9000{n}", pools, chosen) for n in range(3)])
    return IndexedTable.open(path)


def _row(key: str, pools: dict[str, list[Any]], chosen: random.Random) -> dict[str, Any]:
    row = {name: None if chosen.random() < 0.15 else chosen.choice(pool) for name, pool in pools.items()}
    seat = None if chosen.random() < 0.2 else {"row": row["n"], "letter": row["city"]}
    return {"id": key, **row, "tags": [row["s"], row["city"]], "seat": seat}


def plain_rows(table: IndexedTable) -> pa.Table:
    """All rows, read without any filter and any index."""
    return table.scan().read_all()
