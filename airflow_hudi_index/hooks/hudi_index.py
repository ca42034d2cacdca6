"""Tables as a connection knows them: questions without a JVM, and jobs for what needs Spark."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import (
    AirflowFailException,
    AirflowNotFoundException,
    mask_secret,
)
from airflow.sdk import BaseHook

from airflow_hudi_index.local_job import LocalJob
from airflow_hudi_index.masking import (
    mask_options,
    mask_places,
    mask_settings,
    refuse_early_secrets,
)
from airflow_hudi_index.places import Places
from hudi_index.credentials import Options, without_credentials
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
    """What a connection of type `hudi_index` says; without a connection, the defaults.

    Its text shows no value that may be a secret.
    """

    places: Places = field(default_factory=Places)
    storage_options: Mapping[str, str] = field(default_factory=Options)
    run_mode: str = LOCAL
    spark_conn_id: str = "spark_default"
    spark_conf: Mapping[str, str] = field(default_factory=Options)
    cores: int = 2

    @classmethod
    def of(cls, connection: Connection) -> ConnectionSettings:
        """Read a connection, and have Airflow mask its secrets.

        Raises:
            AirflowFailException: for a value that can't be; the message has no part of it but its name.
        """
        extra = _Extra(connection)
        base_path = connection.host or None
        tables = extra.mapping("tables")
        options, conf = extra.mapping("storage_options"), extra.mapping("spark_conf")
        mask_options(options)
        mask_settings(conf)
        mask_places([*tables.values(), *([base_path] if base_path else [])])
        run_mode = extra.text("run_mode") or LOCAL
        if run_mode not in RUN_MODES:
            raise extra.wrong("run_mode", f"is none of {', '.join(RUN_MODES)}")
        return cls(
            places=Places(base_path, tables, extra.boolean("allow_absolute_paths")),
            storage_options=Options(options),
            run_mode=run_mode,
            spark_conn_id=extra.text("spark_conn_id") or "spark_default",
            spark_conf=Options(conf),
            cores=extra.count("cores") or 2,
        )

    def location_of(self, table: str) -> str:
        """The place of a table, without credentials: see `Places.place_of`."""
        return without_credentials(self.places.place_of(table))


class _Extra:
    """A connection's extra, value by value. Errors name the field: what stands in it may be a secret."""

    def __init__(self, connection: Connection) -> None:
        self._conn_id = connection.conn_id
        try:
            # Airflow's own reading takes what is no JSON for nothing.
            found = json.loads(connection.extra) if connection.extra else {}
        except json.JSONDecodeError as error:
            # The error itself keeps the text.
            at = f"line {error.lineno}, column {error.colno}"
            raise self.wrong("extra", f"is no JSON, at {at}") from None
        if not isinstance(found, dict):
            raise self.wrong("extra", "is no JSON object")
        mask_secret(found)
        self._values: dict[str, Any] = found

    def wrong(self, name: str, reason: str) -> AirflowFailException:
        return AirflowFailException(f"connection {self._conn_id}: {name} {reason}")

    def mapping(self, name: str) -> dict[str, str]:
        """A JSON object, as one or as its text."""
        value = self._values.get(name) or {}
        try:
            found = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise self.wrong(name, "is no JSON object")
        return {str(key): _plain(each) for key, each in found.items()}

    def text(self, name: str) -> str | None:
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "is no text")
        return value

    def boolean(self, name: str) -> bool | None:
        value = self._values.get(name)
        known = {"true": True, "false": False, "": None, "none": None}
        if str(value).lower() not in known:
            raise self.wrong(name, "is neither true nor false")
        return known[str(value).lower()]

    def count(self, name: str) -> int | None:
        """A whole number above zero."""
        value = self._values.get(name)
        if value is None or value == "":
            return None
        try:
            number = math.nan if isinstance(value, bool) else float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not (number.is_integer() and number >= 1):
            raise self.wrong(name, "is no whole number of 1 or more")
        return int(number)


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


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

        return IndexedTable.open(self.settings.places.place_of(table), self.settings.storage_options)

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
        settings = self._spark_settings(conf)
        refuse_early_secrets(settings)
        argv = command.on_this_machine(cores=cores or self.settings.cores)
        if not job.start(argv, environment or {}, settings):
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
        chosen = {**self.settings.spark_conf, **{name: _plain(value) for name, value in (conf or {}).items()}}
        mask_settings(chosen)
        return chosen

    def test_connection(self) -> tuple[bool, str]:
        """Open the connection's tables; tells their version, lag and indexes."""
        try:
            places = ConnectionSettings.of(self.get_connection(self.hudi_index_conn_id)).places
            if self.table is not None:
                tried = [self.table]
            else:
                tried = list(places.tables) or (
                    [without_credentials(places.base_path)] if places.base_path else []
                )
            if not tried:
                return True, "No table to open: give a base path or a catalog of tables to have one tried."
            return True, "; ".join(self._describe(place) for place in tried)
        except (HudiIndexError, AirflowFailException, AirflowNotFoundException, OSError) as error:
            return False, str(error)

    def _describe(self, table: str) -> str:
        opened = self.open(table)
        status, config = opened.status(), opened.timeline().config
        indexes = ", ".join(f"{each.name} ({each.kind}, {each.state})" for each in status.indexes) or "none"
        lag = "in step" if status.is_fresh else f"{status.commits_behind} commits behind"
        return (
            f"{table}: Hudi table {config.name}, {config.table_type.value}, version {config.version}, "
            f"indexes {indexes}, {lag}"
        )
