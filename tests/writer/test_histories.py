"""The indexed writer against Hudi's own: the same batches give the same rows, and indexes as if made anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.parity.tables import COW, MOR
from tests.writer.twins import ALL_KINDS, AND_AN_EXPRESSION, History, Twins

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def _run(spark: SparkSession, folder: Path, table_type: str, version: int, seed: int, steps: int) -> None:
    statements = AND_AN_EXPRESSION if seed // 2 % 2 else ALL_KINDS
    history, twins = History(seed), Twins(spark, folder, table_type, version, statements=statements)
    twins.begin(history.begin())
    for _ in range(steps):
        history.step(twins)
        # What another wrote, or was left to maintenance, is not indexed yet.
        twins.check(validates=twins.indexed.status().is_fresh, queries=0)
    twins.indexed.maintain(spark=spark)
    twins.check()


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_a_history_is_the_same_by_both_writers(spark: SparkSession, tmp_path: Path, table_type: str) -> None:
    _run(spark, tmp_path, table_type, 9, seed=3, steps=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100))
def test_many_histories_are_the_same_by_both_writers(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    _run(spark, tmp_path, (COW, MOR)[seed % 2], (9, 8, 6)[seed % 3], seed=1000 + seed, steps=6)
