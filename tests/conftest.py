"""Fixtures for all tests: one Spark session for the whole run."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile(
    "long", parent=settings.get_profile("default"), derandomize=False, max_examples=2000
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with Spark come last: the quick ones fail first."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is not None)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The only Spark session of the run."""
    from hudi_index.spark.session import SHORT_RUN, local_session

    warehouse = tmp_path_factory.mktemp("warehouse")
    session = local_session(
        "hudi-index-tests",
        settings={
            **SHORT_RUN,
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.sql.warehouse.dir": str(warehouse),
            "spark.sql.session.timeZone": "UTC",
            "spark.driver.memory": "3g",
            "spark.log.level": "ERROR",
        },
    )
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
