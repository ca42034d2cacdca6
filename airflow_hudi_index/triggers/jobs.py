"""Waiting for a job that runs apart from any worker."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_hudi_index.arguments import check_number
from airflow_hudi_index.local_job import LocalJob
from airflow_hudi_index.triggers.polling import serialized

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

__all__ = ["LocalJobTrigger"]


class LocalJobTrigger(BaseTrigger):
    """Fires when the job of a folder ends. All it knows is in that folder, so it may be restarted anywhere.

    Args:
        folder: the job's.
        poll_interval: seconds between two looks.
    """

    def __init__(self, *, folder: str, poll_interval: float = 2.0) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        check_number("poll_interval", poll_interval)
        self.folder = folder
        self.poll_interval = poll_interval

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Its class and arguments, as Airflow stores them."""
        return serialized(self, "folder", "poll_interval")

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look and pause until it has ended."""
        job = LocalJob(Path(self.folder))
        while (code := await asyncio.to_thread(job.exit_code)) is None:
            await asyncio.sleep(self.poll_interval)
        yield TriggerEvent({"folder": self.folder, "code": code})

    async def on_kill(self) -> None:
        """A user ended the task: end the job too."""
        await asyncio.to_thread(LocalJob(Path(self.folder)).cancel)
