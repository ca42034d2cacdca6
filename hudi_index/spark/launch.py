"""Runs a PySpark program with every session that it starts enabled, without a change to the program.

    spark-submit --packages … "$(python -m hudi_index.spark.launch)" program.py arguments …

Without a program it prints its own path, for spark-submit, which takes files and no module names. A program
that is started so finds its arguments, its folder and its name as if it had been started itself.
"""

from __future__ import annotations

import functools
import logging
import runpy
import sys
from pathlib import Path
from typing import Any

__all__ = ["main"]

log = logging.getLogger(__name__)


def main(arguments: list[str]) -> None:
    """Run the program, or say where this file is."""
    if not arguments:
        sys.stdout.write(f"{Path(__file__).resolve()}\n")
        return
    program = arguments[0]
    sys.argv = list(arguments)
    # In the place of this file's own folder, whose names are no modules of the program's.
    sys.path[0] = str(Path(program).resolve().parent)
    _enable_sessions()
    runpy.run_path(program, run_name="__main__")


def _enable_sessions() -> None:
    """Have each session enabled as soon as Python has it."""
    # Not above: until the path is the program's, a name in this folder would be found first.
    from pyspark.sql import SparkSession

    started = SparkSession.__init__

    @functools.wraps(started)
    def start(self: Any, *given: Any, **named: Any) -> None:
        started(self, *given, **named)
        try:
            from hudi_index.spark.session_rule.families import switch_of
            from hudi_index.spark.session_rule.switch import enable

            # Once: a program that has disabled a session finds it so in those made of it, too.
            if not switch_of(self).wasOn():
                enable(self)
        except Exception:
            # A program that would have run must run.
            log.warning("this session is not enabled: its queries are as they were", exc_info=True)

    SparkSession.__init__ = start  # type: ignore[method-assign]


if __name__ == "__main__":
    main(sys.argv[1:])
