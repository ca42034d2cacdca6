"""Waiting for a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import PokeReturnValue

from airflow_hudi_index.arguments import check_names
from airflow_hudi_index.commits import ACTIONS
from airflow_hudi_index.sensors.waiting import TableSensor
from airflow_hudi_index.triggers.commits import HudiCommitTrigger

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HudiCommitSensor"]


class HudiCommitSensor(TableSensor):
    """Waits until a table has a completed commit later than a given moment; the XCom lists those commits.

    Args:
        table: path or URI of the table, or its name in the connection's catalog. (templated)
        after: only commits completed later: an instant (`20240131120000000`), or a moment in ISO 8601 such as
            `{{ prev_start_date_success or '' }}`; empty for any. (templated)
        partitions: only commits that wrote into one of these partitions. (templated)
        actions: only these actions, such as `replacecommit`; by default all that change it. (templated)
        hudi_index_conn_id: the connection; the default one need not exist. (templated)
        storage_conn_id: the connection to the object store that holds the table; by default the one that the
            connection names. (templated)
        deferrable: wait without a worker.
        poke_interval: seconds between two looks; by default `[hudi_index] poll_interval`.
        kwargs: as of `BaseSensorOperator`.
    """

    template_fields: Sequence[str] = (*TableSensor.template_fields, "after", "partitions", "actions")
    found_in_event = "commits"

    def __init__(
        self,
        *,
        after: str | None = None,
        partitions: list[str] | None = None,
        actions: list[str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.after = after
        self.partitions = partitions
        self.actions = actions

    def look(self) -> PokeReturnValue:
        """The commits so far."""
        check_names("partitions", self.partitions)
        check_names("actions", self.actions, ACTIONS)
        found = self.hook.commits_after(
            self.table, self.after, partitions=self.partitions, actions=self.actions
        )
        return PokeReturnValue(is_done=bool(found), xcom_value=found)

    def trigger(self, **where: Any) -> HudiCommitTrigger:
        """Ends with the first commit."""
        return HudiCommitTrigger(
            after=self.after, partitions=self.partitions, actions=self.actions, once=True, **where
        )
