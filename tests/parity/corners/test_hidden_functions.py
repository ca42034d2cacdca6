"""Functions registered under the name of a built-in one, when an index is asked and when one is built."""

from __future__ import annotations

import contextlib
import zipfile
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import IntegerType, StringType

from hudi_index.engine import IndexedTable
from hudi_index.errors import UserError
from tests.parity.corners.comparing import Sides, Tally
from tests.parity.corners.tables import made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.parity.tables import HudiTable

pytestmark = pytest.mark.spark

STATEMENTS = (
    "CREATE INDEX shout ON t USING secondary_index (upper(s))",
    "CREATE INDEX sizes ON t USING bitmap (size(arr))",
    "CREATE INDEX heads ON t USING secondary_index (substring(s, 1, 2))",
)
PREDICATES = (
    *("upper(s) = 'MINE'", "upper(s) = 'W3'", "upper(s) IS NULL", "size(arr) = 7", "size(arr) = 2"),
    *("NOT size(arr) = 7", "substring(s, 1, 2) = 'zz'", "substring(s, 1, 2) = 'w3'"),
    *("upper(s) = 'MINE' AND s = 'w3'", "size(arr) = 7 OR s = 'w5'"),
)
OWN = (
    ("upper", 1, "MINE", StringType()),
    ("size", 1, 7, IntegerType()),
    ("substring", 3, "zz", StringType()),
)
"""Name, number of arguments, what it always gives, and of which type."""
JAVA = """
public class {name} implements org.apache.spark.sql.api.java.UDF{count} {{
  public Object call({arguments}) {{ return {value}; }}
}}
"""


@pytest.fixture(scope="module")
def hudi(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    rows = [
        {
            "s": None if place == 12 else f"w{place // 3}",
            "arr": None if place % 9 == 8 else list(range(place // 5)),
        }
        for place in range(24)
    ]
    path = tmp_path_factory.mktemp("hidden") / "t"
    return made(spark, path, "s string, arr array<int>", rows)


@pytest.fixture(scope="module")
def jar(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The functions in Java, for all sessions: tasks load them by name."""
    path = tmp_path_factory.mktemp("jar") / "functions.jar"
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    with zipfile.ZipFile(path, "w") as archive:
        for name, count, value, _ in OWN:
            arguments = ", ".join(f"Object a{place}" for place in range(count))
            compiler = jvm.org.codehaus.janino.SimpleCompiler()
            text = f'"{value}"' if isinstance(value, str) else f"Integer.valueOf({value})"
            compiler.cook(JAVA.format(name=f"Own{name}", count=count, arguments=arguments, value=text))
            archive.writestr(f"Own{name}.class", bytes(compiler.getBytecodes()[f"Own{name}"]))
    spark.sql(f"ADD JAR '{path}'")


def _hide_by_java(spark: SparkSession) -> None:
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    loader = spark._jsparkSession.sharedState().jarClassLoader()
    for name, _, _, kind in OWN:
        java_type = getattr(jvm.org.apache.spark.sql.types.DataTypes, type(kind).__name__)
        spark._jsparkSession.udf().register(name, loader.loadClass(f"Own{name}").newInstance(), java_type)


def _hide_by_python(spark: SparkSession) -> None:
    for name, _, value, kind in OWN:
        spark.udf.register(name, lambda *_, value=value: value, kind)


@pytest.mark.usefixtures("jar")
def test_hidden_functions_are_not_taken_for_sparks(
    spark: SparkSession, hudi: HudiTable, capsys: pytest.CaptureFixture[str]
) -> None:
    table, tally = IndexedTable.open(hudi.path), Tally()
    table.create_all(STATEMENTS, spark=spark)
    Sides.of(hudi).compare(tally, PREDICATES, note="plain")
    assert tally.left_out > 0
    # Functions belong to a session, and Spark lets nobody take back one that hides its own.
    for hide in (_hide_by_java, _hide_by_python):
        other = spark.newSession()
        hide(other)
        Sides.of(hudi, other).compare(tally, PREDICATES[::2], note=hide.__name__)
    for statement in STATEMENTS:
        table.drop(statement.split()[2])
    tally.check("hidden functions, asked", capsys)


@pytest.mark.usefixtures("jar")
@pytest.mark.parametrize("hide", [_hide_by_python, pytest.param(_hide_by_java, marks=pytest.mark.slow)])
def test_index_built_by_hidden_functions_does_not_answer_for_sparks(
    hide: object, spark: SparkSession, hudi: HudiTable, capsys: pytest.CaptureFixture[str]
) -> None:
    other, tally = spark.newSession(), Tally()
    hide(other)  # type: ignore[operator]
    table, created = IndexedTable.open(hudi.path), []
    for statement in STATEMENTS:
        with contextlib.suppress(UserError):  # refusing is right as well
            table.sql(statement, spark=other)
            created.append(statement.split()[2])
    Sides.of(hudi).compare(tally, PREDICATES, note="plain")
    Sides.of(hudi, other).compare(tally, PREDICATES[::2], note="hidden")
    for name in created:
        table.drop(name)
    tally.check(f"hidden functions, {len(created)} indexes built by them", capsys)
