"""Bring all indexes of a table up to its newest commit: spark-submit maintain.py --table PATH."""

from __future__ import annotations

import sys

from hudi_index.spark.job import job_parser, run_job

if __name__ == "__main__":
    sys.exit(run_job(job_parser(__doc__), lambda table, _, spark: table.maintain(spark=spark)))
