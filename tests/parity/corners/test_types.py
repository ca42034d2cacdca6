"""Types that one reader has and another has not."""

from __future__ import annotations

from datetime import datetime
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.engine import IndexedTable
from tests.parity.corners.comparing import Sides, Tally
from tests.parity.corners.tables import made
from tests.parity.tables import MOR

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_EXACT = Context(prec=38)
TYPES: dict[str, list[Any]] = {
    # hudi-rs has no such Avro type: it panics when it opens the table.
    "timestamp_ntz": [datetime(2024, 3, 10, 2, minute) for minute in range(8)],  # noqa: DTZ001
    "decimal(38,18)": [_EXACT.scaleb(Decimal(12345678901234567890 + place), -18) for place in range(8)],
    "map<string,array<int>>": [{"a": [place]} for place in range(8)],
    "array<struct<a:timestamp_ntz>>": [[{"a": datetime(2024, 3, 10, 2, minute)}] for minute in range(8)],  # noqa: DTZ001
}


def test_decimals_keep_all_38_digits(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # 29 to 38 digits: more than Python's decimals keep unless told to.
    texts = [f"{'123456789012345678901'[-size:]}.{'123456789012345678'}" for size in range(11, 19)]
    rows = [{"v": Decimal(text)} for text in texts]
    statements = ["CREATE INDEX stats ON t USING column_stats (v)", "CREATE INDEX by_v ON t (v)"]
    tally, sides = Tally(), Sides.of(made(spark, tmp_path / "t", "v decimal(38,18)", rows, statements))
    sides.compare(tally, [f"v = CAST('{text}' AS DECIMAL(38,18))" for text in texts])
    sides.compare(tally, [f"v {sign} {text}BD" for text in texts[:4] for sign in ("<=", ">", "=")])
    tally.check("types, decimals of up to 38 digits", capsys, left_out=0.5)


@pytest.mark.parametrize(
    "kind",
    [pytest.param(kind, marks=[] if kind == "timestamp_ntz" else pytest.mark.slow) for kind in TYPES],
)
def test_table_with_logs_is_indexed_whatever_types_it_has(
    kind: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"n": place, "v": value} for place, value in enumerate(TYPES[kind])]
    hudi = made(spark, tmp_path / "t", f"n int, v {kind}", rows, table_type=MOR)
    hudi.upsert([{"id": "k00001", "ts": 2, "g": "g1", "n": 20, "v": rows[3]["v"]}])
    columns = "n, v" if kind in ("timestamp_ntz", "decimal(38,18)") else "n"
    IndexedTable.open(hudi.path).create_all(
        [f"CREATE INDEX stats ON t USING column_stats ({columns})", "CREATE INDEX by_n ON t (n)"], spark=spark
    )
    tally, sides = Tally(), Sides.of(hudi)
    texts = ["n = 20", "n < 3", "n = 1", "v IS NULL", "n = 3 OR v IS NULL"]
    if kind == "timestamp_ntz":
        texts += [
            "v = timestamp_ntz'2024-03-10 02:03:00'",
            "v > timestamp'2024-03-10 02:05:00'",
            "v < '2024-03-10 02:02'",
        ]
    sides.compare(tally, texts)
    sides.compare_rows(tally, "n > 5")
    tally.check(f"types, {kind}", capsys, left_out=0.3)
