"""Waiting for commits, for a sensor that is deferred or for an asset that is watched."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from airflow_hudi_index.arguments import check_number
from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.locations import refuse_credentials
from airflow_hudi_index.triggers.polling import longer, serialized

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["HudiCommitTrigger"]

_SEEN = "seen_commits"


class HudiCommitTrigger(BaseEventTrigger):
    """Fires when a table has new completed commits.

    Each look that finds some gives one event with all of them: Airflow folds a burst of events into one run
    that sees only the first. It never raises, since Airflow would start it again every second for ever: what
    can't be looked at is logged and looked at again, less and less often.

    In an `AssetWatcher` it remembers, in Airflow's asset state store, which commits it has told of: by
    their names, not by the latest time, since clocks of writers differ. One that was told of just before a
    crash may be told of twice.

    Args:
        table: path or URI of the table, or its name in the connection's catalog.
        after: only commits completed later, an instant or a moment in ISO 8601.
        partitions: only commits that wrote into one of these partitions.
        actions: only these actions; by default those that change what a table holds.
        poll_interval: seconds between two looks.
        hudi_index_conn_id: the connection, which is looked up where the trigger runs: what a trigger is given
            is stored, and no place for secrets.
        storage_conn_id: the connection to the object store, looked up there too; by default the one that the
            connection names.
        once: end with the first event, for a sensor.
    """

    def __init__(
        self,
        *,
        table: str,
        after: str | None = None,
        partitions: list[str] | None = None,
        actions: list[str] | None = None,
        poll_interval: float = 5.0,
        hudi_index_conn_id: str = HudiIndexHook.default_conn_name,
        storage_conn_id: str | None = None,
        once: bool = False,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        refuse_credentials(table)
        check_number("poll_interval", poll_interval)
        self.table = table
        self.after = after
        self.partitions = partitions
        self.actions = actions
        self.poll_interval = poll_interval
        self.hudi_index_conn_id = hudi_index_conn_id
        self.storage_conn_id = storage_conn_id
        self.once = once

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Its class and arguments, as Airflow stores them."""
        where = ("table", "hudi_index_conn_id", "storage_conn_id")
        return serialized(self, *where, "after", "partitions", "actions", "poll_interval", "once")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look, tell, remember, pause."""
        # Airflow 3.3 gives it to triggers of watched assets only.
        store = getattr(self, "asset_state_store", None)
        seen: set[str] | None = None
        pause, complaint = self.poll_interval, ""
        while True:
            try:
                if seen is None:
                    seen = set(await store.aget(_SEEN, []) or []) if store is not None else set()
                found = await asyncio.to_thread(self._look)
            except Exception as error:  # noqa: BLE001  see the class
                if complaint != (complaint := f"{type(error).__name__}: {error}"):
                    self.log.warning("can't look at %s: %s; trying on", self.table, complaint)
                pause = longer(pause)
                await asyncio.sleep(pause)
                continue
            pause, complaint = self.poll_interval, ""
            new = [each for each in found if _name(each) not in seen]
            if new:
                yield TriggerEvent(
                    {
                        "status": "success",
                        "table": self.table,
                        "instant": new[-1]["completed"],
                        "commits": new,
                    }
                )
                if self.once:
                    return
                # What the timeline no longer holds is archived and can't come again.
                seen = {_name(each) for each in found}
                await self._remember(store, seen)
            await asyncio.sleep(pause)

    def _look(self) -> list[dict[str, str]]:
        # Anew each time: a connection may be mended meanwhile.
        return HudiIndexHook(self.hudi_index_conn_id, storage_conn_id=self.storage_conn_id).commits_after(
            self.table, self.after, partitions=self.partitions, actions=self.actions
        )

    async def _remember(self, store: Any, seen: set[str]) -> None:
        if store is None:
            return
        try:
            await store.aset(_SEEN, sorted(seen))
        except Exception as error:  # noqa: BLE001  the next event tries again; a restart would tell twice
            self.log.warning("can't remember which commits of %s were told of: %s", self.table, error)


def _name(commit: dict[str, str]) -> str:
    return f"{commit['requested']}_{commit['completed']}.{commit['action']}"
