"""Creating indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from airflow_hudi_index.job_command import JobCommand, argument
from airflow_hudi_index.operators.job import HudiIndexJobOperator
from airflow_hudi_index.statements import create_statement
from hudi_index.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["HudiCreateIndexOperator"]


class HudiCreateIndexOperator(HudiIndexJobOperator):
    """Creates an index: by SQL, or by its parts.

    Values that come from a run's parameters belong into the parts: each is quoted into its place. What stands
    in `statement` is SQL, whoever wrote it; only statements that create or rebuild indexes are taken.

    Args:
        statement: `CREATE INDEX …` or `REBUILD INDEX …`, or a list of them, carried out in one job. With
            `IF NOT EXISTS` a task that is run again has nothing to do. (templated)
        name: the index's name. (templated)
        kind: column_stats, bloom_filters, record_index, secondary_index or bitmap; by default secondary_index
            over columns and column_stats over an expression. (templated)
        columns: the columns; `a.b` is a field of a struct. (templated)
        expression: Spark SQL over columns, in place of columns. (templated)
        options: such as `{"shards": 8}`. (templated)
        if_not_exists: an index of that name is fine.
        kwargs: as of `HudiIndexJobOperator`.
    """

    template_fields: Sequence[str] = (
        *HudiIndexJobOperator.template_fields,
        "statement",
        "name",
        "kind",
        "columns",
        "expression",
        "options",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **HudiIndexJobOperator.template_fields_renderers,
        "statement": "sql",
    }

    def __init__(
        self,
        *,
        statement: str | list[str] | None = None,
        name: str | None = None,
        kind: str | None = None,
        columns: list[str] | None = None,
        expression: str | None = None,
        options: dict[str, Any] | None = None,
        if_not_exists: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if (statement is None) == (name is None):
            raise ValueError("give a statement, or name with columns or expression")
        self.statement = statement
        self.name = name
        self.kind = kind
        self.columns = columns
        self.expression = expression
        self.options = options
        self.if_not_exists = if_not_exists

    def statements(self) -> list[str]:
        """The SQL. Raises UserError for parts that can't be."""
        if self.statement is not None:
            found = [self.statement] if isinstance(self.statement, str) else list(self.statement)
            if not found:
                raise UserError("the list of statements is empty")
            return found
        return [
            create_statement(
                name=self.name or "",
                kind=self.kind or None,
                columns=self.columns,
                expression=self.expression,
                options=self.options,
                if_not_exists=self.if_not_exists,
            )
        ]

    def command(self, location: str) -> JobCommand:
        """The job."""
        statements = (argument("statement", each) for each in self.statements())
        return JobCommand("create", "initialize.py", (*self.common_arguments(location), *statements))
