"""Dropping indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow_hudi_index.job_command import JobCommand, argument
from airflow_hudi_index.operators.job import HudiIndexJobOperator

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HudiDropIndexOperator"]


class HudiDropIndexOperator(HudiIndexJobOperator):
    """Drops an index.

    Args:
        index: its name. (templated)
        if_exists: none of that name is fine, so a task that is run again has nothing to do.
        kwargs: as of `HudiIndexJobOperator`.
    """

    template_fields: Sequence[str] = (*HudiIndexJobOperator.template_fields, "index")

    def __init__(self, *, index: str, if_exists: bool = True, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.index = index
        self.if_exists = if_exists

    def command(self, location: str) -> JobCommand:
        """The job."""
        chosen = (argument("index", self.index), *(("--if-exists",) if self.if_exists else ()))
        return JobCommand("drop", "drop.py", (*self.common_arguments(location), *chosen))
