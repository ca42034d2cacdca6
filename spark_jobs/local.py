"""Run a job on a Spark session of this machine: python local.py [--cores N] [--conf K=V …] JOB.py ….

For jobs that no cluster is wanted for: Java is found, and Hudi's bundle is on the class path. The session is
started when the job first needs it: one that finds nothing to do is over before Spark would be up.
Everybody on this machine can read what stands behind `--conf`. Settings that nobody should read belong into a
file, as a JSON object, that the environment variable HUDI_INDEX_SETTINGS names; it is removed once read. Its
member `storage_options`, an object too, says how to reach the table; JOB.py takes `--storage-options-file`
instead.
"""

from __future__ import annotations

import argparse
import runpy
import sys

from hudi_index.spark.job import private_settings, start_session_by
from hudi_index.spark.runtime.session import local_session


def _cores(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1")
    return int(text)


def _setting(text: str) -> tuple[str, str]:
    name, given, value = text.partition("=")
    if not given:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    return name, value


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=_cores, default=2, help="threads that run tasks")
    parser.add_argument(
        "--conf", type=_setting, action="append", default=[], help="a Spark setting, KEY=VALUE"
    )
    parser.add_argument("job", help="the script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments")
    asked = parser.parse_args()
    settings = {"spark.log.level": "WARN", **dict(asked.conf), **private_settings()}
    start_session_by(
        lambda table, options: local_session(
            cores=asked.cores, settings=settings, table=table, storage_options=options
        )
    )
    sys.argv = [asked.job, *asked.arguments]
    runpy.run_path(asked.job, run_name="__main__")
