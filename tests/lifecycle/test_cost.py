"""Maintenance costs what changed: nothing else is opened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from tests.support.entries import check_indexes
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from pathlib import Path

GROUPS, CHANGED, ROWS = 400, ("g007", "g123", "g250", "g399"), 5
STATEMENTS = [
    "CREATE INDEX by_n ON t (n)",
    "CREATE INDEX stats ON t USING column_stats (n, region)",
    "CREATE INDEX keys ON t USING record_index (id)",
    "CREATE INDEX regions ON t USING bitmap (region)",
    "CREATE INDEX blooms ON t USING bloom_filters (n)",
]


def _rows(group: str, salt: int) -> list[dict[str, Any]]:
    return [{"id": f"{group}-{place}", "n": place + salt, "region": group[-1]} for place in range(ROWS)]


@pytest.mark.parametrize(
    "on_spark",
    [False, pytest.param(True, marks=[pytest.mark.spark, pytest.mark.slow])],
    ids=["in process", "on spark"],
)
def test_four_changed_file_groups_of_400_are_read_and_no_other_is_opened(
    on_spark: bool, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    spark = request.getfixturevalue("spark") if on_spark else None
    files = Fabricated(tmp_path / "t", partition_fields="")
    files.commit("20240101000000000")
    others = {}
    for number in range(GROUPS):
        group = f"g{number:03d}"
        name = files.base_file("", group, "20240101000000000", _rows(group, 0))
        if group not in CHANGED:
            others[files.path / name] = (files.path / name).read_bytes()
    table = IndexedTable.open(files.path)
    for statement in STATEMENTS:
        table.sql(statement)
    files.commit("20240102000000000")
    for group in CHANGED:
        files.base_file("", group, "20240102000000000", _rows(group, 3))

    # Whoever opens one of the other 396 files finds nothing that could be read.
    for path in others:
        path.write_bytes(b"")
    report = table.maintain(spark=spark)
    assert (report.file_groups, report.file_groups_changed) == (GROUPS, len(CHANGED))
    assert report.rows_read == 2 * ROWS * len(CHANGED)  # as they were and as they are
    again = table.maintain(spark=spark)
    assert (again.commit, again.rows_read) == (None, 0)
    assert table.status().is_fresh

    for path, content in others.items():
        path.write_bytes(content)
    check_indexes(table.storage)
