"""The check that indexes are right, as a data-quality DAG."""

from __future__ import annotations

import os
from datetime import datetime, timezone

from airflow.sdk import DAG, Param, get_current_context, task

from airflow_hudi_index.operators import HudiCreateIndexOperator, HudiValidateIndexesOperator
from airflow_hudi_index.statements import rebuild_statement

# Of the nightly runs; whoever triggers one by hand may give others.
TABLES = [table for table in [os.environ.get("HUDI_INDEX_TABLE")] if table]

with DAG(
    "hudi_index_validation",
    description="Every night: indexed answers against full scans, for many tables",
    doc_md="""
### Are the indexes right?

For each of `tables`, by default the one of the environment variable `HUDI_INDEX_TABLE`, made-up queries are
asked with indexes and as full scans, and stored entries are compared with the rows they come from.

- A difference **fails** the table's `validate` task, without a retry, so whatever alerts on failed tasks
  alerts on it; the evidence is in the log and behind the link *Validation report*.
- The index that was wrong is **invalid** from then on: queries no longer use it.
- `rebuild` then makes it anew, if the parameter `rebuild` says so, and the run still ends as failed:
  somebody should look at the evidence.

With `backend` = `native` the same is asked of Hudi's own indexes and data skipping; those can't be taken
out of service from here, only reported.
""",
    schedule="0 4 * * *",
    start_date=datetime(2024, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,
    tags=["hudi", "example"],
    params={
        "tables": Param(TABLES, type="array", items={"type": "string"}, description="Paths, URIs or names"),
        "backends": Param(
            ["engine"], type="array", items={"enum": ["engine", "native"]}, description="Whose indexes"
        ),
        "queries": Param(50, type="integer", minimum=0, description="How many queries to make up"),
        "rebuild": Param(default=True, type="boolean", description="Whether to rebuild what is invalid"),
    },
):

    @task
    def checks() -> list[dict[str, str]]:
        """One per table and backend."""
        params = get_current_context()["params"]
        return [
            {"table": table, "backend": backend}
            for table in params["tables"]
            for backend in params["backends"]
        ]

    # Whatever became of the validations: rebuild what they took out of service.
    @task(trigger_rule="all_done")
    def invalid_indexes() -> list[dict[str, str]]:
        """Per invalid index, its table and the statement that rebuilds it."""
        from airflow_hudi_index.hooks.hudi_index import HudiIndexHook

        params = get_current_context()["params"]
        if not params["rebuild"]:
            return []
        return [
            {"table": table, "statement": rebuild_statement(index["name"])}
            for table in params["tables"]
            for index in HudiIndexHook().status(table)["indexes"]
            if index["state"] == "invalid"
        ]

    asked = checks()
    # Other queries each night. Not by `ds`: a run that somebody triggers may have no logical date.
    validate = HudiValidateIndexesOperator.partial(
        task_id="validate",
        queries="{{ params.queries }}",
        seed="{{ dag_run.run_after.strftime('%Y%m%d') }}",
    ).expand_kwargs(asked)
    invalid = invalid_indexes()
    # One at a time: a table has one writer of indexes.
    rebuild = HudiCreateIndexOperator.partial(task_id="rebuild", max_active_tis_per_dagrun=1).expand_kwargs(
        invalid
    )

    @task(trigger_rule="all_done")
    def result(asked: list[dict[str, str]]) -> None:
        """Fails unless every validation passed: a rebuilt index does not make the night's answers right.

        It runs whatever became of the others, so what has no report counts as wrong.
        """
        reports = get_current_context()["ti"].xcom_pull(
            task_ids="validate", key="report", map_indexes=list(range(len(asked)))
        )
        wrong = [
            f"{check['table']} ({check['backend']}): {'indexes are wrong' if report else 'not validated'}"
            for check, report in zip(asked, reports, strict=True)
            if not (report and report["passed"])
        ]
        if wrong:
            raise RuntimeError("; ".join(wrong))

    validate >> invalid
    [validate, rebuild] >> result(asked)
