"""Flink SQL in a Java of its own: a Hudi writer that is not Spark.

The newest Flink that a bundle of Hudi can be had for: 1.17 with Hudi 0.14.0, which makes version-6 tables.
"""

from __future__ import annotations

import sysconfig
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import (  # type: ignore[import-untyped]
    GatewayParameters,
    JavaGateway,
    launch_gateway,
)

from hudi_index.spark.runtime.java import ensure_java
from tests.support.maven import Jar, fetched_with_dependencies

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Flink", "flink"]

_BUNDLE = Jar(
    "org.apache.hudi",
    "hudi-flink1.17-bundle",
    "0.14.0",
    "a7b3bdbe2272db219a6aa63dabfa4e8c9d3894a879f6b9785d1c3e222095bbf9",
)
_PARTS = ("table-planner-loader", "table-runtime", "table-api-java-bridge", "clients", "connector-files")
# Hadoop's, which Hudi's bundle for Flink has not.
_OF_SPARK = ("hadoop-client-api-*.jar", "hadoop-client-runtime-*.jar", "commons-logging-*.jar")
_SETTINGS = {
    "execution.runtime-mode": "STREAMING",
    "execution.checkpointing.interval": "2s",
    "parallelism.default": "2",
    "taskmanager.numberOfTaskSlots": "4",
    "taskmanager.memory.managed.size": "128m",
    "taskmanager.memory.network.min": "64m",
    "taskmanager.memory.network.max": "64m",
}
_OPENED = ("lang", "lang.invoke", "util", "util.concurrent", "net", "io", "nio", "time")


class Flink:
    """Runs statements, each to its end."""

    def __init__(self, gateway: JavaGateway) -> None:
        api = gateway.jvm.org.apache.flink
        configuration = api.configuration.Configuration()
        for name, value in _SETTINGS.items():
            configuration.setString(name, value)
        settings = api.table.api.EnvironmentSettings.newInstance().withConfiguration(configuration).build()
        self._environment = api.table.api.TableEnvironment.create(settings)

    def sql(self, statement: str) -> None:
        result: Any = self._environment.executeSql(statement)
        if statement.upper().startswith("INSERT"):
            getattr(result, "await")()


@contextmanager
def flink() -> Iterator[Flink]:
    """A Flink that runs while this is open."""
    jars = Path(sysconfig.get_path("purelib")) / "pyspark" / "jars"
    own = fetched_with_dependencies(
        "flink-1.17.2", [_BUNDLE, *(Jar("org.apache.flink", f"flink-{part}", "1.17.2") for part in _PARTS)]
    )
    port, token = launch_gateway(
        jarpath=str(next(jars.glob("py4j-*.jar"))),
        classpath=":".join(map(str, [*own, *(next(jars.glob(each)) for each in _OF_SPARK)])),
        javaopts=["-Xmx1g", *(f"--add-opens=java.base/java.{each}=ALL-UNNAMED" for each in _OPENED)],
        java_path=ensure_java(),
        die_on_exit=True,
        enable_auth=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    try:
        yield Flink(gateway)
    finally:
        gateway.shutdown()
