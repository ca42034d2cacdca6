"""Create indexes: spark-submit initialize.py --table PATH --statement "CREATE INDEX …" [--statement …].

Several are built in one pass over the table and one commit. A single REBUILD INDEX is taken as well.
Creating one that an earlier run left unfinished starts it over. With `--backend native` Hudi creates the
index, as one of its own: one statement at a time.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hudi_index.errors import UserError
from hudi_index.spark.job import check_report, job_parser, native_of, run_job

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from hudi_index import IndexedTable
    from hudi_index.spark.job import Report


def create(table: IndexedTable, asked: argparse.Namespace, spark: SparkSession) -> Report:
    """Carry out the statements."""
    if asked.backend == "native":
        if len(asked.statements) > 1:
            raise UserError("Hudi creates one index at a time: give --backend native one --statement")
        return native_of(table, spark).run_statement(asked.statements[0])
    if len(asked.statements) > 1:
        return table.create_all(asked.statements, spark=spark)
    return check_report(table.sql(asked.statements[0], spark=spark))


if __name__ == "__main__":
    parser = job_parser(__doc__)
    parser.add_argument(
        "--statement",
        action="append",
        required=True,
        dest="statements",
        help="CREATE INDEX …, which may be repeated, or REBUILD INDEX …",
    )
    sys.exit(run_job(parser, create))
