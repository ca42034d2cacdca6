"""Statements about indexes, on tables by the name that the session's catalog knows them by."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import AnalysisException

from hudi_index.arguments import check_text
from hudi_index.catalog import parse_statement
from hudi_index.engine import IndexedTable
from hudi_index.errors import NoJvmError, UserError
from hudi_index.spark.session_rule.families import forget_tables, options_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

    from hudi_index.catalog import IndexDefinition, TableName
    from hudi_index.jobs import JobReport

__all__ = ["is_on_a_hudi_table", "sql"]

_SESSION_CATALOG = "spark_catalog"


def sql(
    spark: SparkSession, statement: str, *, storage_options: Mapping[str, str] | None = None
) -> JobReport | tuple[IndexDefinition, ...]:
    """Carry out a statement about indexes on a table of the session's catalog.

    `CREATE INDEX`, `DROP INDEX`, `REFRESH INDEX` and `REBUILD INDEX` return a report, `SHOW INDEXES` the
    definitions. The table is named as in a query (`trips`, `db.trips`), or by its place: hudi.`/data/trips`.

    Args:
        spark: The session whose catalog names the table, and that builds.
        statement: One statement.
        storage_options: How to open the table from Python; those of `enable` if None.

    Raises:
        UserError: a subclass that says what is wrong with the statement, or no such Hudi table.
    """
    parsed = parse_statement(check_text("statement", statement, "one statement, as a text"))
    if parsed.table is None:
        raise UserError(f"{statement!r} names no table: say DROP INDEX {parsed.name} ON …")
    if not hasattr(spark, "_jsparkSession"):
        raise NoJvmError(path=str(parsed.table))
    location = parsed.table.path or _location_of(spark, parsed.table)
    options = storage_options
    if options is None and not location.startswith("/"):
        options = options_of(spark)
    try:
        return IndexedTable.open(location, options).sql(statement, spark=spark)
    finally:
        forget_tables(spark)


def is_on_a_hudi_table(spark: SparkSession, statement: str) -> bool:
    """Whether a statement is about a table that `sql` takes; one that names none may be.

    Raises:
        UserError: a subclass that says what is wrong with the statement.
    """
    parsed = parse_statement(statement)
    if parsed.table is None or parsed.table.path is not None:
        return True
    try:
        _location_of(spark, parsed.table)
    except UserError:
        return False
    return True


def _location_of(spark: SparkSession, name: TableName) -> str:
    """Where a table of the catalog is: a local path, or a far location as Hadoop writes it."""
    *above, table_name = name.parts
    if above[:1] == [_SESSION_CATALOG] and len(above) > 1:
        del above[0]
    if len(above) > 1:
        raise UserError(f"{name} is in a catalog of its own: name the table by its place, hudi.`/data/trips`")
    java: Any = spark._jsparkSession
    jvm: Any = spark.sparkContext._jvm
    database = jvm.scala.Option.apply(above[0] if above else None)
    try:
        identifier = jvm.org.apache.spark.sql.catalyst.TableIdentifier(table_name, database)
        table = java.sessionState().catalog().getTableMetadata(identifier)
    except AnalysisException as error:
        raise UserError(f"no table {name} in the catalog of this session: {error}") from error
    provider = table.provider()
    if table.tableType().name() == "VIEW" or not provider.isDefined() or provider.get().lower() != "hudi":
        kind = provider.get() if provider.isDefined() else table.tableType().name().lower()
        raise UserError(f"{name} is no Hudi table ({kind}): indexes are made on the tables that a view reads")
    place = table.location()
    if place.getScheme() in (None, "file"):
        return str(place.getPath())
    return str(jvm.org.apache.hadoop.fs.Path(place).toString())
