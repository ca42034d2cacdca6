"""Proving indexes right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow_hudi_index.job_command import JobCommand, argument
from airflow_hudi_index.links import JobLogLink, SparkUiLink, ValidationReportLink
from airflow_hudi_index.operators.job import HudiIndexJobOperator
from airflow_hudi_index.settings import report_url, task_key
from airflow_hudi_index.statements import check_predicate, check_query

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import BaseOperatorLink, Context

    from airflow_hudi_index.local_job import LocalJob

__all__ = ["HudiValidateIndexesOperator"]


class HudiValidateIndexesOperator(HudiIndexJobOperator):
    """Compares what indexes answer with the full scan, and what they hold with their table.

    A difference fails the task, without a retry, with the evidence in the log and in the report behind the
    link "Validation report". The indexes that there is evidence against are then invalid, so that no query
    uses them; a REBUILD brings them back. Conditions and queries may ask the rows of the table and nothing
    else: each goes through `hudi_index.gate`, in the task and again in the job.

    Args:
        queries: how many queries to make up from the data. (templated)
        seconds: stop making up queries after that time. (templated)
        seed: another seed makes up other queries. (templated)
        where: conditions to ask as well. (templated)
        sql: whole queries over the table, called `t`, to ask as well. (templated)
        sample: how many file groups to compare entry by entry. (templated)
        indexes: only these. (templated)
        quarantine: whether an index that was wrong becomes invalid.
        kwargs: as of `HudiIndexJobOperator`.
    """

    template_fields: Sequence[str] = (
        *HudiIndexJobOperator.template_fields,
        "queries",
        "seconds",
        "seed",
        "where",
        "sql",
        "sample",
        "indexes",
    )
    operator_extra_links: Sequence[BaseOperatorLink] = (
        ValidationReportLink(),
        JobLogLink(),
        SparkUiLink(),
    )
    changes_indexes: ClassVar[bool] = False

    def __init__(
        self,
        *,
        queries: int | str | None = None,
        seconds: float | str | None = None,
        seed: int | str | None = None,
        where: str | list[str] | None = None,
        sql: str | list[str] | None = None,
        sample: int | str | None = None,
        indexes: str | list[str] | None = None,
        quarantine: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.queries = queries
        self.seconds = seconds
        self.seed = seed
        self.where = where
        self.sql = sql
        self.sample = sample
        self.indexes = indexes
        self.quarantine = quarantine

    def command(self, location: str) -> JobCommand:
        """The job. Raises UserError for a condition or a query that is something else, before any Spark."""
        for predicate in _texts(self.where):
            check_predicate(predicate)
        for query in _texts(self.sql):
            check_query(query)
        single = ("queries", "seconds", "seed", "sample")
        chosen = [argument(name, value) for name in single if (value := getattr(self, name)) is not None]
        for name, values in (("where", self.where), ("sql", self.sql), ("index", self.indexes)):
            chosen += [argument(name, each) for each in _texts(values)]
        chosen += [] if self.quarantine else ["--no-quarantine"]
        return JobCommand("validate", "validate.py", (*self.common_arguments(location), *chosen))

    def html_argument(self, job: LocalJob) -> tuple[str, ...]:
        """The report for people, beside the one for machines."""
        return (argument("html", job.html_file),)

    def after_job(self, context: Context, report: dict[str, Any]) -> None:
        """Leave the link, and the report: Airflow keeps no result of a task that failed."""
        key = task_key(context["ti"])
        self.leave_link(context, ValidationReportLink.key, report_url(key, "validation.html"))
        context["ti"].xcom_push("report", report)


def _texts(given: str | list[str] | None) -> list[str]:
    """One text is one, not its characters."""
    return [given] if isinstance(given, str) else list(given or ())
