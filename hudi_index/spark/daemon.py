"""The process that Spark forks its Python workers from, with what they need already imported.

Set by `spark.python.daemon.module`. A worker imports the engine, Arrow and pandas in two to three seconds of
CPU, and a session starts a dozen of them; forked from here they have them at once. Nothing that is imported
runs threads of its own which a fork would lose (jemalloc and OpenBLAS see to theirs).

Each Python task also makes all path importers forget what they know, and those of zip files read their
directory again at once. Spark ships its own Python as such a file; here all of it is imported before, so
the importers are not needed any more. What is imported later makes new ones.

After each task a worker collects garbage, among all that was ever imported, and so gets its own copy of that
memory: some 0.03 s a task. What is here before the fork is no garbage, so it is set aside.

The package has to be installed for whichever Python the executors run: an archive or `--py-files` comes too
late, since files of the job reach a worker after its fork.
"""

from __future__ import annotations

import gc
import sys

import pyspark.sql.pandas.functions
import pyspark.sql.pandas.serializers
import pyspark.sql.pandas.types
import pyspark.worker  # noqa: F401
from pyspark import daemon

import hudi_index.spark.build.executor
import hudi_index.spark.validate.on_spark  # noqa: F401


def _forget_zip_files() -> None:
    for path in list(sys.path_importer_cache):
        if ".zip" in path or ".jar" in path:
            del sys.path_importer_cache[path]


if __name__ == "__main__":
    _forget_zip_files()
    gc.freeze()
    daemon.manager()  # type: ignore[no-untyped-call]
