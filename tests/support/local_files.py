"""Permissions of local files, set and read by Java itself.

Without its native library Hadoop runs `chmod` for each file that it makes, and `ls` for many that it looks
at. Of a bulk insert of a dozen rows the former were a seventh of the processor's time; of an upsert over a
hundred file groups both were three hundred processes. The permissions are the same. It is for speed only,
and for the Java of tests and benchmarks.
"""

from __future__ import annotations

from typing import Any

from hudi_index.spark.catalyst.trees import compile_source

__all__ = ["use_local_files"]

_SOURCE, _CLASS = "LocalFiles.java", "tests.support.LocalFiles"


def use_local_files(gateway: Any) -> None:
    """Let all of this Java use them from here on."""
    java = gateway.jvm
    beneath = java.java.lang.Thread.currentThread().getContextClassLoader()
    loader = compile_source(gateway, beneath, _SOURCE, package=__package__)
    loader.loadClass(_CLASS).newInstance().use(java.org.apache.hadoop.conf.Configuration())
