"""Counts, existence and extremes from indexes against those of the rows that a scan gives."""

from __future__ import annotations

import math
import random
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable, ScanReport
from hudi_index.errors import (
    UnknownColumnError,
    UnsupportedPredicateError,
    UnsupportedTypeError,
    WrongTypeError,
)
from tests.engine.dataset.hostile import VALUES, make_table
from tests.support.tables import T1, T2, Fabricated, write

if TYPE_CHECKING:
    from pathlib import Path

_WORDS = {
    **dict.fromkeys(("n", "l", "b"), "{0}"),
    "f": "CAST('{0}' AS DOUBLE)",
    "r": "CAST('{0}' AS FLOAT)",
    **dict.fromkeys(("s", "city"), "'{0}'"),
    "day": "DATE '{0}'",
    "ts": "TIMESTAMP '{0}'",
    "local": "TIMESTAMP_NTZ '{0}'",
    "d": "{0}BD",
    "big": "{0:f}BD",
    "raw": "X'{0}'",
}
_SAMPLE, _LONG = 20, 3_000


@pytest.fixture(scope="module", params=["copy on write", "merge on read"])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> IndexedTable:
    path = tmp_path_factory.mktemp("t") / "t"
    return make_table(path, seed=11, is_merged=request.param == "merge on read")


def _word(name: str, value: Any) -> str:
    return _WORDS[name].format(value.hex() if isinstance(value, bytes) else value)


def _leaf(chosen: random.Random, columns: list[str]) -> str:
    name = chosen.choice(columns)
    value, other = (_word(name, chosen.choice(VALUES[name])) for _ in range(2))
    return chosen.choice(
        (
            f"{name} {chosen.choice(('=', '!=', '<', '<=', '>', '>=', '<=>'))} {value}",
            f"{name} IS {chosen.choice(('', 'NOT '))}NULL",
            f"{name} {chosen.choice(('', 'NOT '))}IN ({value}, {other})",
            f"{name} NOT IN ({value}, NULL)",
            "seat.row > 0",
            "s LIKE '%a%'",
            "s NOT LIKE 'a_b'",
            "array_contains(tags, 'rome')",
        )
    )


def _predicate(chosen: random.Random, columns: list[str], depth: int = 2) -> str:
    shape = chosen.choice(("leaf", "leaf", "and", "or", "not")) if depth else "leaf"
    if shape == "leaf":
        return _leaf(chosen, columns)
    if shape == "not":
        return f"NOT ({_predicate(chosen, columns, depth - 1)})"
    one, other = (_predicate(chosen, columns, depth - 1) for _ in range(2))
    return f"({one}) {shape.upper()} ({other})"


def _expected(values: list[Any], *, is_highest: bool) -> Any:
    """By Spark's order, in which NaN is above everything."""
    present = [each for each in values if each is not None]
    numbers = [each for each in present if not (isinstance(each, float) and math.isnan(each))]
    if is_highest and len(numbers) < len(present):
        return math.nan
    return (max if is_highest else min)(numbers) if numbers else (math.nan if present else None)


def _is_same(one: Any, other: Any) -> bool:
    return one == other or (
        isinstance(one, float) and isinstance(other, float) and one != one and other != other
    )


def _compare(table: IndexedTable, count: int) -> None:
    chosen, report = random.Random(count), ScanReport()
    columns = [name for name in VALUES if name in table.dataset().schema.names]
    saved = compared = 0
    while compared < count:
        predicate = _predicate(chosen, columns)
        try:
            rows = table.scan(predicate).read_all()
        except UnsupportedPredicateError:
            continue
        compared += 1
        before = report.file_groups - report.file_groups_read
        assert table.count(predicate, report=report) == rows.num_rows, predicate
        saved += report.file_groups - report.file_groups_read - before
        assert table.exists(predicate) is bool(rows.num_rows), predicate
        column = chosen.choice(columns)
        for is_highest, found in (
            (False, table.min(column, predicate)),
            (True, table.max(column, predicate)),
        ):
            expected = _expected(rows[column].to_pylist(), is_highest=is_highest)
            assert _is_same(found, expected), (predicate, column, is_highest)
    assert saved


