"""Mend whatever is damaged in the files of a table's indexes: spark-submit repair.py --table PATH [--check].

Exit code 3 if something is damaged still: with `--check`, which only looks, if anything is.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hudi_index.errors import UserError
from hudi_index.spark.job import job_parser, run_job

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from hudi_index import IndexedTable
    from hudi_index.spark.job import Report


def repair(table: IndexedTable, asked: argparse.Namespace, spark: SparkSession) -> Report:
    """Look, and mend."""
    if asked.backend == "native":
        raise UserError("Hudi's own indexes are mended by Hudi: drop and create them")
    return table.repair(check=asked.check, spark=spark)


if __name__ == "__main__":
    parser = job_parser(__doc__)
    parser.add_argument("--check", action="store_true", help="only look")
    sys.exit(run_job(parser, repair))
