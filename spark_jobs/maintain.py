"""Bring all indexes of a table up to its newest commit: spark-submit maintain.py --table PATH.

With `--backend native` there is nothing to do: Hudi's writers maintain Hudi's own indexes.
"""

from __future__ import annotations

import sys

from hudi_index.spark.job import job_parser, native_of, run_job

if __name__ == "__main__":
    sys.exit(
        run_job(
            job_parser(__doc__),
            lambda table, asked, spark: (
                native_of(table, spark).maintain()
                if asked.backend == "native"
                else table.maintain(spark=spark)
            ),
        )
    )