def test_answers_are_those_of_the_rows(table: IndexedTable) -> None:
    _compare(table, _SAMPLE)


@pytest.mark.slow
def test_answers_are_those_of_the_rows_at_length(table: IndexedTable) -> None:
    _compare(table, _LONG)


@pytest.fixture
def numbered(tmp_path: Path) -> Fabricated:
    """Twenty file groups with ten numbers each, in order, and two regions."""
    made = Fabricated(tmp_path / "t", partition_fields="")
    for group in range(20):
        rows = [
            {"id": f"{group}-{n}", "n": group * 10 + n, "region": "eu" if n < 3 else "us"} for n in range(10)
        ]
        made.base_file("", f"g{group:02}", T1, rows)
    made.commit(T1)
    indexes = (
        "CREATE INDEX stats ON t USING column_stats (n)",
        "CREATE INDEX bits ON t USING bitmap (region)",
    )
    IndexedTable.open(made.path).create_all(indexes)
    return made


def _counted(table: IndexedTable, predicate: str) -> tuple[int, int]:
    report = ScanReport()
    return table.count(predicate, report=report), report.file_groups_read


def test_rows_are_read_only_where_indexes_cannot_tell(numbered: Fabricated) -> None:
    table = IndexedTable.open(numbered.path)
    assert _counted(table, "true") == (200, 0)
    assert _counted(table, "n >= 100") == (100, 0)
    assert _counted(table, "n >= 95") == (105, 1)
    assert _counted(table, "region = 'eu'") == (60, 0)
    assert _counted(table, "region != 'eu' AND n < 100") == (70, 0)
    assert _counted(table, "region = 'eu' OR n IS NULL") == (60, 0)
    assert _counted(table, "n > 1000") == (0, 0)
    write(numbered, T2, "late", range(3))
    assert _counted(IndexedTable.open(numbered.path), "n < 10") == (13, 1)


def test_existence_is_known_without_rows_or_by_the_first(numbered: Fabricated) -> None:
    table = IndexedTable.open(numbered.path)
    for predicate, is_there, read in (
        ("region = 'eu'", True, 0),
        ("n = 1000", False, 0),
        ("n = 57", True, 1),
    ):
        report = ScanReport()
        assert table.exists(predicate, report=report) is is_there
        assert report.file_groups_read == read


def test_extremes_read_few_file_groups_though_the_table_is_in_order(numbered: Fabricated) -> None:
    table = IndexedTable.open(numbered.path)
    report = ScanReport()
    assert table.max("n", report=report) == 199
    assert table.min("n", "region = 'us'", report=report) == 3
    assert report.file_groups_read < 16
    assert report.file_groups == 40
    assert table.max("n", "n < 55") == 54
    assert table.max("region") == "us"
    assert table.max("n", "n > 1000") is None


def test_what_makes_no_sense_is_refused(numbered: Fabricated, table: IndexedTable) -> None:
    small = IndexedTable.open(numbered.path)
    with pytest.raises(UnknownColumnError):
        small.max("m")
    for ask in (small.count, small.exists, partial(small.min, "n"), partial(small.max, "n")):
        with pytest.raises(UnknownColumnError, match="'m'"):
            ask("m = 1 AND n > 1000")
    with pytest.raises(UnsupportedTypeError, match="no order"):
        table.max("seat")
    with pytest.raises(UnsupportedPredicateError):
        small.count("upper(region) = 'EU'")
    wrong: Any = pa.table({})
    with pytest.raises(WrongTypeError):
        small.count("n = 1", report=wrong)
    assert small.count("n = 1", as_of=T1, threads=2) == 1
