"""Fixtures for all tests: one Spark session and one object store per process."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.support.object_store import ObjectStore

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


# With two workers, files that take minutes start before those that fill up the rest of the time.
_LONG_FIRST = ("dags", "spark", "provider", "parity", "validation", "lifecycle")

# For every Java that a test starts, in this process and in others: compile soon rather than well, one
# collector thread, no collections while classes are loaded, no check of the bytecode of classes that were
# checked often enough, and no helper process for each of the many `chmod` that Hadoop runs.
os.environ.setdefault(
    "JDK_JAVA_OPTIONS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:MetaspaceSize=400m"
    " -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
    " -Djdk.lang.Process.launchMechanism=VFORK",
)

_JVM_OPTIONS = "spark.driver.extraJavaOptions"

# Hadoop's settings for what no test has. Hudi sends all settings along with its tasks, and tries of each
# closure whether they can be sent. Four of five are of this kind.
_OF_CLUSTERS = re.compile(
    r"(yarn|dfs|ipc|ha|rpc|adl|ftp)\.|fs\.(s3a|azure|abfs|adl|ftp)\.|mapreduce\.(?!(file|input|output))"
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with Spark come last: the quick ones fail first."""
    with_spark = {item.path for item in items if item.get_closest_marker("spark")}

    def place(item: pytest.Item) -> int:
        if item.path not in with_spark:
            return -1
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        return _LONG_FIRST.index(folder) if folder in _LONG_FIRST else len(_LONG_FIRST)

    items.sort(key=place)
    for item in items:
        # Also those that start Spark in another process: by then this one has fetched the Hudi bundle.
        names = item.fixturenames if isinstance(item, pytest.Function) else []
        if item.get_closest_marker("spark") and "spark" not in names:
            names.insert(0, "spark")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The only Spark session of this process."""
    from hudi_index.spark.runtime.session import SHORT_RUN, local_session
    from tests.support.class_archive import use_class_archive
    from tests.support.local_files import use_local_files

    warehouse = tmp_path_factory.mktemp("warehouse")
    # Two workers that fetch the Hudi bundle at the same time would break each other's copy.
    with (tmp_path_factory.getbasetemp().parent / "spark.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        use_class_archive()
        session = local_session(
            "hudi-index-tests",
            settings={
                **SHORT_RUN,
                # From the start the heap that it grows to anyway.
                _JVM_OPTIONS: f"{SHORT_RUN[_JVM_OPTIONS]} -Xms1500m -Xmn700m",
                "spark.sql.shuffle.partitions": "2",
                "spark.default.parallelism": "2",
                "spark.sql.warehouse.dir": str(warehouse),
                "spark.sql.session.timeZone": "UTC",
                "spark.driver.memory": "3g",
                "spark.log.level": "ERROR",
            },
        )
    session.sparkContext.setLogLevel("ERROR")
    _forget_clusters(session)
    use_local_files(session.sparkContext._gateway)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def object_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    """The only object store of this process."""
    from tests.support.object_store import started

    with started(tmp_path_factory.mktemp("object-store") / "buckets") as store:
        yield store


@pytest.fixture(scope="session", autouse=True)
def _tests_in_a_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """With HUDI_INDEX_TEST_STORE=s3, tests run once more in an object store."""
    if os.environ.get("HUDI_INDEX_TEST_STORE") != "s3":
        yield
        return
    from tests.support.object_store import put_tests_into_a_store

    with put_tests_into_a_store(tmp_path_factory.getbasetemp()):
        yield


def _forget_clusters(session: SparkSession) -> None:
    jvm = session.sparkContext._jvm
    assert jvm is not None
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    for name in jvm.java.lang.String.join(",", hadoop.getPropsWithPrefix("").keySet()).split(","):
        if _OF_CLUSTERS.match(name):
            hadoop.unset(name)
