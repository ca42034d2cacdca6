"""Create an index: spark-submit initialize.py --table PATH --statement "CREATE INDEX …".

REBUILD INDEX is taken as well. Creating one that an earlier run left unfinished starts it over.
"""

from __future__ import annotations

import sys

from hudi_index.spark.job import checked_report, job_parser, run_job

if __name__ == "__main__":
    parser = job_parser(__doc__)
    parser.add_argument("--statement", required=True, help="CREATE INDEX or REBUILD INDEX …")
    sys.exit(
        run_job(parser, lambda table, asked, spark: checked_report(table.sql(asked.statement, spark=spark)))
    )
