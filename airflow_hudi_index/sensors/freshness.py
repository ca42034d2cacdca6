"""Waiting for fresh indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from airflow.sdk import PokeReturnValue

from airflow_hudi_index.arguments import check_names, check_number
from airflow_hudi_index.freshness import staleness
from airflow_hudi_index.sensors.waiting import TableSensor
from airflow_hudi_index.triggers.freshness import HudiIndexFreshTrigger

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import timedelta

__all__ = ["HudiIndexFreshSensor"]


class HudiIndexFreshSensor(TableSensor):
    """Waits until the indexes of a table cover its latest commit, or lag no more than allowed.

    Args:
        table: path or URI of the table, or its name in the connection's catalog. (templated)
        indexes: these must exist and be ready as well. (templated)
        max_commits_behind: so many commits that are not covered are fine.
        max_lag: it is fine if the oldest commit that is not covered is younger than this.
        hudi_index_conn_id: the connection; the default one need not exist. (templated)
        storage_conn_id: the connection to the object store that holds the table; by default the one that the
            connection names. (templated)
        deferrable: wait without a worker.
        poke_interval: seconds between two looks; by default `[hudi_index] poll_interval`.
        kwargs: as of `BaseSensorOperator`.
    """

    template_fields: Sequence[str] = (*TableSensor.template_fields, "indexes")
    found_in_event = "indexes"

    def __init__(
        self,
        *,
        indexes: list[str] | None = None,
        max_commits_behind: int = 0,
        max_lag: timedelta | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_number("max_commits_behind", max_commits_behind, whole=True)
        check_number("max_lag", max_lag)
        self.indexes = indexes
        self.max_commits_behind = max_commits_behind
        self.max_lag = max_lag

    @property
    def limits(self) -> dict[str, Any]:
        """What is fresh enough, as plain values."""
        return {
            "indexes": list(check_names("indexes", self.indexes) or ()),
            "max_commits_behind": self.max_commits_behind,
            "max_seconds_behind": self.max_lag.total_seconds() if self.max_lag is not None else None,
        }

    def look(self) -> PokeReturnValue:
        """The status, and whether it is fresh enough."""
        status = self.hook.status(self.table)
        reason = staleness(status, **self.limits)
        if reason is not None:
            self.log.info("%s: %s", self.table, reason)
        return PokeReturnValue(is_done=reason is None, xcom_value=status)

    def trigger(self, **where: Any) -> HudiIndexFreshTrigger:
        """Ends when they are fresh enough."""
        return HudiIndexFreshTrigger(limits=self.limits, **where)
