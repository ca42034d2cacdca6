"""Bringing indexes up to date."""

from __future__ import annotations

from typing import Any

from airflow_hudi_index.job_command import JobCommand
from airflow_hudi_index.operators.job import HudiIndexJobOperator

__all__ = ["HudiMaintainIndexesOperator"]


class HudiMaintainIndexesOperator(HudiIndexJobOperator):
    """Brings all indexes of a table up to its newest commit.

    It works from what is indexed, never from the event that started it, so one run catches up with any
    number of commits, and a run with nothing to do starts no Spark. With `backend="native"` there is never
    anything to do: each commit of Hudi's writers maintains Hudi's own indexes.
    """

    def skip_if_current(self, location: str) -> dict[str, Any] | None:
        """A report, if the indexes describe the newest commit, or are Hudi's own."""
        from hudi_index.jobs import JobReport

        if self.backend == "native":
            note = "Hudi's writers maintain Hudi's own indexes with each commit: nothing to do"
            return JobReport("maintain", self.hook.open(location).storage.uri, notes=[note]).as_dict()
        status = self.hook.open(location).status()
        if not status.is_fresh or status.latest_instant != status.indexed_instant:
            return None
        note = f"all indexes are at {status.latest_instant} already"
        return JobReport("maintain", status.table, instant=status.latest_instant, notes=[note]).as_dict()

    def command(self, location: str) -> JobCommand:
        """The job."""
        return JobCommand("maintain", "maintain.py", self.common_arguments(location))
