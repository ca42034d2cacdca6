"""Tables as a connection knows them: questions without a JVM, and jobs for what needs Spark."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException
from airflow.sdk import BaseHook

from airflow_hudi_index.connection import LOCAL, RUN_MODES, SPARK_SUBMIT, ConnectionSettings, plain
from airflow_hudi_index.local_job import LocalJob
from airflow_hudi_index.locations import is_far
from airflow_hudi_index.masking import mask_settings, refuse_early_secrets
from airflow_hudi_index.storage_connection import options_of_connection
from hudi_index.credentials import Options, without_credentials
from hudi_index.errors import HudiIndexError, NoSuchTableError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from airflow_hudi_index.job_command import JobCommand
    from airflow_hudi_index.submitted_job import SubmittedJob
    from hudi_index import IndexedTable

__all__ = ["LOCAL", "RUN_MODES", "SPARK_SUBMIT", "ConnectionSettings", "HudiIndexHook"]

_AWS_KEYS = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")


class HudiIndexHook(BaseHook):
    """Hudi tables and their indexes.

    Args:
        hudi_index_conn_id: the connection. The default one may be missing: then tables are named by path or
            URI and jobs run on this machine.
        table: a table for `get_conn` and Airflow's Test button.
        storage_conn_id: the connection to the object store that holds the tables, of type `aws`,
            `google_cloud_platform`, `wasb` or `adls`; by default the one that the connection names.
    """

    conn_name_attr = "hudi_index_conn_id"
    default_conn_name = "hudi_index_default"
    conn_type = "hudi_index"
    hook_name = "Hudi Index"

    def __init__(
        self,
        hudi_index_conn_id: str = default_conn_name,
        *,
        table: str | None = None,
        storage_conn_id: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.hudi_index_conn_id = hudi_index_conn_id
        self.table = table
        self.storage_conn_id = storage_conn_id

    @cached_property
    def settings(self) -> ConnectionSettings:
        """What the connection says."""
        try:
            return ConnectionSettings.of(self.get_connection(self.hudi_index_conn_id))
        except AirflowNotFoundException:
            if self.hudi_index_conn_id != self.default_conn_name:
                raise
            return ConnectionSettings()

    def location_of(self, table: str) -> str:
        """The path or URI of a table, without credentials.

        Raises:
            InvalidOptionError: if it is no table of this connection, as one outside its base path.
        """
        return self.settings.location_of(table)

    def get_conn(self) -> IndexedTable:
        """The table this hook was made for."""
        if self.table is None:
            raise AirflowFailException("the hook was made without a table; use `open`")
        return self.open(self.table)

    def open(self, table: str) -> IndexedTable:
        """A table, without a JVM. Raises NoSuchTableError."""
        from hudi_index import IndexedTable

        location = self.settings.locations.location_of(table)
        return IndexedTable.open(location, self._options_at(location))

    def storage_options_of(self, table: str) -> Options:
        """How to reach a table, asked anew each time: keys that a role gives are good for an hour.

        Those of the storage connection, and over them the connection's own.
        """
        return self._options_at(self.settings.locations.location_of(table))

    def _options_at(self, location: str) -> Options:
        own = self.settings.storage_options
        conn_id = self.storage_conn_id or self.settings.storage_conn_id
        if not conn_id or not is_far(location):
            return Options(own)
        # A token belongs to its key.
        mine = _AWS_KEYS if any(name in own for name in _AWS_KEYS) else ()
        found = options_of_connection(conn_id)
        return Options({**{name: found[name] for name in found if name not in mine}, **own})

    def status(self, table: str) -> dict[str, Any]:
        """State, size and lag of a table's indexes."""
        return self.open(table).status().as_dict()

    def latest_instant(self, table: str) -> str | None:
        """The completed time of the commit that was completed last; None for a table without any."""
        latest = self.open(table).timeline().latest_completed
        return latest.completed_time if latest else None

    def commits_after(
        self,
        table: str,
        after: str | None = None,
        *,
        partitions: Collection[str] | None = None,
        actions: Collection[str] | None = None,
    ) -> list[dict[str, str]]:
        """Completed commits, by completed time: see `commits.commits_after`."""
        from airflow_hudi_index.commits import commits_after

        return commits_after(self.open(table), after, partitions=partitions, actions=actions)

    def lag(self, table: str) -> dict[str, Any]:
        """How far the indexes are behind: commits, seconds, file groups."""
        status = self.status(table)
        names = ("commits_behind", "seconds_behind", "file_groups_uncovered", "bytes_uncovered", "is_fresh")
        return {name: status[name] for name in names}

    def plan(self, table: str, predicate: str) -> dict[str, Any]:
        """What a query with this predicate reads: files, how many file groups of how many, and why."""
        plan = self.open(table).plan(predicate)
        return {
            "files": list(plan.files),
            "kept": plan.kept,
            "total": plan.total,
            "explain": plan.explain(),
        }

    def start_local_job(
        self,
        command: JobCommand,
        folder: Path,
        *,
        conf: Mapping[str, str] | None = None,
        cores: int | None = None,
        environment: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> LocalJob:
        """Start a job in a process of its own on this machine, or join it if it runs there already."""
        job = LocalJob(folder)
        settings = self._spark_settings(conf)
        refuse_early_secrets(settings)
        argv = command.on_this_machine(cores=cores or self.settings.cores)
        if not job.start(argv, environment or {}, settings, storage_options):
            self.log.info("the job of an earlier try is still running in %s: joining it", folder)
        return job

    def spark_job(
        self,
        command: JobCommand,
        *,
        spark_conn_id: str | None = None,
        conf: Mapping[str, str] | None = None,
        **options: Any,
    ) -> SubmittedJob:
        """A job for spark-submit, through the hook of Airflow's Spark provider; not started yet."""
        from airflow_hudi_index.submitted_job import SubmittedJob

        return SubmittedJob.of(
            command,
            spark_conn_id or self.settings.spark_conn_id,
            conf=self._spark_settings(conf),
            **options,
        )

    def _spark_settings(self, conf: Mapping[str, str] | None) -> dict[str, str]:
        """The connection's, and over them those of a task."""
        chosen = {**self.settings.spark_conf, **{name: plain(value) for name, value in (conf or {}).items()}}
        mask_settings(chosen)
        return chosen

    def test_connection(self) -> tuple[bool, str]:
        """Open the connection's tables; tells their version, lag and indexes, and proves far storage."""
        try:
            locations = ConnectionSettings.of(self.get_connection(self.hudi_index_conn_id)).locations
            base_path = without_credentials(locations.base_path) if locations.base_path else None
            tried = [self.table] if self.table is not None else list(locations.tables)
            if not tried and base_path is None:
                return True, "No table to open: give a base path or a catalog of tables to have one tried."
            said = [self._describe(location) for location in tried]
            if not tried and base_path is not None:
                said = [self._describe_base(base_path)]
            return True, "; ".join(said)
        except (HudiIndexError, AirflowFailException, AirflowNotFoundException, OSError) as error:
            return False, str(error)

    def _describe_base(self, base_path: str) -> str:
        """A base path is a table, or a store that holds some."""
        try:
            return self._describe(base_path)
        except NoSuchTableError:
            if not is_far(base_path):
                raise
        return f"{base_path}: {self._prove(base_path)}no table in itself"

    def _prove(self, table: str) -> str:
        """Says that indexes can be written, where that is not the business of a mounted disk."""
        location = self.settings.locations.location_of(table)
        if not is_far(location):
            return ""
        from hudi_index.storage_check import check_storage

        check_storage(location, self._options_at(location))
        return "read, list, create once and delete work; "

    def _describe(self, table: str) -> str:
        opened = self.open(table)
        status, config = opened.status(), opened.timeline().config
        indexes = ", ".join(f"{each.name} ({each.kind}, {each.state})" for each in status.indexes) or "none"
        lag = "in step" if status.is_fresh else f"{status.commits_behind} commits behind"
        return (
            f"{table}: {self._prove(table)}Hudi table {config.name}, {config.table_type.value}, "
            f"version {config.version}, indexes {indexes}, {lag}"
        )
