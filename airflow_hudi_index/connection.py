"""What a connection of type `hudi_index` says, checked value by value."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, mask_secret

from airflow_hudi_index.locations import TableLocations
from airflow_hudi_index.masking import mask_locations, mask_options, mask_settings
from hudi_index.credentials import Options, without_credentials

if TYPE_CHECKING:
    from collections.abc import Mapping

    from airflow.sdk import Connection

__all__ = ["LOCAL", "RUN_MODES", "SPARK_SUBMIT", "ConnectionSettings", "plain"]

LOCAL = "local"
SPARK_SUBMIT = "spark_submit"
RUN_MODES = (LOCAL, SPARK_SUBMIT)


@dataclass(frozen=True)
class ConnectionSettings:
    """What a connection of type `hudi_index` says; without a connection, the defaults.

    Its text shows no value that may be a secret.
    """

    locations: TableLocations = field(default_factory=TableLocations)
    storage_options: Mapping[str, str] = field(default_factory=Options)
    storage_conn_id: str | None = None
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
        mask_locations([*tables.values(), *([base_path] if base_path else [])])
        run_mode = extra.text("run_mode") or LOCAL
        if run_mode not in RUN_MODES:
            raise extra.wrong("run_mode", f"is none of {', '.join(RUN_MODES)}")
        return cls(
            locations=TableLocations(base_path, tables, extra.boolean("allow_absolute_paths")),
            storage_options=Options(options),
            storage_conn_id=extra.text("storage_conn_id") or None,
            run_mode=run_mode,
            spark_conn_id=extra.text("spark_conn_id") or "spark_default",
            spark_conf=Options(conf),
            cores=extra.count("cores") or 2,
        )

    def location_of(self, table: str) -> str:
        """The place of a table, without credentials: see `TableLocations.location_of`."""
        return without_credentials(self.locations.location_of(table))


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
        return {str(key): plain(each) for key, each in found.items()}

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


def plain(value: object) -> str:
    """A value of JSON as a setting's text."""
    return str(value).lower() if isinstance(value, bool) else str(value)
