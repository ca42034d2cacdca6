"""Waiting for a commit."""

from __future__ import annotations

from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, conf
from airflow.sdk import BaseSensorOperator, PokeReturnValue

from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.settings import poll_interval
from airflow_hudi_index.triggers.commits import HudiCommitTrigger
from hudi_index.errors import NoSuchTableError, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context

__all__ = ["HudiCommitSensor"]


class HudiCommitSensor(BaseSensorOperator):
    """Waits until a table has a completed commit later than a given moment; the XCom lists those commits.

    Args:
        table: path or URI of the table, or its name in the connection's catalog. (templated)
        after: only commits completed later: an instant (`20240131120000000`), or a moment in ISO 8601 such as
            `{{ prev_start_date_success or '' }}`; empty for any. (templated)
        partitions: only commits that wrote into one of these partitions. (templated)
        actions: only these actions, such as `replacecommit`; by default all that change it. (templated)
        hudi_index_conn_id: the connection; the default one need not exist. (templated)
        deferrable: wait without a worker.
        poke_interval: seconds between two looks; by default `[hudi_index] poll_interval`.
        kwargs: as of `BaseSensorOperator`.
    """

    template_fields: Sequence[str] = ("table", "after", "partitions", "actions", "hudi_index_conn_id")
    ui_color = "#e6f1f2"

    def __init__(
        self,
        *,
        table: str,
        after: str | None = None,
        partitions: list[str] | None = None,
        actions: list[str] | None = None,
        hudi_index_conn_id: str = HudiIndexHook.default_conn_name,
        deferrable: bool | None = None,
        poke_interval: float | timedelta | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(poke_interval=poll_interval() if poke_interval is None else poke_interval, **kwargs)
        self.table = table
        self.after = after
        self.partitions = partitions
        self.actions = actions
        self.hudi_index_conn_id = hudi_index_conn_id
        if deferrable is None:
            deferrable = conf.getboolean("operators", "default_deferrable", fallback=False)
        self.deferrable = deferrable

    @cached_property
    def hook(self) -> HudiIndexHook:
        """The hook of the connection."""
        return HudiIndexHook(self.hudi_index_conn_id)

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002  Airflow's
        """One look."""
        try:
            found = self.hook.commits_after(
                self.table, self.after, partitions=self.partitions, actions=self.actions
            )
        except NoSuchTableError as error:
            # Its first commit makes it.
            self.log.info("%s", error)
            found = []
        except UserError as error:
            raise AirflowFailException(str(error)) from error
        return PokeReturnValue(is_done=bool(found), xcom_value=found)

    def execute(self, context: Context) -> Any:
        """Wait here, or in the triggerer."""
        if not self.deferrable:
            return super().execute(context)
        answer = self.poke(context)
        if not answer.is_done:
            self.defer(
                trigger=HudiCommitTrigger(
                    table=self.hook.location_of(self.table),
                    after=self.after,
                    partitions=self.partitions,
                    actions=self.actions,
                    poll_interval=self.poke_interval,
                    storage_options=dict(self.hook.settings.storage_options),
                    once=True,
                ),
                method_name="execute_complete",
                timeout=timedelta(seconds=self.timeout),
            )
        return answer.xcom_value

    def execute_complete(self, context: Context, event: dict[str, Any]) -> list[dict[str, str]]:  # noqa: ARG002
        """Take up what the trigger found."""
        found: list[dict[str, str]] = event["commits"]
        return found
