"""A job under spark-submit, through the hook of Airflow's Spark provider.

Settings go on its command line, which everybody on the worker can read, but for those that hold a secret:
the driver finds these in a file for its owner's eyes only and takes them up before it starts its session.
Secrets of the environment go into the environment of spark-submit, which is the driver's too. Neither reaches
a driver inside a cluster, so there they are refused. Storage options go the same way as settings; a driver
inside a cluster gets those that anybody may read, and has the cluster's own keys to the store.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    AirflowException,
    AirflowFailException,
    AirflowNotFoundException,
)
from airflow.sdk import BaseHook, ObjectStoragePath

from airflow_hudi_index.job_command import argument
from airflow_hudi_index.masking import parted, refuse_early_secrets
from hudi_index.credentials import Options
from hudi_index.jobs import SETTINGS_VARIABLE, STORAGE_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from airflow_hudi_index.job_command import JobCommand

__all__ = ["SubmittedJob"]

_UI = re.compile(r"(?:SparkUI.* at|tracking URL:) (https?://\S+)")


class SubmittedJob:
    """One run of spark-submit; its driver's report is found in what it prints, or in the report's file."""

    def __init__(
        self,
        hook: Any,
        command: JobCommand,
        report_uri: str | None,
        *,
        settings: Mapping[str, Any] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.hook = hook
        self.command = command
        self.report_uri = report_uri
        self.settings = Options(settings)
        self.environment = Options(environment)
        self.printed: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        command: JobCommand,
        conn_id: str,
        *,
        conf: Mapping[str, str],
        env_vars: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
        report_uri: str | None = None,
        **options: Any,
    ) -> SubmittedJob:
        """A job on the Spark of a connection.

        Raises:
            AirflowFailException: if there is no such connection, which the Spark provider would take for
                YARN, if the driver's report would be lost, or if a secret could be read by everybody.
        """
        try:
            BaseHook.get_connection(conn_id)
        except AirflowNotFoundException:
            raise AirflowFailException(
                f"there is no Spark connection {conn_id!r}. Make one that names the master, such as "
                "spark://host:7077, yarn or local[2], or run the job on the worker with run_mode='local'"
            ) from None
        from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook

        if report_uri:
            command = command.with_arguments(argument("report", report_uri))
        shown, hidden = parted(conf)
        shown_env, hidden_env = parted(env_vars or {})
        refuse_early_secrets(hidden, options)
        hook = SparkSubmitHook(
            conn_id=conn_id,
            name=options.pop("name", f"hudi-index {command.verb}"),
            conf=shown,
            application_args=list(command.arguments),
            spark_binary=options.pop("spark_binary", None) or _binary(),
            env_vars=shown_env or None,
            **options,
        )
        connection = hook._connection
        is_far = "cluster" in (connection["deploy_mode"], conf.get("spark.submit.deployMode"))
        if is_far and (hidden or hidden_env):
            raise AirflowFailException(
                f"{', '.join([*hidden, *hidden_env])}: in cluster deploy mode a secret would stand on the "
                "command line of spark-submit, for everybody to read. Put it into a properties file on the "
                "worker that submit_options={'properties_file': …} names, or into a Hadoop credential store"
            )
        if is_far and not report_uri:
            raise AirflowFailException(
                "in cluster deploy mode the driver's output stays in the cluster: give report_folder, a "
                "place that both the cluster and Airflow's workers reach"
            )
        if connection["master"].startswith("local") and not (env_vars or {}).get("PYSPARK_PYTHON"):
            hook._env_vars = {"PYSPARK_PYTHON": sys.executable, **shown_env}
        store = Options(storage_options)
        if is_far:
            command = command.with_arguments(*_shown_options(hook, store))
            hook._application_args = list(command.arguments)
        private = {**hidden, **({STORAGE_OPTIONS: dict(store)} if store and not is_far else {})}
        return cls(hook, command, report_uri, settings=private, environment=hidden_env)

    def run(self, *, on_ui: Callable[[str], None]) -> tuple[dict[str, Any] | None, int | None]:
        """Wait for it; its report and exit code, either None if unknown.

        Args:
            on_ui: is told the address of Spark's web pages as soon as it is known.
        """
        follow, build = self.hook._process_spark_submit_log, self.hook._build_spark_submit_command
        file = self._private_file()
        environment = {**self.environment, **({SETTINGS_VARIABLE: str(file)} if file else {})}

        def built(application: str) -> list[str]:
            command: list[str] = build(application)
            # What the hook is given as env_vars it puts on the command line too, for YARN and Kubernetes.
            self.hook._env = {**(self.hook._env or {}), **environment} or None
            return command

        def watched(lines: Iterator[str]) -> Iterator[str]:
            for line in lines:
                self._notice(line, on_ui)
                yield line

        self.hook._process_spark_submit_log = lambda lines: follow(watched(lines))
        self.hook._build_spark_submit_command = built
        try:
            self.hook.submit(self.command.application)
        except AirflowException:
            # The hook's error has no exit code; its process has, and the report, if there is one.
            process = self.hook._submit_sp
            code = process.returncode if process and process.returncode else 1
            report = self._report()
            # A driver elsewhere ends with Spark's codes; the job's own is in its report.
            return report, code if report is None else None
        finally:
            if file:
                file.unlink(missing_ok=True)
            # The hook leaves it open.
            if self.hook._submit_sp and self.hook._submit_sp.stdout:
                self.hook._submit_sp.stdout.close()
        return self._report(), None

    def _private_file(self) -> Path | None:
        """The settings that hold a secret, for the driver, which removes the file."""
        if not self.settings:
            return None
        # Made for its owner's eyes only.
        descriptor, name = tempfile.mkstemp(prefix="hudi-index-", suffix=".json")
        with os.fdopen(descriptor, "w", encoding="utf-8") as sink:
            json.dump(dict(self.settings), sink)
        return Path(name)

    def _notice(self, line: str, on_ui: Callable[[str], None]) -> None:
        if line.startswith("{"):
            try:
                found = json.loads(line)
            except ValueError:
                return
            if isinstance(found, dict) and "exit_code" in found:
                self.printed = found
        elif match := _UI.search(line):
            on_ui(match[1])

    def _report(self) -> dict[str, Any] | None:
        if self.printed is None and self.report_uri:
            report = ObjectStoragePath(self.report_uri)
            if report.exists():
                self.printed = json.loads(report.read_text())
        return self.printed

    def kill(self) -> None:
        """Stop it, in the cluster too where the Spark provider can."""
        self.hook.on_kill()


def _shown_options(hook: Any, options: Options) -> list[str]:
    """The storage options that a command line may carry; says which of them can't come along."""
    shown = options.harmless()
    if left := [name for name in options if name not in shown]:
        hook.log.warning(
            "storage options %s stay here: in cluster deploy mode they would stand on the command line of "
            "spark-submit, for everybody to read. The driver has to have its own keys: the identity of the "
            "cluster's machines, spark.hadoop.fs.… in the cluster's settings, or a Hadoop credential store",
            ", ".join(left),
        )
    return [argument("storage-option", f"{name}={value}") for name, value in shown.items()]


def _binary() -> str | None:
    """The spark-submit of this environment where the PATH has none; None leaves it to the connection."""
    beside = Path(sys.executable).with_name("spark-submit")
    return str(beside) if not shutil.which("spark-submit") and beside.exists() else None
