"""Tables as a connection knows them: questions without a JVM, and jobs for what needs Spark."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException
from airflow.sdk import BaseHook

from airflow_hudi_index.local_job import LocalJob
from hudi_index.errors import HudiIndexError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from airflow.sdk import Connection

    from airflow_hudi_index.job_command import JobCommand
    from airflow_hudi_index.submitted_job import SubmittedJob
    from hudi_index import IndexedTable

__all__ = ["LOCAL", "SPARK_SUBMIT", "ConnectionSettings", "HudiIndexHook"]

LOCAL = "local"
SPARK_SUBMIT = "spark_submit"
RUN_MODES = (LOCAL, SPARK_SUBMIT)


@dataclass(frozen=True)
class ConnectionSettings:
    """What a connection of type `hudi_index` says; without a connection, the defaults."""

    base_path: str | None = None
    tables: Mapping[str, str] = field(default_factory=dict)
    """Names of tables with their places."""
    storage_options: Mapping[str, str] = field(default_factory=dict)
    run_mode: str = LOCAL
    spark_conn_id: str = "spark_default"
    spark_conf: Mapping[str, str] = field(default_factory=dict)
    cores: int = 2

    @classmethod
    def of(cls, connection: Connection) -> ConnectionSettings:
        """Read a connection. Raises AirflowFailException for a value that can't be."""
        extra = connection.extra_dejson
        run_mode = extra.get("run_mode") or LOCAL
        if run_mode not in RUN_MODES:
            raise AirflowFailException(
                f"connection {connection.conn_id}: run_mode {run_mode!r} is none of {', '.join(RUN_MODES)}"
            )
        return cls(
            base_path=connection.host or None,
            tables=_mapping(connection, "tables"),
            storage_options=_mapping(connection, "storage_options"),
            run_mode=run_mode,
            spark_conn_id=extra.get("spark_conn_id") or "spark_default",
            spark_conf=_mapping(connection, "spark_conf"),
            cores=int(extra.get("cores") or 2),
        )

    def location_of(self, table: str) -> str:
        """The place of a table: a path or URI as it is, a name by the catalog or under the base path."""
        if table in self.tables:
            return self.tables[table]
        if "://" in table or table.startswith("/"):
            return table
        if self.base_path:
            return f"{self.base_path.rstrip('/')}/{table}"
        known = f"; it knows {', '.join(self.tables)}" if self.tables else ""
        raise AirflowFailException(
            f"table {table!r} is no absolute path and no URI, and the connection has no base path{known}"
        )


def _mapping(connection: Connection, name: str) -> dict[str, str]:
    """An extra that is a JSON object, as one or as its text."""
    value = connection.extra_dejson.get(name) or {}
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise AirflowFailException(f"connection {connection.conn_id}: {name} is no JSON object: {value!r}")
    return {str(key): str(each) for key, each in found.items()}


class HudiIndexHook(BaseHook):
    """Hudi tables and their indexes.

    Args:
        hudi_index_conn_id: the connection. The default one may be missing: then tables are named by path or
            URI and jobs run on this machine.
        table: a table for `get_conn` and Airflow's Test button.
    """

    conn_name_attr = "hudi_index_conn_id"
    default_conn_name = "hudi_index_default"
    conn_type = "hudi_index"
    hook_name = "Hudi Index"

    def __init__(
        self, hudi_index_conn_id: str = default_conn_name, *, table: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.hudi_index_conn_id = hudi_index_conn_id
        self.table = table

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
        """The path or URI of a table."""
        return self.settings.location_of(table)

    def get_conn(self) -> IndexedTable:
        """The table this hook was made for."""
        if self.table is None:
            raise AirflowFailException("the hook was made without a table; use `open`")
        return self.open(self.table)

    def open(self, table: str) -> IndexedTable:
        """A table, without a JVM. Raises NoSuchTableError."""
        from hudi_index import IndexedTable

        return IndexedTable.open(self.location_of(table), self.settings.storage_options)

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
    ) -> LocalJob:
        """Start a job in a process of its own on this machine, or join it if it runs there already."""
        job = LocalJob(folder)
        settings = {**self.settings.spark_conf, **(conf or {})}
        argv = command.on_this_machine(cores=cores or self.settings.cores, conf=settings)
        if not job.start(argv, environment or {}):
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

        settings = {**self.settings.spark_conf, **(conf or {})}
        return SubmittedJob.of(
            command, spark_conn_id or self.settings.spark_conn_id, conf=settings, **options
        )

    def test_connection(self) -> tuple[bool, str]:
        """Open the connection's tables; tells their version, lag and indexes."""
        try:
            settings = ConnectionSettings.of(self.get_connection(self.hudi_index_conn_id))
            if self.table is not None:
                places = [self.table]
            else:
                places = list(settings.tables) or ([settings.base_path] if settings.base_path else [])
            if not places:
                return True, "No table to open: give a base path or a catalog of tables to have one tried."
            return True, "; ".join(self._described(place) for place in places)
        except (HudiIndexError, AirflowFailException, AirflowNotFoundException, OSError) as error:
            return False, str(error)

    def _described(self, table: str) -> str:
        opened = self.open(table)
        status, config = opened.status(), opened.timeline().config
        indexes = ", ".join(f"{each.name} ({each.kind}, {each.state})" for each in status.indexes) or "none"
        lag = "in step" if status.is_fresh else f"{status.commits_behind} commits behind"
        return (
            f"{table}: Hudi table {config.name}, {config.table_type.value}, version {config.version}, "
            f"indexes {indexes}, {lag}"
        )
