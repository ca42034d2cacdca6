"""The examples of the documents that need a table, on a real one and a real session."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from hudi_index.spark import disable
from tests.parity.tables import COW, HudiTable
from tests.repository.test_documents import documents, python_blocks
from tests.repository.tree import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

PLACE = "/data/trips"
BLOCKS = [
    (document, block)
    for document in documents()
    for block in python_blocks(document.read_text(encoding="utf-8"))
    if block.on_a_table
]


@pytest.fixture(scope="module")
def trips(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three cities, two commits: six file groups."""
    hudi = HudiTable(
        spark,
        tmp_path_factory.mktemp("documents") / "trips",
        COW,
        partition_by="city",
        record_key="trip_id",
        schema="trip_id string, ts bigint, at timestamp, rider string, fare double, city string",
    )
    start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    rows = [
        {
            "trip_id": f"trip-{n}",
            "ts": n,
            "at": start + timedelta(hours=n),
            "rider": f"rider-{'ABCDE'[n // 6]}",
            "fare": 5.0 + n,
            "city": ("berlin", "lagos", "tokyo")[n % 3],
        }
        for n in range(30)
    ]
    hudi.bulk_insert(rows[:15])
    hudi.bulk_insert(rows[15:])
    return hudi.path


def test_examples_run_in_the_order_they_stand_in(
    spark: SparkSession, trips: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert {str(document.relative_to(ROOT)) for document, _ in BLOCKS} >= {
        "README.md",
        "docs/guide-analyst.md",
        "docs/guide-platform-engineer.md",
        "docs/queries.md",
        "docs/validation.md",
    }
    try:
        for document, block in BLOCKS:
            code = compile(block.code.replace(PLACE, str(trips)), f"{document.name}:{block.line}", "exec")
            exec(code, {"spark": spark, "__name__": "example"})
    finally:
        disable(spark)
    shown = capsys.readouterr().out
    assert "rider-D" in shown
    assert "by_rider" in shown
