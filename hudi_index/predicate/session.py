"""What gives a query's texts and trees their meaning beside themselves: zone data, time zone, settings.

A setting of Spark's may change what an expression means without a trace in its tree: some are looked at when
a row is evaluated. So every setting that is not at its default counts, but for those that are known to
concern only how a query is run, not what it says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zoneinfo import TZPATH

from hudi_index.predicate.values.times import SessionZone

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["TIME_ZONE", "Session", "Settings", "meaningful", "own_zone_data"]

TIME_ZONE = "spark.sql.session.timeZone"
"""The setting that names a session's time zone."""

Settings = tuple[tuple[str, str], ...]
"""Names and values of settings, sorted by name."""

_HARMLESS = (
    "spark.sql.adaptive.",
    "spark.sql.artifact.",
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.avro.",
    "spark.sql.broadcastTimeout",
    "spark.sql.bucketing.",
    "spark.sql.cache.",
    "spark.sql.cartesianProductExec.",
    "spark.sql.catalog.",
    "spark.sql.catalogImplementation",
    "spark.sql.cbo.",
    "spark.sql.cli.",
    "spark.sql.codegen.",
    "spark.sql.columnVector.",
    "spark.sql.crossJoin.",
    "spark.sql.csv.",
    "spark.sql.datetime.java8API.enabled",
    "spark.sql.debug.",
    "spark.sql.defaultCatalog",
    "spark.sql.defaultSizeInBytes",
    "spark.sql.error.",
    "spark.sql.event.",
    "spark.sql.exchange.",
    "spark.sql.execution.",
    "spark.sql.extensions",
    "spark.sql.files.",
    "spark.sql.globalTempDatabase",
    "spark.sql.hive.",
    "spark.sql.inMemoryColumnarStorage.",
    "spark.sql.inMemoryTableScanStatistics.",
    "spark.sql.join.",
    "spark.sql.leafNodeDefaultParallelism",
    "spark.sql.limit.",
    "spark.sql.maxMetadataStringLength",
    "spark.sql.maxPlanStringLength",
    "spark.sql.metadataCacheTTLSeconds",
    "spark.sql.objectHashAggregate.",
    "spark.sql.optimizer.",
    "spark.sql.orc.",
    # How files are read is another matter: see "calendars" in docs/design.md.
    "spark.sql.parquet.",
    "spark.sql.planChangeLog.",
    "spark.sql.pyspark.",
    "spark.sql.queryExecutionListeners",
    "spark.sql.redaction.",
    "spark.sql.repl.",
    "spark.sql.scriptTransformation.",
    # In the trees, as an argument of every function that goes by it.
    TIME_ZONE,
    "spark.sql.shuffle.",
    "spark.sql.sort.",
    "spark.sql.sources.",
    "spark.sql.statistics.",
    "spark.sql.storeAssignmentPolicy",
    "spark.sql.streaming.",
    "spark.sql.thriftserver.",
    "spark.sql.ui.",
    "spark.sql.warehouse.dir",
    "spark.sql.windowExec.",
)
_OWN_VERSION = "# version "


def meaningful(settings: Mapping[str, str]) -> Settings:
    """Those of a session's settings, given as far as they are no defaults, that expressions may depend on."""
    return tuple(sorted((name, value) for name, value in settings.items() if not name.startswith(_HARMLESS)))


@lru_cache(maxsize=1)
def own_zone_data() -> str | None:
    """The version of the zone data that Python uses here, None if that can't be told."""
    for folder in TZPATH:
        if Path(folder, "Europe", "Berlin").is_file():
            # Which of the machine's files a zone comes from is known, of which version they are perhaps not.
            try:
                first = Path(folder, "tzdata.zi").read_bytes().partition(b"\n")[0].decode()
            except (OSError, ValueError):
                return None
            return first.removeprefix(_OWN_VERSION) if first.startswith(_OWN_VERSION) else None
    try:
        return str(import_module("tzdata").IANA_VERSION)
    except (ImportError, AttributeError):
        return None


@dataclass(frozen=True)
class Session:
    """Where a query runs, as far as its meaning goes."""

    time_zone: str = "UTC"
    zone_data: str | None = None
    """The version of the zone data that named zones go by."""
    settings: Settings = ()
    """Those that are not at Spark's defaults."""
    spark: str | None = None
    """The version of Spark; None for a text that is read here, as Spark's defaults have it."""

    @classmethod
    def of_text(cls, time_zone: str) -> Session:
        """For a text that a person gives: Spark's default settings, and the zone data of this machine."""
        return cls(time_zone, own_zone_data())

    @classmethod
    def of_spark(cls, described: Mapping[str, Any]) -> Session:
        """Of what `CatalystTree.session` says."""
        return cls(
            described["time_zone"],
            described["zone_data"],
            meaningful(described["settings"]),
            described["spark"],
        )

    @property
    def zone(self) -> SessionZone:
        """The time zone; a named one is only asked for its rules if they are the session's too."""
        own = own_zone_data()
        return SessionZone(self.time_zone, is_known=own is not None and own == self.zone_data)
