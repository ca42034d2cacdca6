"""Waiting for fresh indexes."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_hudi_index.freshness import staleness

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["HudiIndexFreshTrigger"]

_LONGEST_PAUSE = 300.0


class HudiIndexFreshTrigger(BaseTrigger):
    """Fires once, when the indexes of a table are fresh enough.

    Args:
        table: path or URI of the table.
        limits: what is fresh enough, as of `freshness.staleness`.
        poll_interval: seconds between two looks.
        storage_options: how to reach the storage.
    """

    def __init__(
        self,
        *,
        table: str,
        limits: dict[str, Any],
        poll_interval: float = 5.0,
        storage_options: dict[str, str] | None = None,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.table = table
        self.limits = limits
        self.poll_interval = poll_interval
        self.storage_options = storage_options

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Its class and arguments, as Airflow stores them."""
        names = ("table", "limits", "poll_interval", "storage_options")
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {name: getattr(self, name) for name in names},
        )

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
                found, pause = f"{type(error).__name__}: {error}", min(max(pause, 1.0) * 2, _LONGEST_PAUSE)
            if found != reason:
                self.log.info("%s: %s", self.table, found)
                reason = found
            await asyncio.sleep(pause)

    def _look(self) -> dict[str, Any]:
        from hudi_index import IndexedTable

        return IndexedTable.open(self.table, self.storage_options).status().as_dict()
