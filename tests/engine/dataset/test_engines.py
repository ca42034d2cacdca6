"""The same query in DuckDB, DataFusion and Polars over a dataset and over the plain rows."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow.dataset as ds
import pytest

from hudi_index import ScanReport
from tests.engine.dataset.conditions import HOSTILE
from tests.engine.dataset.hostile import NAN, VALUES, make_table, plain_rows
from tests.support.engines import ENGINES, EngineParity

if TYPE_CHECKING:
    import pyarrow as pa

    from hudi_index import IndexedTable

_SAMPLE, _LONG = 15, 1_000
_WORDS = {
    "n": "{0}",
    "l": "{0}",
    "f": "CAST('{0}' AS DOUBLE)",
    "r": "CAST('{0}' AS REAL)",
    "s": "'{0}'",
    "city": "'{0}'",
    "b": "{0}",
    "day": "DATE '{0}'",
    "ts": "TIMESTAMPTZ '{0}'",
    "local": "TIMESTAMP '{0}'",
    "d": "CAST('{0}' AS DECIMAL(10,2))",
    "big": "CAST('{0}' AS DECIMAL(38,10))",
}
_ODD = (
    *("n = 7.0", "n > 0.5", "l = 9007199254740993", "CAST(n AS BIGINT) = 7", "CAST(n AS DOUBLE) < 0.5"),
    *(
        "d = 1.5",
        "d > 1",
        "d IN (1.50, 99999999.99)",
        "CAST(d AS DOUBLE) = 1.5",
        "n IN (1, NULL)",
        "n NOT IN (1, NULL)",
    ),
    *(
        "NOT (n = 1)",
        "n = 1 OR n IS NULL",
        "(n = 1) IS NULL",
        "s LIKE 'a%'",
        "s NOT LIKE '%b'",
        "lower(s) = 'a'",
    ),
    *(
        "s > 'Z'",
        "f = 0",
        "f = -0.0",
        "f > 1",
        "f <= 1",
        "NOT (f > 1)",
        "f != f",
        "f BETWEEN -1 AND 1",
        "f IS NOT NULL",
    ),
    *(
        "day BETWEEN DATE '1970-01-01' AND DATE '2024-12-31'",
        "n = l",
        "coalesce(n, 7) = 7",
        "n + 1 = 8",
        "b",
        "NOT b",
    ),
    *(
        "n IN (1, 7, 2147483647)",
        "city IN ('paris', 'rome')",
        "city = 'paris' AND b",
        "city != 'paris'",
        "s = ''",
    ),
    *("n IS DISTINCT FROM 7", "n IS NOT DISTINCT FROM NULL", "false", "true", "n = NULL", "r = 1.5", "r > 0"),
)


def _leaf(chosen: random.Random, columns: list[str]) -> str:
    if chosen.random() < 0.4:
        return chosen.choice(_ODD)
    name = chosen.choice(columns)
    value = _WORDS[name].format(str(chosen.choice(VALUES[name])).replace("'", "''"))
    kind = chosen.choice(("compare", "compare", "null", "in"))
    if kind == "null":
        return f"{name} IS {chosen.choice(('', 'NOT '))}NULL"
    if kind == "in":
        other = _WORDS[name].format(chosen.choice(VALUES[name]))
        return f"{name} {chosen.choice(('', 'NOT '))}IN ({value}, {other})"
    return f"{name} {chosen.choice(('=', '<>', '<', '<=', '>', '>='))} {value}"


def _condition(chosen: random.Random, columns: list[str], depth: int = 2) -> str:
    shape = chosen.choice(("leaf", "and", "or", "not")) if depth else "leaf"
    if shape == "leaf":
        return _leaf(chosen, columns)
    if shape == "not":
        return f"NOT ({_condition(chosen, columns, depth - 1)})"
    one, other = (_condition(chosen, columns, depth - 1) for _ in range(2))
    return f"({one}) {shape.upper()} ({other})"


@pytest.fixture(scope="module", params=["copy on write", "merge on read"])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[IndexedTable, pa.Table]:
    table = make_table(tmp_path_factory.mktemp("t") / "t", seed=5, is_merged=request.param == "merge on read")
    return table, plain_rows(table)


def _compare(both: tuple[IndexedTable, pa.Table], engine: str, count: int) -> None:
    table, rows = both
    chosen, parity, report = random.Random(count), EngineParity(engine), ScanReport()
    # Zones and NaN in texts are not in Polars' SQL; bytes are written otherwise in each.
    left_out = {"raw"} | ({"ts", "local", "f", "r", "day", "d", "big"} if engine == "polars" else set())
    columns = [name for name in VALUES if name in rows.column_names and name not in left_out]
    conditions = [*_ODD, *(_condition(chosen, columns) for _ in range(count))]
    conditions += chosen.sample(HOSTILE, min(len(HOSTILE), 2 * count))
    parity.check(table.dataset(report=report), rows, conditions)
    assert parity.compared > len(conditions) / 2
    assert report.file_groups_read < report.file_groups


@pytest.mark.parametrize("engine", ENGINES)
def test_engines_find_the_same_rows_with_indexes_and_without(both: Any, engine: str) -> None:
    _compare(both, engine, _SAMPLE)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_engines_find_the_same_rows_with_indexes_and_without_at_length(both: Any, engine: str) -> None:
    _compare(both, engine, _LONG)


def test_polars_expressions_find_the_same_rows(both: Any) -> None:
    table, rows = both
    column, report = pl.col, ScanReport()
    conditions = [
        *(column("n") == 7, column("n").is_in([1, 7]), column("n").is_in([1, None]), ~(column("n") == 7)),
        *(
            column("f") > 1,
            column("f").is_nan(),
            column("f") == NAN,
            column("f").is_in([0.0]),
            column("f") <= 1,
        ),
        *(column("s").str.starts_with("a"), column("s") == "", column("city").is_in(["rome"]), column("b")),
        *(
            column("n").is_null(),
            column("n").is_between(0, 7),
            column("n").eq_missing(None),
            column("r") == 1.5,
        ),
        *(column("day") >= VALUES["day"][0], column("ts") < VALUES["ts"][1], column("d") == VALUES["d"][2]),
        *(
            column("seat").struct.field("row") == 7,
            column("n") == column("l"),
            column("n").cast(pl.Int64) == 7,
        ),
    ]
    for condition in conditions:
        frames = map(pl.scan_pyarrow_dataset, (ds.dataset(rows), table.dataset(report=report)))
        expected, found = (each.filter(condition).select("id").collect()["id"].sort() for each in frames)
        assert found.to_list() == expected.to_list(), str(condition)
    assert report.file_groups_read < report.file_groups


def test_a_query_over_several_scans_sees_one_snapshot(both: Any) -> None:
    table, rows = both
    trips = table.dataset()
    query = "SELECT count(*) FROM {0} a JOIN {0} b ON a.id = b.id WHERE a.city = 'paris'"
    with duckdb.connect() as connection:
        connection.register("trips", trips)
        connection.register("plain", rows)
        assert (
            connection.sql(query.format("trips")).fetchall()
            == connection.sql(query.format("plain")).fetchall()
        )


def test_a_limit_leaves_nothing_behind(both: Any) -> None:
    table, _ = both
    report = ScanReport()
    trips = table.dataset(report=report)
    assert len(duckdb.execute("SELECT id FROM trips LIMIT 1").fetchall()) == 1
    assert len(trips.to_table(columns=["id"]).to_pandas()) == trips.count_rows()
