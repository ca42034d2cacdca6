"""Waiting for fresh indexes."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, conf
from airflow.sdk import BaseSensorOperator, PokeReturnValue

from airflow_hudi_index.freshness import staleness
from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.settings import poll_interval
from airflow_hudi_index.triggers.freshness import HudiIndexFreshTrigger
from hudi_index.errors import NoSuchTableError, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

__all__ = ["HudiIndexFreshSensor"]


class HudiIndexFreshSensor(BaseSensorOperator):
    """Waits until the indexes of a table cover its latest commit, or lag no more than allowed.

    Args:
        table: path or URI of the table, or its name in the connection's catalog. (templated)
        indexes: these must exist and be ready as well. (templated)
        max_commits_behind: so many commits that are not covered are fine.
        max_lag: it is fine if the oldest commit that is not covered is younger than this.
        hudi_index_conn_id: the connection; the default one need not exist. (templated)
        deferrable: wait without a worker.
        poke_interval: seconds between two looks; by default `[hudi_index] poll_interval`.
        kwargs: as of `BaseSensorOperator`.
    """

    template_fields: Sequence[str] = ("table", "indexes", "hudi_index_conn_id")
    ui_color = "#e6f1f2"

    def __init__(
        self,
        *,
        table: str,
        indexes: list[str] | None = None,
        max_commits_behind: int = 0,
        max_lag: timedelta | None = None,
        hudi_index_conn_id: str = HudiIndexHook.default_conn_name,
        deferrable: bool | None = None,
        poke_interval: float | timedelta | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(poke_interval=poll_interval() if poke_interval is None else poke_interval, **kwargs)
        self.table = table
        self.indexes = indexes
        self.max_commits_behind = max_commits_behind
        self.max_lag = max_lag
        self.hudi_index_conn_id = hudi_index_conn_id
        if deferrable is None:
            deferrable = conf.getboolean("operators", "default_deferrable", fallback=False)
        self.deferrable = deferrable

    @cached_property
    def hook(self) -> HudiIndexHook:
        """The hook of the connection."""
        return HudiIndexHook(self.hudi_index_conn_id)

    @property
    def limits(self) -> dict[str, Any]:
        """What is fresh enough, as plain values."""
        return {
            "indexes": list(self.indexes or ()),
            "max_commits_behind": self.max_commits_behind,
            "max_seconds_behind": self.max_lag.total_seconds() if self.max_lag is not None else None,
        }

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002  Airflow's
        """One look."""
        try:
            status = self.hook.status(self.table)
        except NoSuchTableError as error:
            self.log.info("%s", error)
            return PokeReturnValue(is_done=False)
        except UserError as error:
            raise AirflowFailException(str(error)) from error
        reason = staleness(status, **self.limits)
        if reason is not None:
            self.log.info("%s: %s", self.table, reason)
        return PokeReturnValue(is_done=reason is None, xcom_value=status)

    def execute(self, context: Context) -> Any:
        """Wait here, or in the triggerer."""
        if not self.deferrable:
            return super().execute(context)
        answer = self.poke(context)
        if not answer.is_done:
            self.defer(
                trigger=HudiIndexFreshTrigger(
                    table=self.hook.location_of(self.table),
                    limits=self.limits,
                    poll_interval=self.poke_interval,
                    storage_options=dict(self.hook.settings.storage_options),
                ),
                method_name="execute_complete",
                timeout=timedelta(seconds=self.timeout),
            )
        return answer.xcom_value

    def execute_complete(self, context: Context, event: dict[str, Any]) -> dict[str, Any]:  # noqa: ARG002
        """Take up what the trigger found."""
        status: dict[str, Any] = event["indexes"]
        return status
