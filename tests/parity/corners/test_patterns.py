"""LIKE with any escape sign, ILIKE, RLIKE, LIKE ANY, prefixes, suffixes, over strings of pattern signs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions

from tests.parity.corners.comparing import Sides, Tally
from tests.parity.corners.tables import made

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.parity.corners.comparing import Predicate

pytestmark = pytest.mark.spark

WORDS = (
    *("", "a", "b", "ab", "a_b", "a%b", "axb", "a/b", "a/_b", "a\\b", "a\\_b", "A_B", "_", "%", "/", "\\"),
    *(
        "\\\\",
        "a!b",
        "aab",
        "abb",
        "a_b ",
        " a_b",
        "a\nb",
        "a.b",
        "a*b",
        "\u00fcber",
        "\u00dcBER",
        "\u0130x",
        "\u0131x",
    ),
    *(
        "stra\u00dfe",
        "STRASSE",
        "a" * 300,
        "'a'",
        '"a"',
        "\U0001f600",
        "a\U0001f600b",
        "a\u0000b",
        None,
        None,
        None,
    ),
)
SIGNS = ("a", "a", "b", "x", "_", "%", "/", "\\", "!")
ESCAPES = ("/", "\\", "!", "%", "_", "a", "#")
EXPRESSIONS = ("^a", "a.b", "[_%]", "b$", "^a_b$", "(?i)A", "a\\\\b", "", ".*", "^\\\\Qa_b\\\\E$", "\\u00fc")
ESCAPED = "spark.sql.parser.escapedStringLiterals"


@pytest.fixture(scope="module")
def sides(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Sides:
    rows = [{"s": word, "n": place} for place, word in enumerate(sorted(WORDS, key=lambda word: word or ""))]
    statements = (
        "CREATE INDEX by_s ON t (s)",
        "CREATE INDEX stats ON t USING column_stats (s, n)",
        "CREATE INDEX filters ON t USING bloom_filters (s)",
        "CREATE INDEX low ON t USING secondary_index (lower(s))",
    )
    return Sides.of(
        made(spark, tmp_path_factory.mktemp("patterns") / "t", "s string, n int", rows, statements)
    )


def _pattern(chance: random.Random) -> str:
    if chance.random() < 0.3:
        word = chance.choice([word for word in WORDS if word])
        return word + chance.choice(("", "%", "_", "\\"))
    return "".join(chance.choice(SIGNS) for _ in range(chance.randint(0, 5)))


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'").replace("\u0000", "\\0") + "'"


def _predicate(chance: random.Random) -> Predicate:
    pattern, other, column = _pattern(chance), _pattern(chance), functions.col("s")
    no = chance.choice(("", "", "NOT "))
    forms = (
        f"s {no}LIKE {_text(pattern)} ESCAPE {_text(chance.choice(ESCAPES))}",
        f"s {no}LIKE {_text(pattern)} ESCAPE {_text(chance.choice(ESCAPES))}",
        f"s {no}LIKE {_text(pattern)}",
        f"s {no}ILIKE {_text(pattern)}",
        f"s {no}ILIKE {_text(pattern)} ESCAPE {_text(chance.choice(ESCAPES))}",
        f"s {no}RLIKE '{chance.choice(EXPRESSIONS)}'",
        f"regexp_like(s, '{chance.choice(EXPRESSIONS)}')",
        f"s {no}LIKE ANY ({_text(pattern)}, {_text(other)})",
        f"s {no}LIKE ALL ({_text(pattern)}, {_text(other)})",
        f"{no}startswith(s, {_text(pattern)})",
        f"{no}endswith(s, {_text(pattern)})",
        f"{no}contains(s, {_text(pattern)})",
        f"lower(s) {no}LIKE {_text(pattern)} ESCAPE '/'",
        f"s {no}LIKE {_text(pattern)} OR n = {chance.randrange(40)}",
        f"substring(s, 1, 1) = {_text(pattern[:1])} AND length(s) < 4",
        f"like({_text(other)}, s)",
        f"s = {_text(pattern)} OR instr(s, {_text(other)}) = 1",
        column.like(pattern),
        column.startswith(pattern),
        column.contains(pattern) | column.rlike("^b"),
        column.endswith(pattern),
        column.ilike(pattern),
    )
    return chance.choice(forms)


def _compare(sides: Sides, count: int, seed: int) -> Tally:
    tally, chance = Tally(), random.Random(seed)
    sides.compare(tally, [_predicate(chance) for _ in range(count)])
    sides.compare(tally, [_predicate(chance) for _ in range(count // 3)], {ESCAPED: "true"})
    return tally


def test_patterns_find_what_they_match(sides: Sides, capsys: pytest.CaptureFixture[str]) -> None:
    tally = _compare(sides, 40, 0)
    sides.compare_rows(tally, "s LIKE 'a%'")
    tally.check("patterns", capsys, left_out=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 3))
def test_many_patterns_find_what_they_match(
    seed: int, sides: Sides, capsys: pytest.CaptureFixture[str]
) -> None:
    _compare(sides, 180, seed).check(f"patterns, seed {seed}", capsys, left_out=0.05)
