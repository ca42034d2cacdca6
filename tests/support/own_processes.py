"""Processes that tests start in Python: forked from one that has the imports behind it.

Those of the `spawn` method import everything anew, a second of the processor and more each. The one they are
forked from has imported and done nothing else: it has no clients, no open files, and no threads of ours.
"""

from __future__ import annotations

import multiprocessing

__all__ = ["OWN_PROCESSES"]

OWN_PROCESSES = multiprocessing.get_context("forkserver")
OWN_PROCESSES.set_forkserver_preload(
    ["hudi_index", "hudi_index.metadata_table", "pyarrow.parquet", "pytest", "tests.support.tables"]
)
