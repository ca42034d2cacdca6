"""Compact a table's index metadata table where that is due: spark-submit compact.py --table PATH.

With `--backend native` it is Hudi's own metadata table, all of it.
"""

from __future__ import annotations

import sys

from hudi_index.spark.job import job_parser, native_of, run_job

if __name__ == "__main__":
    parser = job_parser(__doc__)
    parser.add_argument("--partition", action="append", help="only this partition; may be repeated")
    parser.add_argument("--force", action="store_true", help="also what is not due")
    sys.exit(
        run_job(
            parser,
            lambda table, asked, spark: (
                native_of(table, spark).compact()
                if asked.backend == "native"
                else table.compact(partitions=asked.partition, force=asked.force, spark=spark)
            ),
        )
    )
