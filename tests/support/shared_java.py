"""One Java for jobs that tests run one after the other, each in a process of its own as ever.

A job of a second or two spends ten on a Java that has to load Spark and Hudi anew. pyspark connects to one
that is there where the environment says so, as it does under spark-submit: a job then starts a Spark session
in it and stops it again. What is about Java itself, its settings or its end, is no test for this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.spark.runtime.certificates import trust_options
from hudi_index.spark.runtime.java import ensure_java
from hudi_index.spark.runtime.session import HUDI_BUNDLE, SHORT_RUN
from tests.support.local_files import use_local_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

__all__ = ["another_java", "shared_java"]

_JVM_OPTIONS = "spark.driver.extraJavaOptions"


@pytest.fixture(scope="module")
def another_java(spark: SparkSession) -> Iterator[Any]:
    """A Java with Hudi on its class path; not the one of this process, whose session goes on."""
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    assert spark is not None  # first: this one would otherwise become the process's own
    settings = {
        "spark.jars.packages": HUDI_BUNDLE,
        _JVM_OPTIONS: f"{SHORT_RUN[_JVM_OPTIONS]} {trust_options(ensure_java())}".strip(),
        "spark.driver.memory": "2g",
    }
    # Without defaults: those of this process's session would come along.
    gateway = launch_gateway(SparkConf(loadDefaults=False).setAll(list(settings.items())))
    use_local_files(gateway)
    yield gateway
    gateway.shutdown()
    # It ends when nobody is left to tell it anything.
    gateway.proc.stdin.close()
    gateway.proc.wait()


@pytest.fixture
def shared_java(another_java: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the jobs of a test run in the Java that those of its module share."""
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", str(another_java.gateway_parameters.port))
    monkeypatch.setenv("PYSPARK_GATEWAY_SECRET", another_java.gateway_parameters.auth_token)
