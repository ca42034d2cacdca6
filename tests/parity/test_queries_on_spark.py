"""Queries through the indexes against Hudi's full scan: the same rows, whatever happened to the table.

The oracle is one scan without a filter that computes each predicate as a column, so nothing is pruned,
skipped or pushed down. Ours filters by the predicate, with push-down into Parquet off: two full scans
disagree on NaN and -0.0 with it on.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import IllegalArgumentException

from hudi_index.engine import IndexedTable
from hudi_index.errors import InvalidOptionError, UnsupportedPredicateError
from hudi_index.spark import last_plans, read_indexed
from hudi_index.spark.validate.parity import session_settings as session
from tests.lifecycle.histories import History
from tests.lifecycle.test_lifecycle_on_spark import FUNCTIONAL, STATEMENTS
from tests.parity.tables import COW, MOR, HudiTable, canonical, canonical_rows, hostile_rows
from tests.parity.test_plans_on_spark import LEAVES
from tests.parity.test_predicates_on_spark import LITERALS, OPERATORS, PATTERNS, UNWRAP_CAST, is_accepted
from tests.support.enabled import IS_LONG, catalog_frame, enabled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

TERMS = [
    *("id", "ts", "region", "day", "name", "n", "big", "ratio", "small", "flag", "price", "born", "seen"),
    *("address.city", "address.zip", "ADDRESS.Zip", "`Name`", "raw", "_hoodie_record_key"),
    *(
        "CAST(n AS DOUBLE)",
        "CAST(n AS STRING)",
        "to_date(seen)",
        "CAST(born AS TIMESTAMP)",
        "CAST(ratio AS INT)",
    ),
    *("upper(name)", "hour(seen)", "date_format(seen, 'yyyy-MM-dd')", "price + price * 2", "tags[0]"),
]
OWN = [
    *(
        "'ascii'",
        "'zürich'",
        "'日本語'",
        "'a$b,c:d'",
        "'line\\nbreak'",
        "'\\'quoted\\''",
        "'k0007'",
        "'eu'",
        "'us'",
    ),
    *("'2024-01-02'", "7", "-3", "4611686018427387894", "9999999999999999.9999", "X'0800FF'", "12"),
    *("TIMESTAMP'2024-02-29 12:00:00.000001'", "DATE'2024-02-29'", "DATE'1600-01-01'", "double('NaN')"),
]
_IDENTITY = ["_hoodie_record_key", "_hoodie_commit_seqno"]
"""Which row it is, whatever it holds: what scans give of each column is compared in `test_scans_on_spark`."""
_SAMPLE = 2
_TIME_ZONES = ("UTC", "America/New_York", "Asia/Tokyo")


def exact(time_zone: str = "UTC") -> dict[str, str]:
    """Settings under which Spark itself decides each predicate on each row."""
    return {
        "spark.sql.parquet.filterPushdown": "false",
        "spark.sql.inMemoryColumnarStorage.partitionPruning": "false",
        # It dies of a literal that overflows the column's decimal type.
        "spark.sql.optimizer.excludedRules": UNWRAP_CAST,
        "spark.sql.session.timeZone": time_zone,
    }


def _leaf(chance: random.Random) -> str:
    term, literal = chance.choice(TERMS), lambda: chance.choice(LITERALS if chance.random() < 0.5 else OWN)
    kind = chance.random()
    if kind < 0.3:
        return chance.choice(LEAVES).replace("shout =", "upper(name) =")
    if kind < 0.65:
        return f"{term} {chance.choice(OPERATORS)} {literal()}"
    if kind < 0.8:
        items = ", ".join(literal() for _ in range(chance.randint(1, 4)))
        return f"{term} {chance.choice(['IN', 'IN', 'NOT IN'])} ({items})"
    if kind < 0.87:
        return f"{term} {chance.choice(['BETWEEN', 'NOT BETWEEN'])} {literal()} AND {literal()}"
    if kind < 0.93:
        return f"{term} IS {chance.choice(['NULL', 'NOT NULL'])}"
    if kind < 0.95:
        return _membership(chance)
    if kind < 0.97:
        word = chance.choice(["startswith", "endswith", "contains"])
        return f"{word}({chance.choice(['name', 'address.city', 'id'])}, {chance.choice(OWN[:9])})"
    return f"name {chance.choice(['LIKE', 'NOT LIKE'])} {chance.choice(PATTERNS)}"


def _membership(chance: random.Random) -> str:
    one, other = (chance.choice(OWN[:6]) for _ in range(2))
    return chance.choice(
        [
            f"array_contains(tags, {one})",
            f"arrays_overlap(tags, array({one}, {other}))",
            f"exists(tags, x -> x {chance.choice(OPERATORS)} {one})",
            "exists(tags, x -> x IS NULL)",
        ]
    )


def _tree(chance: random.Random, depth: int) -> str:
    if depth == 0 or chance.random() < 0.35:
        return _leaf(chance)
    if chance.random() < 0.15:
        return f"NOT ({_tree(chance, depth - 1)})"
    return f"({_tree(chance, depth - 1)}) {chance.choice(['AND', 'AND', 'OR'])} ({_tree(chance, depth - 1)})"


def predicates(chance: random.Random, frame: DataFrame, count: int) -> list[str]:
    """Predicates of depth up to 4 that Spark accepts."""
    found: list[str] = []
    while len(found) < count:
        text = _tree(chance, 4)
        if is_accepted(frame, text):
            found.append(text)
    return found


@dataclass
class Tally:
    """What was compared, and what that saved."""

    comparisons: int = 0
    rows: int = 0
    kept: int = 0
    total: int = 0
    scanned: int = 0
    """Those that were asked without a JVM as well; the others are refused there."""
    enabled: int = 0
    """Those that were put to an enabled session as well."""
    tables: dict[str, IndexedTable] = field(default_factory=dict)
    """By path. One for all comparisons: what it remembers of a table must not be what that was before."""

    @property
    def pruned(self) -> float:
        return 1 - self.kept / self.total if self.total else 0.0

    def compare(self, hudi: HudiTable, texts: Sequence[str], as_of: str | None = None) -> None:
        """Each predicate finds through the indexes what it finds in a full scan."""
        spark = hudi.spark
        columns = [name for name in hudi.read(as_of).columns if name != "_hoodie_file_name"]
        wanted = full_scan(hudi.read(as_of), columns, texts)
        frame = read_indexed(spark, hudi.path, as_of=as_of, strict=True)
        table = self.tables.setdefault(str(hudi.path), IndexedTable.open(hudi.path))
        identity = [columns.index(name) for name in _IDENTITY]
        self._ask_an_enabled_session(hudi, columns, list(zip(texts, wanted, strict=True)), as_of)
        for text, expected in zip(texts, wanted, strict=True):
            before = last_plans(1)
            found = collected(frame.where(text).select(*columns))
            plan = last_plans(1)
            told = plan[0].explain() if plan else ""
            assert found == expected, f"{text}\nlost {expected - found}\ntoo many {found - expected}\n{told}"
            same = Counter(tuple(row[place] for place in identity) for row in expected.elements())
            self._scan(table, text, same, as_of, str(spark.conf.get("spark.sql.session.timeZone")))
            self.comparisons += 1
            self.rows += expected.total()
            if plan and plan != before:
                self.kept, self.total = self.kept + plan[0].kept, self.total + plan[0].total

    def _ask_an_enabled_session(
        self, hudi: HudiTable, columns: list[str], asked: list[tuple[str, Counter[Any]]], as_of: str | None
    ) -> None:
        """The same of the table as the catalog gives it; of a few predicates but in long runs."""
        frame = catalog_frame(hudi.spark, hudi.path, as_of)
        with enabled(hudi.spark):
            for text, expected in asked if IS_LONG else asked[:_SAMPLE]:
                found = collected(frame.where(text).select(*columns))
                assert found == expected, (
                    f"enabled: {text}\nlost {expected - found}\nextra {found - expected}"
                )
                self.enabled += 1

    def _scan(
        self, table: IndexedTable, text: str, wanted: Counter[Any], as_of: str | None, time_zone: str
    ) -> None:
        try:
            found = canonical_rows(table.scan(text, _IDENTITY, as_of=as_of, time_zone=time_zone))
        except UnsupportedPredicateError:
            return
        assert found == wanted, f"{text}\nlost {wanted - found}\ntoo many {found - wanted}"
        self.scanned += 1

    def report(self, name: str, capsys: pytest.CaptureFixture[str]) -> None:
        with capsys.disabled():
            print(  # noqa: T201
                f"\n{name}: {self.comparisons} queries equal to the full scan, {self.scanned} of them also "
                f"without a JVM, {self.enabled} in an enabled session, "
                f"{self.rows} rows, {self.total - self.kept} of {self.total} file slices "
                f"left out ({self.pruned:.0%})"
            )


def full_scan(frame: DataFrame, columns: list[str], texts: Sequence[str]) -> list[Counter[tuple[Any, ...]]]:
    flags = [f"coalesce({text}, false) AS p{place}" for place, text in enumerate(texts)]
    found: list[Counter[tuple[Any, ...]]] = [Counter() for _ in texts]
    for row in frame.selectExpr(*(f"`{name}`" for name in columns), *flags).collect():
        values = tuple(canonical(_plain(value)) for value in row[: len(columns)])
        for counter, is_true in zip(found, row[len(columns) :], strict=True):
            if is_true:
                counter[values] += 1
    return found


def collected(frame: DataFrame) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(canonical(_plain(value)) for value in row) for row in frame.collect())


def _plain(value: Any) -> Any:
    if hasattr(value, "asDict"):
        return value.asDict(recursive=True)
    return bytes(value) if isinstance(value, bytearray) else value


def _history(
    spark: SparkSession, path: Path, table_type: str, seed: int, *, rounds: int, lag: int, each: int
) -> tuple[Tally, Tally]:
    """A random history with random indexes, compared at every lag and at an earlier instant.

    Returns:
        What was compared while the indexes described the table as it was, and what at other times.
    """
    chance = random.Random(f"{table_type} {seed}")
    fresh = Tally()
    tally = Tally(tables=fresh.tables)
    hudi = HudiTable(spark, path, table_type, version=chance.choice([9, 9, 8, 6]))
    hudi.bulk_insert(hostile_rows(range(14)))
    first = hudi.bulk_insert(hostile_rows(range(14, 30), salt=2))
    table = IndexedTable.open(hudi.path)
    statements = [*STATEMENTS, *FUNCTIONAL]
    for statement in chance.sample(statements, chance.randint(4, len(statements))):
        table.sql(statement, spark=spark)
    history = History(hudi, seed)
    for _ in range(rounds):
        behind = chance.randint(0, lag)
        for step in range(behind + 1):
            if step:
                history.advance()
            with session(spark, exact(chance.choice(_TIME_ZONES))):
                (tally if step else fresh).compare(hudi, predicates(chance, hudi.read(), each))
        with session(spark, exact()):
            if _is_refused(hudi, first):
                _refuse_alike(hudi, first)
            else:
                tally.compare(hudi, predicates(chance, hudi.read(), max(1, each // 2)), as_of=first)
        table.maintain(spark=spark)
    return fresh, tally


def _is_refused(hudi: HudiTable, as_of: str) -> bool:
    """Whether Hudi has cleaned what the table was at an instant."""
    try:
        hudi.read(as_of).select("id").collect()
    except IllegalArgumentException as error:
        if "Cleaner cleaned up the timestamp of interest" not in str(error):
            raise
        return True
    return False


def _refuse_alike(hudi: HudiTable, as_of: str) -> None:
    with pytest.raises(InvalidOptionError, match="Hudi has cleaned files of that time"):
        IndexedTable.open(hudi.path).scan("true", as_of=as_of)
    with pytest.raises(InvalidOptionError, match="Hudi has cleaned files of that time"):
        read_indexed(hudi.spark, hudi.path, as_of=as_of)


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_queries_through_the_indexes_equal_the_full_scan(
    table_type: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type)
    hudi.bulk_insert(hostile_rows(range(14)))
    first = hudi.bulk_insert(hostile_rows(range(14, 30), salt=2))
    table = IndexedTable.open(hudi.path)
    for statement in STATEMENTS:
        table.sql(statement)
    chance, tally = random.Random(table_type), Tally()
    with session(spark, exact("America/New_York")):
        tally.compare(hudi, predicates(chance, hudi.read(), 14))
    assert tally.pruned > 0.2
    assert tally.scanned > 0
    hudi.upsert(hostile_rows(range(0, 30, 7), ts=5, salt=4))
    hudi.delete(hostile_rows([3, 4]))
    with session(spark, exact()):
        tally.compare(hudi, predicates(chance, hudi.read(), 8))
        tally.compare(hudi, predicates(chance, hudi.read(), 4), as_of=first)
    tally.report(f"queries, {table_type}", capsys)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("table_type", [COW, MOR])
def test_queries_equal_the_full_scan_over_random_histories(
    table_type: str, seed: int, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fresh, others = _history(spark, tmp_path / "t", table_type, seed, rounds=3, lag=5, each=8)
    fresh.report(f"queries, {table_type}, seed {seed}, indexes fresh", capsys)
    others.report(f"queries, {table_type}, seed {seed}, behind or of an earlier instant", capsys)
    # Only then: a few writes to as few file groups leave none that the indexes describe.
    assert fresh.pruned > 0.05
    assert fresh.scanned > 0


LONG = "s" + "x" * 5000
LOST_BY_HUDI = (
    ("name like 'p%'", 5),
    ("v > 1", 8),
    ("v >= 8", 3),
    ("v = 'NaN'", 1),
    ("s > 's'", 10),
    ("s like 's%'", 9),
    ("s is not null", 10),
    ("v < 3 or name like 'z%'", 8),
    ("g = 1 and v > 2", 4),
)


@pytest.fixture(scope="module")
def lossy(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> HudiTable:
    """Ten rows in three bulk inserts, one NaN, one string of 5,000 characters: Hudi 1.2.0 loses some."""
    path = tmp_path_factory.mktemp("lossy") / "t"
    schema = "id string, ts bigint, g int, name string, v double, s string"
    hudi = HudiTable(spark, path, COW, partition_by="g", schema=schema)
    rows = [
        {"id": f"k{place}", "ts": 1, "g": g, "name": name, "v": v, "s": s}
        for place, (g, name, v, s) in enumerate(
            [
                *((0, "pa", 0.5, "s0"), (0, "pb", 1.0, "s1"), (1, "q", 1.5, "s2"), (0, "r", 2.0, "s3")),
                *((1, "pc", 2.5, LONG), (1, "pd", float("nan"), "s5"), (0, "q", 2.0, "t")),
                *((1, "pe", 2.8, "s7"), (0, "z", 8.0, "s8"), (1, "y", 9.0, "s9")),
            ]
        )
    ]
    for part in (rows[:4], rows[4:7], rows[7:]):
        hudi.bulk_insert(part)
    table = IndexedTable.open(path)
    table.sql("CREATE INDEX stats ON t USING column_stats (name, v, s)")
    table.sql("CREATE INDEX by_name ON t (name)")
    return hudi


@pytest.mark.parametrize(("predicate", "count"), LOST_BY_HUDI, ids=[text for text, _ in LOST_BY_HUDI])
def test_predicates_that_lose_rows_in_hudi_lose_none(
    predicate: str, count: int, spark: SparkSession, lossy: HudiTable
) -> None:
    with session(spark, exact()):
        (wanted,) = full_scan(lossy.read(), ["id"], [predicate])
        found = collected(read_indexed(spark, lossy.path, strict=True).where(predicate).select("id"))
    assert found == wanted
    assert found.total() == count
