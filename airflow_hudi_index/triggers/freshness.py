"""Waiting for fresh indexes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_hudi_index.arguments import check_number
from airflow_hudi_index.freshness import staleness
from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.locations import refuse_credentials
from airflow_hudi_index.triggers.polling import longer, serialized

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["HudiIndexFreshTrigger"]


class HudiIndexFreshTrigger(BaseTrigger):
    """Fires once, when the indexes of a table are fresh enough.

    Args:
        table: path or URI of the table, or its name in the connection's catalog.
        limits: what is fresh enough, as of `freshness.staleness`.
        poll_interval: seconds between two looks.
        hudi_index_conn_id: the connection, which is looked up where the trigger runs: what a trigger is given
            is stored, and no place for secrets.
        storage_conn_id: the connection to the object store, looked up there too; by default the one that the
            connection names.
    """

    def __init__(
        self,
        *,
        table: str,
        limits: dict[str, Any],
        poll_interval: float = 5.0,
        hudi_index_conn_id: str = HudiIndexHook.default_conn_name,
        storage_conn_id: str | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        refuse_credentials(table)
        check_number("poll_interval", poll_interval)
        self.table = table
        self.limits = limits
        self.poll_interval = poll_interval
        self.hudi_index_conn_id = hudi_index_conn_id
        self.storage_conn_id = storage_conn_id

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Its class and arguments, as Airflow stores them."""
        return serialized(self, "table", "limits", "poll_interval", "hudi_index_conn_id", "storage_conn_id")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look and pause until it is so."""
        pause, reason = self.poll_interval, ""
        while True:
            try:
                status = await asyncio.to_thread(self._look)
                found, pause = staleness(status, **self.limits), self.poll_interval
                if found is None:
                    yield TriggerEvent({"status": "success", "indexes": status})
                    return
            except Exception as error:  # noqa: BLE001  the table may not be there yet; the sensor has a timeout
                found, pause = f"{type(error).__name__}: {error}", longer(pause)
            if found != reason:
                self.log.info("%s: %s", self.table, found)
                reason = found
            await asyncio.sleep(pause)

    def _look(self) -> dict[str, Any]:
        return HudiIndexHook(self.hudi_index_conn_id, storage_conn_id=self.storage_conn_id).status(self.table)
