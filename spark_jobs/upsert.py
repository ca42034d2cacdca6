"""Write rows through a table's record index, once: spark-submit upsert.py --table PATH --source PATH.

All indexes are brought to the new commit in the same step. With `--writer` and `--batch` a batch that was
committed is not written again, only its indexes are finished.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hudi_index.errors import UserError
from hudi_index.spark import delete, upsert
from hudi_index.spark.job import job_parser, run_job
from hudi_index.spark.write.source import source_rows
from hudi_index.writer.arguments import add_write_arguments, pairs_of, settings_of

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from hudi_index import IndexedTable
    from hudi_index.spark import WriteReport


def write(table: IndexedTable, asked: argparse.Namespace, spark: SparkSession) -> WriteReport:
    """Read the rows and write them."""
    if asked.backend == "native":
        raise UserError("Hudi's own indexes are kept by Hudi's own writer: write with that")
    settings, options = settings_of(asked), pairs_of("--source-option", asked.source_option)
    rows = source_rows(spark, asked.source, asked.format, schema=asked.schema, options=options)
    return (delete if asked.operation == "delete" else upsert)(rows, table, **settings)


if __name__ == "__main__":
    parser = job_parser(__doc__)
    add_write_arguments(parser)
    sys.exit(run_job(parser, write))
