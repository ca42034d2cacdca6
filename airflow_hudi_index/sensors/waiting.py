"""What sensors of a table have in common: looking at it again and again, in a worker or in the triggerer."""

from __future__ import annotations

from abc import abstractmethod
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

from airflow.providers.common.compat.sdk import AirflowFailException, conf
from airflow.sdk import BaseSensorOperator, PokeReturnValue

from airflow_hudi_index.arguments import check_number
from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.locations import refuse_credentials
from airflow_hudi_index.settings import poll_interval
from hudi_index.errors import ConflictError, HudiIndexError, NoSuchTableError, UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from airflow.sdk import Context
    from airflow.triggers.base import BaseTrigger

__all__ = ["TableSensor"]


class TableSensor(BaseSensorOperator):
    """Waits for something about one table.

    Args:
        table: path or URI of the table, or its name in the connection's catalog. (templated)
        hudi_index_conn_id: the connection; the default one need not exist. (templated)
        storage_conn_id: the connection to the object store that holds the table; by default the one that the
            connection names. (templated)
        deferrable: wait without a worker.
        poke_interval: seconds between two looks; by default `[hudi_index] poll_interval`.
        kwargs: as of `BaseSensorOperator`.
    """

    template_fields: Sequence[str] = ("table", "hudi_index_conn_id", "storage_conn_id")
    ui_color = "#e6f1f2"
    found_in_event: str
    """What the trigger's event calls that which was waited for."""

    def __init__(
        self,
        *,
        table: str,
        hudi_index_conn_id: str = HudiIndexHook.default_conn_name,
        storage_conn_id: str | None = None,
        deferrable: bool | None = None,
        poke_interval: float | timedelta | None = None,
        **kwargs: Any,
    ) -> None:
        refuse_credentials(table)
        # A timeout that is not a number would never be over.
        for name, value in (("poke_interval", poke_interval), ("timeout", kwargs.get("timeout"))):
            check_number(name, value)
        super().__init__(poke_interval=poll_interval() if poke_interval is None else poke_interval, **kwargs)
        self.table = table
        self.hudi_index_conn_id = hudi_index_conn_id
        self.storage_conn_id = storage_conn_id
        if deferrable is None:
            deferrable = conf.getboolean("operators", "default_deferrable", fallback=False)
        self.deferrable = deferrable

    @cached_property
    def hook(self) -> HudiIndexHook:
        """The hook of the connection."""
        return HudiIndexHook(self.hudi_index_conn_id, storage_conn_id=self.storage_conn_id)

    @abstractmethod
    def look(self) -> PokeReturnValue:
        """Whether it is there, and what. Raises UserError."""

    @abstractmethod
    def trigger(self, **where: Any) -> BaseTrigger:
        """What waits for it in the triggerer, given where the table is and how often to look."""

    def render_template_fields(self, context: Context, jinja_env: Any = None) -> None:
        """Render, and refuse credentials before Airflow stores and shows what was rendered."""
        super().render_template_fields(context, jinja_env)
        try:
            refuse_credentials(self.table)
        except UserError as error:
            raise AirflowFailException(str(error)) from error

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002  Airflow's
        """One look."""
        try:
            return self.look()
        except NoSuchTableError as error:
            # Its first commit makes it.
            self.log.info("%s", error)
            return PokeReturnValue(is_done=False)
        except HudiIndexError as error:
            # Also what a person has to mend first, as a permission.
            if error.exit_code == UserError.exit_code:
                raise AirflowFailException(str(error)) from error
            if error.exit_code != ConflictError.exit_code:
                raise
            # It may pass by itself, as a store that does not answer: the sensor has a timeout.
            self.log.warning("%s", error)
            return PokeReturnValue(is_done=False)

    def execute(self, context: Context) -> Any:
        """Wait here, or in the triggerer."""
        if not self.deferrable:
            return super().execute(context)
        answer = self.poke(context)
        if not answer.is_done:
            trigger = self.trigger(
                table=self.table,
                poll_interval=self.poke_interval,
                hudi_index_conn_id=self.hudi_index_conn_id,
                storage_conn_id=self.storage_conn_id,
            )
            timeout = timedelta(seconds=self.timeout)
            self.defer(trigger=trigger, method_name="execute_complete", timeout=timeout)
        return answer.xcom_value

    def execute_complete(self, context: Context, event: dict[str, Any]) -> Any:  # noqa: ARG002  Airflow's
        """Take up what the trigger found."""
        return event[self.found_in_event]
