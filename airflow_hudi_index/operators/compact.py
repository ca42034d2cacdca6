"""Compacting the index metadata table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_hudi_index.arguments import check_names, check_truth
from airflow_hudi_index.job_command import JobCommand, argument
from airflow_hudi_index.operators.job import HudiIndexJobOperator

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HudiCompactIndexesOperator"]


class HudiCompactIndexesOperator(HudiIndexJobOperator):
    """Compacts the index metadata table where that is due; if it is nowhere due, no Spark is started.

    Args:
        partitions: only these partitions of the index metadata table. (templated)
        force: also what is not due. (templated)
        kwargs: as of `HudiIndexJobOperator`.
    """

    template_fields: Sequence[str] = (*HudiIndexJobOperator.template_fields, "partitions", "force")

    def __init__(
        self, *, partitions: str | list[str] | None = None, force: bool | str = False, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.partitions = partitions
        self.force = force

    @property
    def is_forced(self) -> bool:
        """`force`, which a template may have made a text."""
        return check_truth("force", self.force)

    def skip_if_current(self, location: str) -> dict[str, Any] | None:
        """A report, if nothing is due."""
        if self.backend != "engine" or self.is_forced:
            return None
        from hudi_index.jobs import JobReport

        status = self.hook.open(location).status()
        if any(each.due for each in status.indexes):
            return None
        return JobReport(
            "compact", status.table, instant=status.indexed_instant, notes=["no partition is due"]
        ).as_dict()

    def command(self, location: str) -> JobCommand:
        """The job."""
        one = isinstance(self.partitions, str)
        named = check_names("partitions", [self.partitions] if one else self.partitions) or ()
        chosen = (argument("partition", each) for each in named)
        forced = ("--force",) if self.is_forced else ()
        return JobCommand("compact", "compact.py", (*self.common_arguments(location), *chosen, *forced))
