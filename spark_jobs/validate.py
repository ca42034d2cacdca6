"""Prove a table's indexes right, or find the faulty ones: spark-submit validate.py --table PATH.

Exit code 3 if something is wrong; the report says what.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hudi_index.predicate.session import TIME_ZONE
from hudi_index.spark.job import job_parser, native_of, run_job
from hudi_index.validation.arguments import add_validation_arguments, request_of, write_page

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from hudi_index.engine import IndexedTable
    from hudi_index.validation import ValidationReport


def validate(table: IndexedTable, asked: argparse.Namespace, spark: SparkSession) -> ValidationReport:
    """Run the validation and write its page."""
    request = request_of(asked, time_zone=str(spark.conf.get(TIME_ZONE)))
    if asked.backend == "native":
        report = native_of(table, spark).validate(request)
    else:
        report = table.validate(request, spark=spark)
    write_page(report, asked.html, asked.storage_options)
    return report


if __name__ == "__main__":
    parser = job_parser(__doc__)
    add_validation_arguments(parser)
    sys.exit(run_job(parser, validate))
