"""Ways in which rows were lost once, each as it was seen."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions

from tests.parity.corners.comparing import Sides, Tally
from tests.parity.corners.tables import made

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

ZONE = "spark.sql.session.timeZone"
SCHEMA = "s string, at timestamp, arr array<int>, `null` int, `true` boolean, `false` string"
STATEMENTS = (
    "CREATE INDEX stats ON t USING column_stats (s, at, `null`, `true`, `false`)",
    "CREATE INDEX by_s ON t (s)",
    "CREATE INDEX by_at ON t (at)",
    "CREATE INDEX by_null ON t (`null`)",
    "CREATE INDEX sizes ON t USING bitmap (size(arr))",
)
HOURS = [
    *(datetime(2024, 11, 3, 4, tzinfo=timezone.utc) + timedelta(minutes=30 * step) for step in range(8)),
    *(datetime(2024, 10, 27, 0, tzinfo=timezone.utc) + timedelta(minutes=30 * step) for step in range(8)),
    *(datetime(2025, 1, 1, 5, tzinfo=timezone.utc) + timedelta(minutes=30 * step) for step in range(8)),
]


@pytest.fixture(scope="module")
def sides(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sides:
    rows = [
        {
            "s": ("a_b", "axb", "a/b", "a/_b", "b", None)[place // 4],
            "at": at,
            "arr": None if place % 3 == 0 and place > 15 else list(range(place // 6)),
            "null": None if place // 4 == 2 else place,
            "true": (True, False, None)[place // 8],
            "false": ("x", "y", "z")[place // 8],
        }
        for place, at in enumerate(HOURS)
    ]
    path: Path = tmp_path_factory.mktemp("losses") / "t"
    return Sides.of(made(spark, path, SCHEMA, rows, STATEMENTS, by_turns=True))


@pytest.mark.parametrize(
    ("predicates", "settings"),
    [
        (["s LIKE 'a/_b' ESCAPE '/'", "s LIKE 'a//b' ESCAPE '/'", "s LIKE 'a//_b' ESCAPE '/'"], {}),
        (
            ["at = timestamp'2024-11-03 06:30:00Z'", "at = timestamp'2024-11-03 05:30:00Z'"],
            {ZONE: "America/New_York"},
        ),
        (
            ["at >= timestamp'2024-10-27 01:30:00Z' AND at < timestamp'2024-10-27 02:00:00Z'"],
            {ZONE: "Europe/Berlin"},
        ),
        (["at = timestamp'2025-01-01 07:00:00Z'"], {ZONE: "Asia/Almaty"}),
        (["size(arr) IS NULL", "size(arr) = -1", "size(arr) < 0"], {}),
        (["size(arr) IS NULL", "size(arr) = -1"], {"spark.sql.ansi.enabled": "true"}),
        (["size(arr) IS NULL", "size(arr) < 0"], {"spark.sql.legacy.sizeOfNull": "false"}),
        (
            [
                *("`null` = 3", "`null` IS NULL", "`null` > 20", "`null` IN (1, 22)", "NOT `null` > 2"),
                *("`true`", "NOT `true`", "`true` IS NULL", "`true` = false", "`false` = 'y'"),
                *("`false` LIKE 'z%'", "`null` = 3 OR `true` IS NULL", "`null` <=> NULL"),
            ],
            {},
        ),
    ],
    ids=[
        "escape",
        "repeated hour",
        "repeated hour, range",
        "zone data",
        "size",
        "ansi",
        "sizeOfNull",
        "names",
    ],
)
def test_rows_that_were_lost_are_found(
    predicates: list[str], settings: dict[str, str], sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    sides.compare(tally, predicates, settings)
    tally.check(f"known losses, {predicates[0]}", capsys)
    assert tally.comparisons == len(predicates)


def test_most_of_these_tables_is_not_read(sides: Sides, capsys: pytest.CaptureFixture[str]) -> None:
    tally = Tally()
    sides.compare(
        tally, ["s = 'b'", "at = timestamp'2025-01-01 07:00:00Z'", "`null` = 3", functions.col("true")]
    )
    sides.compare_rows(tally, "s = 'b'")
    sides.compare_rows(tally)
    tally.check("known losses, plain predicates", capsys, left_out=0.3)
