"""The command line of a job: a script of `airflow_hudi_index.spark_jobs` and arguments, no shell's."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["JobCommand", "argument"]


def argument(name: str, value: object) -> str:
    """`--name=value`: in one word, so that a value with a dash in front can't be taken for another option."""
    return f"--{name}={value}"


def _scripts() -> Path:
    spec = importlib.util.find_spec("airflow_hudi_index.spark_jobs")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(
            "airflow_hudi_index.spark_jobs is not installed; install the distribution airflow-hudi-index"
        )
    return Path(spec.origin).parent


@dataclass(frozen=True)
class JobCommand:
    """What to run, without saying where."""

    verb: str
    script: str
    arguments: tuple[str, ...]

    @property
    def application(self) -> str:
        """The script's file, for spark-submit."""
        return str(_scripts() / self.script)

    def with_arguments(self, *more: str) -> JobCommand:
        """The same with further arguments."""
        return JobCommand(self.verb, self.script, (*self.arguments, *more))

    def on_this_machine(self, *, cores: int) -> list[str]:
        """The whole command that runs it on a Spark session of its own; settings go by `LocalJob.start`."""
        runner = [sys.executable, str(_scripts() / "local.py"), argument("cores", cores)]
        return [*runner, self.application, *self.arguments]
