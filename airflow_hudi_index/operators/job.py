"""What the operators have in common: where a job runs, how it is followed, what its end means."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import conf as airflow_conf
from airflow.sdk import AssetAlias, BaseOperator

from airflow_hudi_index.arguments import check_number
from airflow_hudi_index.assets import hudi_index_asset
from airflow_hudi_index.hooks.hudi_index import RUN_MODES, SPARK_SUBMIT, HudiIndexHook
from airflow_hudi_index.job_command import argument
from airflow_hudi_index.lineage import lineage_of
from airflow_hudi_index.links import JobLogLink, SparkUiLink, XComLink
from airflow_hudi_index.local_job import LocalJob
from airflow_hudi_index.locations import refuse_credentials, refuse_password
from airflow_hudi_index.masking import mask_settings
from airflow_hudi_index.outcome import JobRefusedError, check_report, summary_of
from airflow_hudi_index.settings import report_url, task_folder, task_key
from airflow_hudi_index.triggers.jobs import LocalJobTrigger
from hudi_index.errors import HudiIndexError, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.providers.openlineage.extractors import OperatorLineage
    from airflow.sdk import BaseOperatorLink, Context

    from airflow_hudi_index.job_command import JobCommand
    from airflow_hudi_index.submitted_job import SubmittedJob

__all__ = ["BACKENDS", "HudiIndexJobOperator"]

BACKENDS = ("engine", "native")
_KILL_SECONDS = 20.0


class HudiIndexJobOperator(BaseOperator):
    """Runs one job; the XCom is its report. Use one of its subclasses.

    A conflict with another writer is tried again; a request that can't be carried out and a failed validation
    fail at once, whatever `retries` says. Killing the task stops the job. A task that is tried again while
    the job of its last try still runs, as after the loss of a worker, joins that job.

    Args:
        table: path or URI of the table, or its name in the connection's catalog. (templated)
        hudi_index_conn_id: the connection; the default one need not exist. (templated)
        storage_conn_id: the connection to the object store that holds the table; by default the one that the
            connection names. (templated)
        backend: `engine` for this project's indexes, `native` for Hudi's own.
        run_mode: `local`, a Spark session of its own beside the worker, or `spark_submit`; by default what
            the connection says, else `local`.
        conf: Spark settings, over the connection's. (templated)
        cores: threads of a `local` session.
        spark_conn_id: the Spark connection of `spark_submit`, which must exist. (templated)
        packages: Maven coordinates for spark-submit. (templated)
        py_files: Python files or archives for spark-submit. (templated)
        archives: archives for spark-submit, such as a packed environment. (templated)
        env_vars: environment of the job. (templated)
        submit_options: further arguments of the Spark provider's `SparkSubmitHook`. (templated)
        report_folder: folder or URI that the job writes its report to; needed in cluster deploy mode, where
            both the cluster and the workers must reach it. (templated)
        deferrable: free the worker while a `local` job runs. A `spark_submit` job keeps it: the Spark
            provider has no trigger.
        poll_interval: seconds between two looks at a deferred job.
        retries: how often a conflict or a crash is tried again.
        retry_delay: the pause before that.
        kwargs: as of `BaseOperator`.
    """

    template_fields: Sequence[str] = (
        "table",
        "hudi_index_conn_id",
        "storage_conn_id",
        "conf",
        "spark_conn_id",
        "packages",
        "py_files",
        "archives",
        "env_vars",
        "submit_options",
        "report_folder",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"conf": "json", "submit_options": "json"}
    operator_extra_links: Sequence[BaseOperatorLink] = (JobLogLink(), SparkUiLink())
    ui_color = "#e3f1f6"
    changes_indexes: ClassVar[bool] = True

    def __init__(
        self,
        *,
        table: str,
        hudi_index_conn_id: str = HudiIndexHook.default_conn_name,
        storage_conn_id: str | None = None,
        backend: str = "engine",
        run_mode: str | None = None,
        conf: dict[str, str] | None = None,
        cores: int | None = None,
        spark_conn_id: str | None = None,
        packages: str | None = None,
        py_files: str | None = None,
        archives: str | None = None,
        env_vars: dict[str, str] | None = None,
        submit_options: dict[str, Any] | None = None,
        report_folder: str | None = None,
        deferrable: bool | None = None,
        poll_interval: float = 2.0,
        # In the signature, since there Airflow looks for the defaults of mapped tasks and puts a DAG's own.
        # A conflict is over in seconds, mostly.
        retries: int = 3,
        retry_delay: timedelta | float = timedelta(seconds=30),
        **kwargs: Any,
    ) -> None:
        super().__init__(retries=retries, retry_delay=retry_delay, **kwargs)
        if run_mode not in (None, *RUN_MODES):
            raise ValueError(f"run_mode {run_mode!r} is none of {', '.join(RUN_MODES)}")
        if backend not in BACKENDS:
            raise ValueError(f"backend {backend!r} is none of {', '.join(BACKENDS)}")
        if deferrable and run_mode == SPARK_SUBMIT:
            raise ValueError("a spark_submit job can't be deferred: the Spark provider has no trigger for it")
        refuse_credentials(table)
        refuse_password("report_folder", report_folder)
        check_number("cores", cores, least=1, whole=True)
        check_number("poll_interval", poll_interval, above=True)
        self.table = table
        self.hudi_index_conn_id = hudi_index_conn_id
        self.storage_conn_id = storage_conn_id
        self.backend = backend
        self.run_mode = run_mode
        self.conf = conf
        self.cores = cores
        self.spark_conn_id = spark_conn_id
        self.packages = packages
        self.py_files = py_files
        self.archives = archives
        self.env_vars = env_vars
        self.submit_options = submit_options
        self.report_folder = report_folder
        if deferrable is None:
            deferrable = airflow_conf.getboolean("operators", "default_deferrable", fallback=False)
        self.deferrable = deferrable
        self.poll_interval = poll_interval
        if self.changes_indexes:
            self._declare_outlet(table)
        self._report: dict[str, Any] | None = None
        self._links: set[str] = set()
        self._local: LocalJob | None = None
        self._submitted: SubmittedJob | None = None

    def _declare_outlet(self, table: str) -> None:
        """Have Airflow know, while it parses, which asset this task will update."""
        named = str(table)  # what another task gives reads as a template
        if ("://" in named or named.startswith("/")) and "{{" not in named:
            self.outlets = [*self.outlets, hudi_index_asset(table, backend=self.backend)]
        else:
            # Known when it runs: the alias is filled then.
            self.outlets = [*self.outlets, AssetAlias(f"hudi_index/{self.task_id}")]

    @cached_property
    def hook(self) -> HudiIndexHook:
        """The hook of the connection."""
        return HudiIndexHook(self.hudi_index_conn_id, storage_conn_id=self.storage_conn_id)

    def command(self, location: str) -> JobCommand:
        """The job for a table at a place. Raises UserError for arguments that can't be."""
        raise NotImplementedError

    def skip_if_current(self, location: str) -> dict[str, Any] | None:  # noqa: ARG002  subclasses look
        """A report without a job, if one look without a JVM shows that there is nothing to do."""
        return None

    def common_arguments(self, location: str) -> tuple[str, ...]:
        """The arguments that every job takes."""
        chosen = (argument("backend", self.backend),) if self.backend != BACKENDS[0] else ()
        return (argument("table", location), *chosen)

    def render_template_fields(self, context: Context, jinja_env: Any = None) -> None:
        """Render, and have Airflow mask the secrets before it stores and shows what was rendered."""
        super().render_template_fields(context, jinja_env)
        mask_settings([self.conf, self.env_vars, self.submit_options])
        try:
            refuse_credentials(self.table)
            refuse_password("report_folder", self.report_folder)
        except UserError as error:
            raise JobRefusedError(str(error)) from error

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the job; returns its report."""
        try:
            location = self.hook.location_of(self.table)
            report, command = self.skip_if_current(location), self.command(location)
        except HudiIndexError as error:
            if error.exit_code != UserError.exit_code:
                raise
            raise JobRefusedError(str(error)) from error
        if report is not None:
            self.log.info("nothing to do: %s", "; ".join(report["notes"]))
            return self._finish(context, report, 0)
        mode = self.run_mode or self.hook.settings.run_mode
        if mode == SPARK_SUBMIT:
            return self._submit(context, command)
        return self._run_here(context, command)

    def _run_here(self, context: Context, command: JobCommand) -> dict[str, Any]:
        key = task_key(context["ti"])
        job = LocalJob(task_folder(key))
        command = command.with_arguments(argument("report", job.report_file), *self.html_argument(job))
        self.leave_link(context, JobLogLink.key, report_url(key, job.log_file.name))
        self.hook.start_local_job(
            command,
            job.folder,
            conf=self.conf,
            cores=self.cores,
            environment=self.env_vars,
            storage_options=self.hook.storage_options_of(self.table),
        )
        self._local = job
        if self.deferrable:
            self.defer(
                trigger=LocalJobTrigger(folder=str(job.folder), poll_interval=self.poll_interval),
                method_name="execute_complete",
            )
        for line in job.lines():
            self.log.info("%s", line)
        return self._finish(context, job.report(), job.exit_code(), log=job.last_lines())

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:
        """Take up a task whose job has ended."""
        job = LocalJob(Path(event["folder"]))
        self.leave_link(context, JobLogLink.key, report_url(task_key(context["ti"]), job.log_file.name))
        for line in job.lines():
            self.log.info("%s", line)
        return self._finish(context, job.report(), int(event["code"]), log=job.last_lines())

    def _submit(self, context: Context, command: JobCommand) -> dict[str, Any]:
        key = task_key(context["ti"])
        job = LocalJob(task_folder(key))
        html = self.html_argument(job)
        if html:
            job.folder.mkdir(parents=True, exist_ok=True)
        options = {"packages": self.packages, "py_files": self.py_files, "archives": self.archives}
        self._submitted = self.hook.spark_job(
            command.with_arguments(*html),
            spark_conn_id=self.spark_conn_id,
            conf=self.conf,
            env_vars=self.env_vars,
            storage_options=self.hook.storage_options_of(self.table),
            report_uri="/".join([self.report_folder.rstrip("/"), *key]) + ".json"
            if self.report_folder
            else None,
            **{name: value for name, value in options.items() if value},
            **(self.submit_options or {}),
        )
        report, code = self._submitted.run(on_ui=lambda url: self.leave_link(context, SparkUiLink.key, url))
        return self._finish(context, report, code)

    def html_argument(self, job: LocalJob) -> tuple[str, ...]:  # noqa: ARG002  validation has one
        """Where the job writes a report for people, if it writes one."""
        return ()

    def _finish(
        self, context: Context, report: dict[str, Any] | None, code: int | None, *, log: str = ""
    ) -> dict[str, Any]:
        if report is not None:
            self.after_job(context, report)
        for link in self.operator_extra_links:
            # Airflow asks for each, and logs an error for one that was never left.
            if isinstance(link, XComLink) and link.key not in self._links:
                self.leave_link(context, link.key, "")
        done = check_report(report, code, log=log)
        self._report = done
        if self.changes_indexes:
            self._emit_asset_event(context, done)
        self.log.info("%s", summary_of(done))
        return done

    def leave_link(self, context: Context, key: str, address: str) -> None:
        """Where a button of the task's page leads."""
        self._links.add(key)
        context["ti"].xcom_push(key, address)

    def after_job(self, context: Context, report: dict[str, Any]) -> None:
        """What is left for people to find, whether the job succeeded or not."""

    def _emit_asset_event(self, context: Context, report: dict[str, Any]) -> None:
        """Put what was done on the asset event."""
        asset = hudi_index_asset(self.hook.location_of(self.table), backend=self.backend)
        extra = {name: report.get(name) for name in ("verb", "indexes", "instant", "commit")}
        events = context["outlet_events"]
        for outlet in self.outlets:
            if isinstance(outlet, AssetAlias) and outlet.name == f"hudi_index/{self.task_id}":
                events[outlet].add(asset, extra=extra)
            elif outlet == asset:
                events[outlet].extra = extra

    def on_kill(self) -> None:
        """Stop the job and all it started."""
        if self._submitted is not None:
            self._submitted.kill()
        if self._local is not None:
            self._local.cancel()
            if self._local.wait(_KILL_SECONDS) is None:
                self.log.warning("the job in %s does not end", self._local.folder)

    def get_openlineage_facets_on_complete(self, task_instance: Any) -> OperatorLineage[Any, Any]:  # noqa: ARG002
        """Input table and output indexes; OpenLineage's provider calls it."""
        if self._report is None or "table" not in self._report:
            from airflow.providers.openlineage.extractors import OperatorLineage

            return OperatorLineage()
        return lineage_of(self._report)
