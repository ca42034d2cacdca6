"""The keys that a condition leaves in DuckDB, DataFusion and Polars, over a dataset or over plain rows.

DuckDB keeps comparisons that it and Arrow disagree about to itself, so its plain rows are a table. Polars and
DataFusion let Arrow compare floating-point numbers, in any dataset: theirs are a dataset in memory.
"""

from __future__ import annotations

import atexit
from functools import cache
from typing import TYPE_CHECKING, Any

import datafusion
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import sqlglot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hudi_index.dataset import IndexedDataset

__all__ = ["ENGINES", "EngineParity"]


@cache
def _duckdb() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'America/New_York'")
    # What is still there when Python ends is reported as leaked.
    atexit.register(_duckdb.cache_clear)
    return connection


def _in_duckdb(rows: Any, condition: str) -> list[str]:
    connection = _duckdb()
    connection.register("t", rows)
    try:
        found = connection.execute(f"SELECT id FROM t WHERE {condition} ORDER BY id").fetchall()
    finally:
        connection.unregister("t")
    return [key for (key,) in found]


def _in_datafusion(rows: Any, condition: str) -> list[str]:
    context = datafusion.SessionContext()
    context.register_dataset("t", ds.dataset(rows) if isinstance(rows, pa.Table) else rows)
    found = context.sql(f"SELECT id FROM t WHERE {condition}").to_arrow_table()
    return [str(key) for key in found.sort_by("id")["id"].to_pylist()]


def _in_polars(rows: Any, condition: str) -> list[str]:
    frame = pl.scan_pyarrow_dataset(ds.dataset(rows) if isinstance(rows, pa.Table) else rows)
    found = pl.SQLContext(t=frame).execute(f"SELECT id FROM t WHERE {condition}").collect()
    return sorted(found["id"].to_list())


ENGINES: dict[str, Callable[[Any, str], list[str]]] = {
    "duckdb": _in_duckdb,
    "datafusion": _in_datafusion,
    "polars": _in_polars,
}


class EngineParity:
    """Compares an engine's rows with indexes and without; counts what it has words for."""

    def __init__(self, engine: str) -> None:
        self._run = ENGINES[engine]
        self._dialect = "duckdb" if engine == "duckdb" else "postgres"
        self.compared = self.asked = 0

    def check(self, dataset: IndexedDataset, rows: pa.Table, conditions: Iterable[str]) -> None:
        """Compare conditions in the engine's own words."""
        for condition in conditions:
            self.asked += 1
            try:
                expected = self._run(rows, condition)
            # Each engine has errors of its own for what it has no words for; Polars panics at some.
            except (Exception, pl.exceptions.PanicException):  # noqa: BLE001
                continue
            assert self._run(dataset, condition) == expected, condition
            self.compared += 1

    def check_spark(self, dataset: IndexedDataset, rows: pa.Table, predicates: Iterable[str]) -> None:
        """Compare predicates in Spark's words, translated: also what they mean elsewhere must be the same."""
        translated = (sqlglot.transpile(each, read="spark", write=self._dialect)[0] for each in predicates)
        self.check(dataset, rows, translated)
