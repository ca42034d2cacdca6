"""Mending damaged indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_hudi_index.job_command import JobCommand
from airflow_hudi_index.operators.job import HudiIndexJobOperator

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HudiRepairIndexesOperator"]


class HudiRepairIndexesOperator(HudiIndexJobOperator):
    """Mends whatever is damaged in the files of a table's indexes; if nothing is, no Spark is started.

    What is whole is kept, the rest is built anew. Fails, without a retry, if something is damaged still.

    Args:
        check: only look, and fail if something is damaged. (templated)
        kwargs: as of `HudiIndexJobOperator`; `backend="native"` is refused.
    """

    template_fields: Sequence[str] = (*HudiIndexJobOperator.template_fields, "check")

    def __init__(self, *, check: bool | str = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.check = check

    @property
    def only_looks(self) -> bool:
        """`check`, which a template may have made a text."""
        return (
            self.check if isinstance(self.check, bool) else self.check.strip().lower() in ("true", "1", "yes")
        )

    def skip_if_current(self, location: str) -> dict[str, Any] | None:
        """A report, if nothing is damaged."""
        if self.backend != "engine":
            return None
        report = self.hook.open(location).repair(check=True)
        return report.as_dict() if report.is_whole else None

    def command(self, location: str) -> JobCommand:
        """The job."""
        chosen = ("--check",) if self.only_looks else ()
        return JobCommand("repair", "repair.py", (*self.common_arguments(location), *chosen))
