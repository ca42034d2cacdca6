"""A driver with a Hive catalog and a Thrift server, started by the tests of both in a process of its own.

    python -m tests.spark.hive_driver FOLDER BUNDLE

The catalog's metastore is in FOLDER, where `cow`, `mor` and `served` are tables with an index on their names,
and `cow_twin` and `mor_twin` the same without. Prints one line of JSON with what it saw. A process has one
kind of catalog: that of other tests is in memory.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row

from hudi_index.spark import SHORT_RUN, disable, enable, last_plans, local_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUOTED = "`2024`"
"""A name that queries have to quote; the metastore takes letters, digits and underscores only."""
WRITTEN = "trips_2024"
"""Hudi does not quote a database's name when it writes, and fails on one that needs it."""
QUERIES = {
    "rows": "SELECT id, n FROM {t} WHERE name = 'ascii'",
    "partition": "SELECT id FROM {t} WHERE name = 'ascii' AND region IN ('us', 'eu')",
    "join": "SELECT a.id FROM {t} a JOIN {t} b USING (id) WHERE b.name = 'ascii'",
    "view": "SELECT count(*) FROM {t}_view WHERE name = 'ascii'",
}
WRITES = (
    (
        "MERGE INTO {t} t USING (SELECT concat(id, '') id, concat(region, '') region, ts FROM {t} "
        "WHERE name = 'zürich') s ON t.id = s.id AND t.region = s.region WHEN MATCHED THEN DELETE"
    ),
    "DELETE FROM {t} WHERE name = 'ascii'",
)


def hive_session(folder: Path, bundle: str) -> SparkSession:
    """A session whose catalog is Hive's, in files below a folder."""
    metastore = f"jdbc:derby:;databaseName={folder}/metastore;create=true"
    spark = local_session(
        "hive",
        settings={
            **SHORT_RUN,
            "spark.jars.packages": "",
            # Threads of a Thrift server do not see jars that Spark adds later.
            "spark.driver.extraClassPath": bundle,
            "spark.driver.memory": "1g",
            "spark.log.level": "ERROR",
            "spark.sql.catalogImplementation": "hive",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(folder / "warehouse"),
            "spark.hadoop.javax.jdo.option.ConnectionURL": metastore,
            "spark.hadoop.hive.exec.scratchdir": str(folder / "scratch"),
            "spark.hadoop.hive.exec.local.scratchdir": str(folder / "scratch"),
            "spark.hadoop.hive.downloaded.resources.dir": str(folder / "resources"),
            "spark.hadoop.hive.server2.logging.operation.log.location": str(folder / "logs"),
            "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
            # Any that is free.
            "spark.hadoop.hive.server2.thrift.port": "0",
        },
    )
    for name in ("hoodie.metadata.enable", "hoodie.embed.timeline.server"):
        spark.conf.set(name, "false")
    return spark


def asked(spark: SparkSession, query: str) -> dict[str, Any]:
    """The rows of a query, and how many file slices its plans kept and left out."""
    before = last_plans(1)
    rows = sorted(map(str, spark.sql(query).collect()))
    return {"rows": rows, **pruned_since(before)}


def pruned_since(before: Any) -> dict[str, Any]:
    newest = before[-1].number if before else 0
    plans = [each for each in last_plans() if each.number > newest]
    return {
        "kept": sum(each.kept for each in plans),
        "total": sum(each.total for each in plans),
        "errors": [str(each.error) for each in plans if each.error],
    }


def both(spark: SparkSession, table: str) -> dict[str, Any]:
    """Each query in a session that is not enabled, and in one that is."""
    plain = {name: asked(spark, query.format(t=table)) for name, query in QUERIES.items()}
    enable(spark)
    found = {name: [plain[name], asked(spark, query.format(t=table))] for name, query in QUERIES.items()}
    disable(spark)
    return found


def write(spark: SparkSession, table: str, statement: str) -> list[dict[str, Any]]:
    """A statement on a twin in a session that is not enabled, and in one that is; the rows after it."""
    spark.sql(statement.format(t=f"{table}_twin"))
    before = last_plans(1)
    enable(spark)
    spark.sql(statement.format(t=table))
    disable(spark)
    pruned = pruned_since(before)
    everything = "SELECT id, region, name, n FROM {t}"
    twins, ours = (asked(spark, everything.format(t=each)) for each in (f"{table}_twin", table))
    return [twins, {**ours, **pruned}]


def by_catalog(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Queries and writes by the names of the catalog."""
    found: dict[str, Any] = {}
    for database in (QUOTED, WRITTEN):
        spark.sql(f"CREATE DATABASE {database}")
    for kind in ("cow", "mor"):
        table = f"{QUOTED}.{kind}"
        spark.sql(f"CREATE TABLE {table} USING hudi LOCATION '{folder / kind}'")
        spark.sql(f"CREATE VIEW {table}_view AS SELECT * FROM {table}")
        found |= {f"{kind} {name}": sides for name, sides in both(spark, table).items()}
        for name in (kind, f"{kind}_twin"):
            spark.sql(f"CREATE TABLE {WRITTEN}.{name} USING hudi LOCATION '{folder / name}'")
        for statement in WRITES:
            found[f"{kind} {statement.split()[0]}"] = write(spark, f"{WRITTEN}.{kind}", statement)
    return found


def by_thrift(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """The same queries over JDBC, from a server that this driver starts once it is enabled."""
    jvm: Any = spark.sparkContext._jvm
    spark.sql("CREATE DATABASE served")
    spark.sql(f"CREATE TABLE served.mor USING hudi LOCATION '{folder / 'served'}'")
    spark.sql("CREATE VIEW served.mor_view AS SELECT * FROM served.mor")
    plain = {name: asked(spark, query.format(t="served.mor")) for name, query in QUERIES.items()}
    enable(spark)
    server = jvm.org.apache.spark.sql.hive.thriftserver.HiveThriftServer2.startWithContext(
        spark._jsparkSession.sqlContext()
    )
    try:
        services: list[Any] = list(server.getServices())
        # The session manager is the other one.
        (port,) = [each.getPortNumber() for each in services if "ThriftBinary" in each.getName()]
        connection = jvm.java.sql.DriverManager.getConnection(f"jdbc:hive2://127.0.0.1:{port}/", "tests", "")
        statement = connection.createStatement()
        found = {}
        for name, query in QUERIES.items():
            before = last_plans(1)
            answer = statement.executeQuery(query.format(t="served.mor"))
            rows = rows_of(answer)
            found[f"served {name}"] = [plain[name], {"rows": rows, **pruned_since(before)}]
        connection.close()
        return found
    finally:
        server.stop()
        disable(spark)


def rows_of(answer: Any) -> list[str]:
    """Those of a java.sql.ResultSet, as Spark's own rows are told."""
    about, rows = answer.getMetaData(), []
    places = range(1, about.getColumnCount() + 1)
    named = Row(*(about.getColumnLabel(place) for place in places))
    while answer.next():
        rows.append(named(*(answer.getObject(place) for place in places)))
    return sorted(map(str, rows))


def main(folder: Path, bundle: str) -> None:
    """Tell what was seen."""
    spark = hive_session(folder, bundle)
    found = by_catalog(spark, folder)
    found |= by_thrift(spark, folder)
    found["catalog"] = spark.conf.get("spark.sql.catalogImplementation")
    sys.stdout.write(f"told {json.dumps(found)}\n")
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
