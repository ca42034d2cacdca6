"""Column names that SQL reads as something else, that differ only in signs or case, and fields of such names.

Hudi's schemas are Avro's: letters of any script, digits and `_`. Names with spaces, dots, `$`, quotes or
back-quotes are refused by its writers.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

from hudi_index.engine import IndexedTable
from tests.parity.corners.comparing import Sides, Tally, quoted
from tests.parity.corners.tables import made

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.parity.tables import HudiTable

pytestmark = pytest.mark.spark

KEYWORDS = (
    *(
        "null",
        "true",
        "false",
        "select",
        "current_date",
        "current_timestamp",
        "current_user",
        "case",
        "not",
        "and",
    ),
    *(
        "interval",
        "date",
        "timestamp",
        "cast",
        "between",
        "in",
        "is",
        "like",
        "exists",
        "array",
        "struct",
        "x",
    ),
    *(
        "nan",
        "infinity",
        "from",
        "where",
        "distinct",
        "default",
        "user",
        "any",
        "lambda",
        "t",
        "s",
        "e1",
        "d",
        "f",
    ),
    *(
        "year",
        "hour",
        "month",
        "upper",
        "size",
        "table",
        "div",
        "escape",
        "end",
        "inf",
        "b",
        "L",
        "BD",
        "r",
        "X1",
    ),
)
SCRIPTS = (
    "ü",
    "日本",
    "İ",
    "ß",
    "é",
    "Ω",
    "CamelCase",
    "_under",
    "__",
    "a_b",
    "a__b",
    "ab_",
    "\u0131",
    "ﬁ",
    "ÅB",
)
BAD = ("a b", "a.b", "$x", "a`b", '"q"', "a-b", "1a")


def _value(kind: str, place: int) -> Any:
    if place % 9 == 8:
        return None
    return {"int": place, "string": f"v{place:02d}", "boolean": place < 12}[kind]


_TYPES = ("int", "string", "boolean", "int")


def _table(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, names: tuple[str, ...]
) -> HudiTable:
    """One column per name, and a struct with a field per name."""
    kinds = {name: _TYPES[place % 4] for place, name in enumerate(names)}
    inner = [name for name in names if name.lower() != "id"]
    fields = ",".join(f"{quoted(name)}:{kinds[name]}" for name in inner)
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items())
    rows = [
        {
            **{name: _value(kind, place) for name, kind in kinds.items()},
            "nested": None if place % 7 == 6 else {name: _value(kinds[name], place + 1) for name in inner},
        }
        for place in range(24)
    ]
    hudi = made(spark, tmp_path_factory.mktemp("names") / "t", f"{columns}, nested struct<{fields}>", rows)
    every = [*map(quoted, names), *(f"nested.{quoted(name)}" for name in inner)]
    table = IndexedTable.open(hudi.path)
    statements = [f"CREATE INDEX stats ON t USING column_stats ({', '.join(every)})"]
    statements += [f"CREATE INDEX i{place} ON t ({name})" for place, name in enumerate(every[::3])]
    table.create_all(statements)
    return hudi


@pytest.fixture(scope="module")
def keywords(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sides:
    return Sides.of(_table(spark, tmp_path_factory, KEYWORDS))


@pytest.fixture(scope="module")
def scripts(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sides:
    return Sides.of(_table(spark, tmp_path_factory, SCRIPTS))


def _leaf(chance: random.Random, names: tuple[str, ...]) -> str:
    name, kinds = chance.choice(names), {name: _TYPES[place % 4] for place, name in enumerate(names)}
    spelled = quoted(name)
    if chance.random() < 0.3:
        spelled = quoted(chance.choice((name.lower(), name.upper())))
    if chance.random() < 0.3:
        spelled = f"nested.{spelled}"
    literals = {
        "int": lambda: str(chance.randrange(25)),
        "string": lambda: f"'v{chance.randrange(25):02d}'",
        "boolean": lambda: chance.choice(("true", "false")),
    }[kinds[name]]
    forms = [
        f"{spelled} = {literals()}",
        f"{spelled} {chance.choice(('<', '>=', '<=>', '!='))} {literals()}",
        f"{spelled} IN ({literals()}, {literals()})",
        f"{spelled} IS NULL",
        f"{spelled} IS NOT NULL AND {spelled} <= {literals()}",
    ]
    if kinds[name] == "boolean":
        forms += [spelled, f"NOT {spelled}"]
    return chance.choice(forms)


def _predicate(chance: random.Random, names: tuple[str, ...]) -> str:
    if chance.random() < 0.7:
        return _leaf(chance, names)
    return f"({_leaf(chance, names)}) {chance.choice(('AND', 'OR', 'AND NOT'))} ({_leaf(chance, names)})"


def _compare(sides: Sides, names: tuple[str, ...], count: int, seed: int) -> Tally:
    tally, chance = Tally(), random.Random(f"{names[0]} {seed}")
    sides.compare(tally, [_predicate(chance, names) for _ in range(count)])
    sensitive = {"spark.sql.caseSensitive": "true"}
    sides.compare(tally, [_predicate(chance, names) for _ in range(count // 4)], sensitive)
    return tally


def test_columns_named_like_keywords_are_columns(keywords: Sides, capsys: pytest.CaptureFixture[str]) -> None:
    tally = _compare(keywords, KEYWORDS, 35, 0)
    keywords.compare_rows(tally, "`null` > 3")
    tally.check("keywords as names", capsys, left_out=0.2)


def test_columns_named_in_any_script_are_columns(scripts: Sides, capsys: pytest.CaptureFixture[str]) -> None:
    tally = _compare(scripts, SCRIPTS, 25, 0)
    scripts.compare_rows(tally, "`ü` > 3")
    tally.check("names of other scripts", capsys, left_out=0.2)


@pytest.mark.parametrize("name", BAD)
def test_other_names_are_refused_by_hudi(name: str, spark: SparkSession, tmp_path: Path) -> None:
    # Once Hudi takes one of these, it belongs to the names above.
    with pytest.raises(Py4JJavaError, match="HoodieSchemaException: Illegal"):
        made(spark, tmp_path / "t", f"{quoted(name)} int", [{name: 1}])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 3))
def test_many_predicates_over_odd_names(
    seed: int, keywords: Sides, scripts: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    _compare(keywords, KEYWORDS, 130, seed).check(f"keywords as names, seed {seed}", capsys, left_out=0.2)
    _compare(scripts, SCRIPTS, 60, seed).check(f"names of other scripts, seed {seed}", capsys, left_out=0.2)
