"""The command line starts Spark only where something needs it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from tests.support.forked import run_forked
from tests.support.tables import T1, Fabricated

if TYPE_CHECKING:
    from pathlib import Path

CODE = """
import sys
from hudi_index.cli import main
code = main(sys.argv[1:])
from pyspark import SparkContext
sys.exit(code or int(SparkContext._gateway is not None))
"""


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = Fabricated(tmp_path_factory.mktemp("tables") / "t", partition_fields="")
    made.commit(T1)
    made.base_file("", "a", T1, [{"id": "a", "n": 1, "region": "eu"}])
    IndexedTable.open(made.path).sql("CREATE INDEX by_n ON t (n)")
    return made.path


@pytest.mark.parametrize(
    "asked",
    [
        ["sql", "SHOW INDEXES ON t"],
        ["sql", "CREATE INDEX IF NOT EXISTS by_n ON t (n)"],
        ["maintain"],
        ["compact"],
        ["repair"],
    ],
    ids=" ".join,
)
def test_what_needs_no_spark_starts_none(asked: list[str], table: Path) -> None:
    verb, *rest = asked
    done = run_forked(CODE, verb, "--table", str(table), *rest)
    assert done.code == 0, done
