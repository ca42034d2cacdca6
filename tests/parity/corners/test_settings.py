"""Expression indexes asked, built and maintained under settings that change what an expression means.

For every expression the values it has under the settings of the query become the literals of the predicates:
where index and query disagree on the meaning, these are the predicates that lose rows.
"""

from __future__ import annotations

import random
import shutil
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.engine import IndexedTable
from hudi_index.spark.validate.parity import session_settings as session
from tests.parity.corners.comparing import EXACT, Sides, Tally, unless_failing
from tests.parity.corners.tables import made
from tests.parity.tables import HudiTable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCHEMA = (
    "arr array<int>, words array<string>, s string, n bigint, i int, d1 decimal(38,18), d2 decimal(38,10), "
    "at timestamp, born date, st struct<a:int,b:string>, m map<string,int>, ratio double, wall timestamp_ntz"
)
EXPRESSIONS = (
    "size(arr)",
    "element_at(arr, 1)",
    "arr[1]",
    "element_at(m, 'a')",
    "substring(s, 1, 2)",
    "upper(s)",
    "CAST(s AS INT)",
    "CAST(s AS DATE)",
    "to_date(s, 'yyyy-MM-dd')",
    "date_format(at, 'yyyy-MM')",
    "from_unixtime(n)",
    "year(born)",
    "d1 * d2",
    "d1 + d2",
    "d1 / d2",
    "i + 2147483600",
    "i / (i - 3)",
    "n % i",
    "CAST(ratio AS INT)",
    "CAST(st AS STRING)",
    "CAST(arr AS STRING)",
    "concat(s, i)",
    "s || NULL",
    "coalesce(i, s)",
    "date_add(born, i)",
    "greatest(i, n)",
    "to_timestamp(s)",
    "split(s, '-', 2)[0]",
    "array_contains(words, 'x')",
    "format_number(ratio, 1)",
    "s RLIKE '\\\\d+'",
    "CAST(at AS BIGINT)",
    "elt(i, s, 'second')",
    "make_date(2024, i, 1)",
    "to_number(s, '99')",
    "parse_url(s, 'HOST')",
    "CAST(CAST(i AS STRING) AS BOOLEAN)",
)
SETTINGS: tuple[dict[str, str], ...] = (
    {},
    {"spark.sql.ansi.enabled": "true"},
    {"spark.sql.legacy.sizeOfNull": "false"},
    {"spark.sql.legacy.timeParserPolicy": "LEGACY"},
    {"spark.sql.legacy.timeParserPolicy": "CORRECTED"},
    {"spark.sql.decimalOperations.allowPrecisionLoss": "false"},
    {"spark.sql.caseSensitive": "true"},
    {"spark.sql.legacy.castComplexTypesToString.enabled": "true"},
    {"spark.sql.storeAssignmentPolicy": "LEGACY"},
    {"spark.sql.charAsVarchar": "true"},
    {"spark.sql.timestampType": "TIMESTAMP_NTZ"},
    {"spark.sql.ansi.enabled": "true", "spark.sql.legacy.sizeOfNull": "true"},
    {
        "spark.sql.legacy.negativeIndexInArrayInsert": "true",
        "spark.sql.legacy.lpadRpadAlwaysReturnString": "true",
    },
    {"spark.sql.ansi.enabled": "true", "spark.sql.ansi.enforceReservedKeywords": "true"},
    {"spark.sql.legacy.literal.pickMinimumPrecision": "false"},
    {"spark.sql.function.concatBinaryAsString": "true", "spark.sql.function.eltOutputAsString": "true"},
    {"spark.sql.session.timeZone": "Asia/Kathmandu", "spark.sql.legacy.timeParserPolicy": "LEGACY"},
    {"spark.sql.legacy.typeCoercion.datetimeToString.enabled": "true"},
    {"spark.sql.parser.escapedStringLiterals": "true"},
    {"spark.sql.legacy.allowHashOnMapType": "true", "spark.sql.mapKeyDedupPolicy": "LAST_WIN"},
    {"spark.sql.parser.quotedRegexColumnNames": "true"},
)
BUILT_UNDER: tuple[dict[str, str], ...] = (
    {},
    SETTINGS[1],
    SETTINGS[2] | SETTINGS[3] | SETTINGS[5] | SETTINGS[7],
)
_WORDS = (
    "12",
    "-3",
    "abc",
    "2024-1-7",
    "2024-02-30",
    "2024-03-01",
    " 7 ",
    "ÜBER",
    "",
    "http://h/x",
    "t",
    None,
)
_KINDS = ("secondary_index", "column_stats", "bitmap", "bloom_filters")


