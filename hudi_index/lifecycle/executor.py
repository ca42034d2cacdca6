"""Where builds run: the contract of executors, and what keeps them from running one.

There are two: hudi_index.lifecycle.local_executor, in this process, and hudi_index.spark.build.executor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from hudi_index.errors import HudiIndexError, SliceRefusedError, SlicesRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from hudi_index.lifecycle.build import Build
    from hudi_index.lifecycle.writing import TaskResult
    from hudi_index.metadata_table import ShardSlice, ShardWriter, WriteStat
    from hudi_index.predicate.catalyst.meaning import Meaning
    from hudi_index.predicate.session import Settings
    from hudi_index.table import SliceIdentity

__all__ = [
    "Executor",
    "ExpressionFacts",
    "raise_faults",
]


@dataclass(frozen=True, slots=True)
class ExpressionFacts:
    """What is recorded of an expression."""

    type_text: str
    """The type of its values, in Spark's words."""
    time_zone: str
    """The session's time zone, which its values may depend on."""
    meaning: Meaning
    """What Spark made of its text."""


def raise_faults(faults: Sequence[HudiIndexError]) -> None:
    """Raise what kept file groups from being described: refusals together, anything else first."""
    refused: dict[SliceIdentity, str] = {}
    for fault in faults:
        if not isinstance(fault, SliceRefusedError) or fault.identity is None:
            raise fault
        refused[fault.identity] = fault.reason
    if refused:
        raise SlicesRefusedError(refused=refused)


class Executor(Protocol):
    """Somewhere to run builds."""

    def describe_expression(
        self, schema: pa.Schema, sql: str, time_zone: str | None, settings: Settings | None, /
    ) -> ExpressionFacts:
        """What Spark makes of an expression over the table's columns.

        Args:
            schema: The table's.
            sql: The expression.
            time_zone: To compute it in; the session's if None.
            settings: To compute it under; the session's if None.

        Raises:
            UserError: it can't be indexed: unknown columns, no value per row, not the same value each time.
        """
        ...

    def run(self, build: Build) -> TaskResult:
        """Make all changes that a build needs, and write them.

        Raises:
            SlicesRefusedError: slices that are for Spark, which nobody knew before; nothing written counts.
        """
        ...

    def compact(self, writer: ShardWriter, slices: Sequence[ShardSlice]) -> list[WriteStat]:
        """Write a new base file for each slice."""
        ...
