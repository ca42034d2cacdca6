"""Drop an index: spark-submit drop.py --table PATH --index NAME [--if-exists]."""

from __future__ import annotations

import sys

from hudi_index.spark.job import job_parser, native_of, run_job

if __name__ == "__main__":
    parser = job_parser(__doc__)
    parser.add_argument("--index", required=True, help="the index")
    parser.add_argument("--if-exists", action="store_true", help="none of that name is fine")
    sys.exit(
        run_job(
            parser,
            lambda table, asked, spark: (
                native_of(table, spark) if asked.backend == "native" else table
            ).drop(asked.index, if_exists=asked.if_exists),
        )
    )
