"""The job that writes: what its command line means, and what it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hudi_index import IndexedTable
from hudi_index.errors import InvalidOptionError, UserError
from hudi_index.spark.job import job_parser
from hudi_index.writer.arguments import add_write_arguments
from spark_jobs.upsert import write
from tests.parity.tables import COW, HudiTable

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

_SCHEMA = "id string, ts bigint, region string"


def _asked(*arguments: str) -> argparse.Namespace:
    parser = job_parser("")
    add_write_arguments(parser)
    return parser.parse_args(["--table=/t", *arguments])


def test_rows_of_files_are_written_once(spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW, schema=_SCHEMA)
    hudi.bulk_insert([{"id": f"k{i}", "ts": 1, "region": "eu"} for i in range(4)])
    table = IndexedTable.open(hudi.path)
    table.create_all(["CREATE INDEX records ON t USING record_index (id)"])
    for name, keys in (("a", "k1;2;us;false"), ("b", "k3;2;eu;true")):
        (tmp_path / f"{name}.csv").write_text(f"id;ts;region;gone\n{keys}\n")
    sources = [f"--source={tmp_path / name}.csv" for name in ("a", "b")]
    told = _asked(
        *sources,
        *("--format=csv", "--source-option=header=true", "--source-option=sep=;", "--deletes=gone"),
        *(f"--schema={_SCHEMA}, gone boolean", "--writer=w", "--batch=7"),
        *("--option=hoodie.upsert.shuffle.parallelism=2", "--option=hoodie.embed.timeline.server=false"),
    )
    first, again = write(table, told, spark), write(table, told, spark)
    assert (first.counts.moved, first.counts.deleted, first.is_repeated) == (1, 1, False)
    assert (again.instant, again.is_repeated) == (first.instant, True)
    # The keys of another table, by its name.
    spark.createDataFrame([("k0",), ("absent",)], "id string").createOrReplaceTempView("keys_to_delete")
    deleted = write(
        table,
        _asked("--source=keys_to_delete", "--format=table", "--operation=delete", "--index=async"),
        spark,
    )
    assert (deleted.verb, deleted.counts.deleted, deleted.counts.absent) == ("delete", 1, 1)
    assert deleted.index_commit is None
    found = sorted((row.id, row.region) for row in hudi.read().collect())
    assert found == [("k1", "us"), ("k2", "eu")]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--source=/absent"], "'--source' = '/absent'.*PATH_NOT_FOUND"),
        (["--source=no.such.name", "--format=table"], "'--source' = 'no.such.name'"),
        (["--source=a", "--source=b", "--format=table"], "a table is one"),
        (["--source=/x", "--schema=what is this"], "'--source' = '/x'"),
        (["--source=/x", "--operation=delete", "--deletes=gone"], "all rows of a delete"),
        (["--source=/x", "--option=nonsense"], "expected NAME=VALUE"),
        (["--source=/x", "--option=hoodie.password=hunter2"], "everybody on this machine"),
        (["--source=/x", "--source-option=url=jdbc://a:hunter2@b/c"], "everybody on this machine"),
    ],
)
def test_what_can_not_be_is_refused(spark: SparkSession, arguments: list[str], reason: str) -> None:
    table: Any = None  # nobody gets so far
    with pytest.raises(InvalidOptionError, match=reason) as raised:
        write(table, _asked(*arguments), spark)
    assert "hunter2" not in str(raised.value)


def test_hudis_own_indexes_are_not_for_this_writer(spark: SparkSession) -> None:
    table: Any = None
    with pytest.raises(UserError, match="Hudi's own writer"):
        write(table, _asked("--source=/x", "--backend=native"), spark)
