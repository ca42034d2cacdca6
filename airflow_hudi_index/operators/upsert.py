"""Writing rows through the record index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow_hudi_index.arguments import check_names
from airflow_hudi_index.job_command import JobCommand, argument
from airflow_hudi_index.locations import refuse_credentials
from airflow_hudi_index.operators.job import HudiIndexJobOperator
from airflow_hudi_index.outcome import JobRefusedError
from airflow_hudi_index.settings import task_key
from hudi_index.credentials import MASK, is_secret
from hudi_index.errors import InvalidOptionError, UserError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from airflow.sdk import Context

__all__ = ["HudiIndexedUpsertOperator"]

_TABLE = "table"


class HudiIndexedUpsertOperator(HudiIndexJobOperator):
    """Writes rows to a Hudi table in one commit, and brings all its indexes there.

    Records are found by the table's record index, not by Hudi's look-up. The commit names the task and the
    run: a try after one that was killed finds it, and only finishes the indexes. So does a run that is
    cleared; give `batch` to have its rows written once more. Two runs of one task do not write at the same
    time: the second is a conflict, and tried again.

    Args:
        source: path or URI of the rows, or a list of them; where the connection lets tables be. With
            `format="table"`, the name of a table in Spark's catalog. (templated)
        format: `parquet`, `orc`, `json`, `csv`, `hudi` or `table`. (templated)
        schema: the rows' columns, as in CREATE TABLE; found out by default. (templated)
        source_options: for Spark's reader, such as `{"header": "true"}`. No secrets. (templated)
        operation: `upsert`, or `delete`, which takes the keys of the records to delete. (templated)
        deletes: the column that is true for rows that delete their record. (templated)
        writer: who writes; by default the DAG's and the task's id. (templated)
        batch: names the batch; by default the run's id and the map index. (templated)
        index: `sync` brings all indexes to the commit, `async` leaves that to maintenance. (templated)
        lag: what to do about file groups that the record index does not describe: `auto`, `read` or
            `maintain`. (templated)
        keys: whether a record key is one within the `table` or its `partition`. (templated)
        options: for Hudi's writer. No secrets. (templated)
        kwargs: as of `HudiIndexJobOperator`; `backend="native"` is refused.
    """

    _single: ClassVar[tuple[str, ...]] = ("format", "schema", "operation", "deletes", "index", "lag", "keys")
    template_fields: Sequence[str] = (
        *HudiIndexJobOperator.template_fields,
        "source",
        *_single,
        "source_options",
        "writer",
        "batch",
        "options",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **HudiIndexJobOperator.template_fields_renderers,
        "options": "json",
        "source_options": "json",
    }

    def __init__(
        self,
        *,
        source: str | list[str],
        format: str = "parquet",  # noqa: A002  Spark's word for it
        schema: str | None = None,
        source_options: dict[str, str] | None = None,
        operation: str = "upsert",
        deletes: str | None = None,
        writer: str | None = None,
        batch: str | None = None,
        index: str = "sync",
        lag: str = "auto",
        keys: str | None = None,
        options: dict[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if self.backend != "engine":
            raise ValueError("Hudi's own indexes are kept by Hudi's own writer: backend must be 'engine'")
        self.source = source
        self.format = format
        self.schema = schema
        self.source_options = source_options
        self.operation = operation
        self.deletes = deletes
        self.writer = writer
        self.batch = batch
        self.index = index
        self.lag = lag
        self.keys = keys
        self.options = options
        self._named = ("", "")

    def execute(self, context: Context) -> dict[str, Any]:
        """Run the job; returns its report."""
        dag, run, task, map_index = task_key(context["ti"])
        self._named = f"{dag}/{task}", run if map_index == "-1" else f"{run}/{map_index}"
        return super().execute(context)

    def render_template_fields(self, context: Context, jinja_env: Any = None) -> None:
        """Render, and refuse what nobody should see before Airflow stores and shows it."""
        super().render_template_fields(context, jinja_env)
        try:
            for each in self._sources():
                refuse_credentials(each)
        except UserError as error:
            raise JobRefusedError(str(error)) from error

    def command(self, location: str) -> JobCommand:
        """The job. Raises UserError for a source that the connection does not give out, before any Spark."""
        chosen = [argument("source", self._place(each)) for each in self._sources()]
        chosen += [argument(name, value) for name in self._single if (value := getattr(self, name))]
        chosen.append(argument("writer", self.writer or self._named[0]))
        chosen.append(argument("batch", self.batch or self._named[1]))
        chosen += [argument("source-option", each) for each in _pairs("source_options", self.source_options)]
        chosen += [argument("option", each) for each in _pairs("options", self.options)]
        return JobCommand("upsert", "upsert.py", (*self.common_arguments(location), *chosen))

    def _sources(self) -> list[str]:
        one = isinstance(self.source, str)
        found = check_names("source", [self.source] if one else self.source)
        if not found or not all(found):
            raise InvalidOptionError(
                option="source", value=self.source, reason="expected where the rows are: a path or URI"
            )
        return list(found)

    def _place(self, source: str) -> str:
        if self.format == _TABLE:
            return source
        try:
            return self.hook.location_of(source)
        except InvalidOptionError as error:
            raise InvalidOptionError(option="source", value=error.value, reason=error.reason) from error


def _pairs(option: str, given: Any) -> Iterator[str]:
    if not isinstance(given or {}, dict):
        raise InvalidOptionError(option=option, value=given, reason="expected names and values")
    for name, value in (given or {}).items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        if is_secret(str(name), text):
            reason = "everybody can read it on the job's command line: put it into the connection's settings"
            raise InvalidOptionError(option=option, value=f"{name}={MASK}", reason=reason)
        yield f"{name}={text}"