def _row(place: int, chance: random.Random) -> dict[str, Any]:
    """Values on which settings disagree, and nulls."""
    pick = chance.choice
    leap = datetime(2024, 2, 29, 23, 30, tzinfo=timezone.utc)
    return {
        "arr": pick((None, [], [1], [None, 2], [5, 6, 7])),
        "words": pick((None, [], ["x"], [None, "y"], ["x", None])),
        "s": _WORDS[place // 3 % len(_WORDS)],
        "n": pick((None, 0, -1, 1_710_000_000, 3)),
        "i": pick((None, 0, 1, 2, 3, 100, -5)),
        "d1": pick((None, Decimal("1.5"), Decimal("0.333333333333333333"), Decimal("99999999999999999999"))),
        "d2": pick((None, Decimal(2), Decimal("0.0000000003"), Decimal(0), Decimal("12345678901234567.5"))),
        "at": pick((None, leap, datetime(1999, 1, 1, tzinfo=timezone.utc))),
        "born": pick((None, date(2024, 2, 29), date(1970, 1, 1))),
        "st": pick((None, {"a": None, "b": "x"}, {"a": 1, "b": None}, {"a": 1, "b": "y"})),
        "m": pick((None, {}, {"a": 1}, {"b": 2, "a": None})),
        "ratio": pick((None, 0.5, -0.0, float("nan"), 1e20, -7.9)),
        "wall": pick((None, leap.replace(tzinfo=None))),
    }


@pytest.fixture(scope="module")
def plain(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    """Without indexes."""
    chance = random.Random(3)
    rows = [_row(place, chance) for place in range(36)]
    return made(spark, tmp_path_factory.mktemp("settings") / "t", SCHEMA, rows)


def _indexed(
    plain: HudiTable, path: Path, expressions: Sequence[str], settings: Mapping[str, str]
) -> HudiTable:
    """A copy of a table with an index over each expression that can be computed under these settings."""
    shutil.copytree(plain.path, path)
    hudi = HudiTable(plain.spark, path, schema=plain.schema, partition_by="g")
    table = IndexedTable.open(path)
    with session(plain.spark, settings):
        statements = [
            f"CREATE INDEX e{place} ON t USING {_KINDS[place % 4]} ({text})"
            for place, text in enumerate(expressions)
            if _is_computable(hudi, text)
        ]
        table.create_all(statements, spark=plain.spark)
    return hudi


def _is_computable(hudi: HudiTable, text: str) -> bool:
    found = unless_failing(lambda: hudi.read().selectExpr(text).collect())
    return found is not None


def predicates(sides: Sides, text: str, settings: Mapping[str, str], chance: random.Random) -> Iterator[str]:
    """What can be asked of an expression, with values that it has and has not under these settings."""
    yield f"{text} IS NULL"
    yield f"{text} IS NOT NULL"
    with session(sides.spark, {**EXACT, **settings}):
        found = unless_failing(lambda: sides.full.selectExpr(f"{text} AS v").distinct())
        values = found and unless_failing(lambda: [row[0] for row in found.collect() if row[0] is not None])
        if not values:
            return
        kind = found.schema["v"].dataType.simpleString()
    literals = [_literal(value, kind) for value in sorted(values, key=str)]
    for literal in chance.sample(literals, min(3, len(literals))):
        yield f"{text} {chance.choice(('=', '=', '<=>', '>', '<=', '!='))} {literal}"
    yield f"{text} IN ({', '.join(chance.sample(literals, min(2, len(literals))))})"
    yield f"NOT ({text} > {chance.choice(literals)})"


def _literal(value: Any, kind: str) -> str:
    if isinstance(value, datetime):
        return f"timestamp'{value:%Y-%m-%d %H:%M:%S}'" if kind == "timestamp" else f"timestamp_ntz'{value}'"
    text = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"CAST('{text}' AS {kind})"


def _compare(
    hudi: HudiTable, tally: Tally, expressions: Sequence[str], asked: Sequence[Mapping[str, str]], seed: int
) -> None:
    sides, chance = Sides.of(hudi), random.Random(seed)
    for settings in asked:
        texts = [each for text in expressions for each in predicates(sides, text, settings, chance)]
        sides.compare(tally, texts, settings)


FEW = (
    "size(arr)",
    "element_at(arr, 1)",
    "CAST(s AS INT)",
    "to_date(s, 'yyyy-MM-dd')",
    "d1 * d2",
    "CAST(st AS STRING)",
)


def test_expression_under_settings_that_change_its_meaning(
    plain: HudiTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally = Tally()
    hudi = _indexed(plain, tmp_path / "t", FEW, {})
    # Each expression as it was built, and under the setting that means it.
    _compare(hudi, tally, FEW, [{}], 0)
    for expression, place in zip(FEW, (2, 1, 1, 3, 5, 7), strict=True):
        _compare(hudi, tally, [expression], [SETTINGS[place]], 0)
    tally.check("settings", capsys, left_out=0.05)


def test_index_maintained_under_other_settings_than_it_was_built_under(
    plain: HudiTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally, (first, *_) = Tally(), FEW
    hudi = _indexed(plain, tmp_path / "t", [first], {})
    hudi.bulk_insert(
        [{"id": "k90000", "ts": 1, "g": "g0"}, {"id": "k90001", "ts": 1, "g": "g1", "arr": [1, 2]}]
    )
    with session(hudi.spark, {"spark.sql.legacy.sizeOfNull": "false"}):
        IndexedTable.open(hudi.path).maintain(spark=hudi.spark)
    _compare(hudi, tally, [first], [{}, SETTINGS[2]], 0)
    tally.check("settings, maintained under others", capsys)


@pytest.mark.slow
@pytest.mark.parametrize("built", range(len(BUILT_UNDER)))
@pytest.mark.parametrize("part", range(4))
def test_many_expressions_under_many_settings(
    part: int, built: int, plain: HudiTable, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tally, expressions = Tally(), EXPRESSIONS[part::4]
    chance = random.Random(f"{part} {built}")
    hudi = _indexed(plain, tmp_path / "t", expressions, BUILT_UNDER[built])
    _compare(hudi, tally, expressions, [BUILT_UNDER[built]], built)
    assert tally.left_out > 0
    for settings in chance.sample(SETTINGS, 4):
        _compare(hudi, tally, chance.sample(expressions, 4), [settings], built)
    tally.check(f"settings, built under {BUILT_UNDER[built]}, part {part}", capsys)
