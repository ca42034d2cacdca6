"""Patterns of texts and elements of arrays, against Spark, row by row.

Hostile texts under random LIKE patterns and regular expressions, hostile arrays under random memberships:
what a tree admits, made of the text and of Catalyst's tree, and which rows the filter of a scan lets pass.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable
from hudi_index.errors import UnsupportedPredicateError
from hudi_index.predicate import Filters, bind, constraints_of, is_exact, parse_predicate, tree_of
from hudi_index.scan.row_filter import row_filter_of
from hudi_index.spark.catalyst import gate
from hudi_index.spark.catalyst.trees import Trees
from tests.parity.corners.tables import made
from tests.parity.patterns import (
    COLUMNS,
    SCHEMA,
    TEXTS,
    array_of,
    array_predicate,
    hostile_rows,
    text_predicate,
)
from tests.parity.test_predicates_on_spark import assert_agreement, optimized_filter, truths

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    Table = tuple[DataFrame, list[dict[str, Any]]]

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Table:
    rows = hostile_rows()
    fields = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    tuples = [tuple((v["xs"],) if isinstance(v, dict) else v for v in row.values()) for row in rows]
    return spark.createDataFrame(tuples, fields).coalesce(1), rows


def _accepted(frame: DataFrame, texts: list[str]) -> list[str]:
    """Those that Spark can analyse; many at a time while all can."""
    from pyspark.errors import AnalysisException

    try:
        frame.selectExpr(*(f"({text}) AS x{place}" for place, text in enumerate(texts))).schema  # noqa: B018
    except AnalysisException:
        half = len(texts) // 2
        return _accepted(frame, texts[:half]) + _accepted(frame, texts[half:]) if half else []
    return texts


def _arrow_of(rows: list[dict[str, Any]]) -> dict[str, Any]:
    arrow: dict[str, pa.DataType] = {
        "strings": pa.string(),
        "ints": pa.int32(),
        "longs": pa.int64(),
        "floats": pa.float32(),
        "doubles": pa.float64(),
        "decimals": pa.decimal128(10, 2),
        "dates": pa.date32(),
        "times": pa.timestamp("us", tz="UTC"),
        "flags": pa.bool_(),
        "nested": pa.list_(pa.int32()),
    }
    arrays: dict[str, Any] = {name: pa.array([row[name] for row in rows], pa.string()) for name in ("s", "t")}
    arrays |= {name: pa.array([row[name] for row in rows], pa.list_(kind)) for name, kind in arrow.items()}
    arrays["st.xs"] = pa.array([row["st"] and row["st"]["xs"] for row in rows], pa.list_(pa.string()))
    return arrays


def _compare(spark: SparkSession, table: Table, texts: list[str], *, with_trees: int) -> dict[str, int]:
    """Assert agreement of both routes and of the filter; count what was compared."""
    frame, rows = table
    texts = _accepted(frame, list(dict.fromkeys(texts)))
    arrays, trees = _arrow_of(rows), Trees(spark)
    session, _ = trees.session(spark)
    counts = {"texts": 0, "exact": 0, "filtered": 0, "trees": 0}
    for place, (text, truth) in enumerate(zip(texts, truths(frame, texts, 60), strict=True)):
        tree = constraints_of(text, SCHEMA, time_zone="UTC")
        assert_agreement(text, tree, rows, truth)
        counts["texts"] += 1
        counts["exact"] += is_exact(tree)
        try:
            rows_filter = row_filter_of(bind(parse_predicate(text), SCHEMA), time_zone="UTC")
        except UnsupportedPredicateError:
            pass
        else:
            mask = rows_filter.mask(lambda path: arrays[path], len(rows)).to_pylist()
            assert mask == [each is True for each in truth], text
            counts["filtered"] += 1
        if place >= with_trees:
            continue
        execution = frame.where(text)._jdf.queryExecution()
        for plan in (execution.analyzed(), optimized_filter(execution)):
            if plan is not None:
                node = json.loads(trees.of(plan.condition(), plan.child().output()))
                found = tree_of(Filters([node], [text], session).bound(SCHEMA, {}), time_zone=session.zone)
                assert_agreement(text, found, rows, truth, f"{node}: ")
                counts["trees"] += 1
    return counts


@pytest.fixture(autouse=True)
def _in_utc(spark: SparkSession) -> Any:
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    yield
    spark.conf.set("spark.sql.session.timeZone", before)


def test_texts_meet_patterns_as_spark_says(spark: SparkSession, table: Table) -> None:
    chance = random.Random(1)
    found = _compare(spark, table, [text_predicate(chance) for _ in range(220)], with_trees=60)
    assert found["texts"] > 170
    assert found["exact"] > 70
    assert found["filtered"] > 120
    assert found["trees"] > 60


def test_arrays_have_elements_as_spark_says(spark: SparkSession, table: Table) -> None:
    chance = random.Random(2)
    found = _compare(spark, table, [array_predicate(chance) for _ in range(220)], with_trees=60)
    assert found["texts"] > 120
    assert found["exact"] > 90
    assert found["filtered"] > 90
    assert found["trees"] > 60


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 14))
def test_many_patterns_and_elements_are_as_spark_says(spark: SparkSession, table: Table, seed: int) -> None:
    chance = random.Random(seed)
    _compare(spark, table, [text_predicate(chance) for _ in range(1200)], with_trees=300)
    _compare(spark, table, [array_predicate(chance) for _ in range(1200)], with_trees=300)


@pytest.mark.parametrize(
    ("text", "is_exact_as_text", "is_exact_as_tree"),
    [
        ("s LIKE '%ab%'", True, True),
        ("contains(s, 'ab')", True, True),
        ("endswith(s, 'ab')", True, True),
        # Spark asks for the length, too.
        ("s LIKE 'a%b'", True, False),
        ("s LIKE 'a%b%c'", True, True),
        ("s LIKE ANY ('%a%', 'b%')", True, True),
        ("s LIKE ALL ('%a%', 'b%')", True, True),
        ("array_contains(ints, 1)", True, True),
        ("array_contains(longs, 1)", True, True),
        ("array_contains(ints, 1L)", True, True),
        ("arrays_overlap(strings, array('a', 'b', NULL))", True, True),
        ("arrays_overlap(array(1D, double('NaN')), doubles)", True, True),
        ("arrays_overlap(doubles, array(0D))", False, False),
        ("exists(ints, x -> x IN (1, 2) OR x > 5)", True, True),
        ("exists(strings, x -> x LIKE 'p%')", True, True),
        ("exists(dates, x -> x IS NULL)", True, True),
        ("exists(times, x -> x >= TIMESTAMP'2020-01-01 00:00:00')", True, True),
    ],
)
def test_both_routes_say_all_that_is_asked(
    spark: SparkSession, table: Table, text: str, *, is_exact_as_text: bool, is_exact_as_tree: bool
) -> None:
    assert is_exact(constraints_of(text, SCHEMA, time_zone="UTC")) == is_exact_as_text
    trees = Trees(spark)
    session, _ = trees.session(spark)
    plan = optimized_filter(table[0].where(text)._jdf.queryExecution())
    node = json.loads(trees.of(plan.condition(), plan.child().output()))
    found = tree_of(Filters([node], [text], session).bound(SCHEMA, {}), time_zone=session.zone)
    assert is_exact(found) == is_exact_as_tree, node


@pytest.mark.parametrize("followed", ["true", "false"])
def test_exists_is_true_for_the_same_arrays_by_either_setting(
    spark: SparkSession, table: Table, followed: str
) -> None:
    name = "spark.sql.legacy.followThreeValuedLogicInArrayExists"
    spark.conf.set(name, followed)
    try:
        texts = [
            "exists(ints, x -> x > 0)",
            "exists(ints, x -> x > 0) IS NOT TRUE",
            "NOT exists(ints, x -> x > 0)",
        ]
        _compare(spark, table, texts, with_trees=3)
    finally:
        spark.conf.unset(name)


@pytest.mark.parametrize(
    "text",
    [
        *("s LIKE '%x%'", "contains(s, 'x')", "endswith(s, 'x')", "startswith(s, 'x')", "s RLIKE 'a.*b'"),
        *("rlike(s, 'a')", "regexp(s, 'a')", "regexp_like(s, 'a')", "s LIKE ANY ('%a%', 'b%')"),
        *(
            "array_contains(ints, 1)",
            "arrays_overlap(ints, array(1, 2))",
            "exists(ints, x -> x > 1 OR x IS NULL)",
        ),
    ],
)
def test_gate_lets_patterns_pass(table: Table, text: str) -> None:
    frame = table[0]
    assert gate.filter_rows(frame, text).count() == frame.where(text).count()
    query = f"SELECT count(*) AS n FROM v WHERE {text}"
    assert gate.query(frame, query, view="v").collect()[0].n == frame.where(text).count()


SCANNED = {"s": "string", "t": "string", "n": "int", "tags": "array<string>", "xs": "array<double>"}


def test_scan_gives_the_rows_that_spark_finds(
    spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> None:
    chance = random.Random(8)
    rows = [
        {
            "s": text,
            "t": text and text[:12],
            "n": place,
            "tags": array_of(chance, "strings"),
            "xs": array_of(chance, "doubles"),
        }
        for place, text in enumerate(TEXTS)
    ]
    fields = ", ".join(f"{name} {kind}" for name, kind in SCANNED.items())
    statements = (
        "CREATE INDEX stats ON t USING column_stats (s, n)",
        "CREATE INDEX by_s ON t (s)",
        "CREATE INDEX grams ON t USING ngram (s, t) OPTIONS (size = 2)",
        "CREATE INDEX elements ON t USING array (tags, xs)",
    )
    hudi = made(spark, tmp_path_factory.mktemp("patterns") / "t", fields, rows, statements)
    frame = hudi.read().cache()
    table = IndexedTable.open(hudi.path)
    texts = [text_predicate(chance) for _ in range(40)] + [array_predicate(chance) for _ in range(80)]
    texts = [
        text.replace("strings", "tags").replace("doubles", "xs") for text in texts if "st.xs" not in text
    ]
    texts = [*_accepted(frame, texts), "tags IS NULL", "tags IS NOT NULL AND array_contains(tags, 'a')"]
    compared = 0
    numbers = [row.n for row in frame.select("n").collect()]
    for text, truth in zip(texts, truths(frame, texts, 60), strict=True):
        assert table.plan(text).explain()
        wanted = sorted(number for number, is_met in zip(numbers, truth, strict=True) if is_met)
        try:
            found = table.scan(text, ["n"])
        except UnsupportedPredicateError:
            continue
        numbers_found: list[Any] = found.read_all().column("n").to_pylist()
        assert sorted(numbers_found) == wanted, text
        compared += 1
    assert compared > 30
