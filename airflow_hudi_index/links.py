"""Buttons on a task's page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from airflow.providers.common.compat.sdk import XCom
from airflow.sdk import BaseOperatorLink

if TYPE_CHECKING:
    from airflow.sdk import BaseOperator
    from airflow.sdk.types import TaskInstanceKey

__all__ = ["JobLogLink", "SparkUiLink", "ValidationReportLink", "XComLink"]


class XComLink(BaseOperatorLink):
    """A link that the operator left as an XCom; no link if it left none."""

    key: str

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:  # noqa: ARG002  Airflow's
        """The address, empty if there is none."""
        return str(XCom.get_value(ti_key=ti_key, key=self.key) or "")


class ValidationReportLink(XComLink):
    """The validation's report for people: what was asked, what was compared, what differs."""

    name = "Validation report"
    key = "hudi_index_validation_url"


class JobLogLink(XComLink):
    """What the job printed."""

    name = "Job log"
    key = "hudi_index_log_url"


class SparkUiLink(XComLink):
    """Spark's web pages, as long as the job runs or a history server keeps them."""

    name = "Spark UI"
    key = "hudi_index_spark_ui"
