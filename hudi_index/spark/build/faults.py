"""What Python workers could not read, on its way to the driver.

An error that a task raises comes to the driver as text, after Spark has tried the task again. What is known
here as an error of ours is noted instead: the task goes on, and the driver raises the error itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from pyspark.accumulators import AccumulatorParam

from hudi_index.errors import HudiIndexError

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

__all__ = ["FaultNotes", "fault_notes"]

FaultNotes: TypeAlias = "Accumulator[list[HudiIndexError]]"


class _Faults(AccumulatorParam[list[HudiIndexError]]):
    """Puts lists one behind the other."""

    def zero(self, value: list[HudiIndexError]) -> list[HudiIndexError]:  # noqa: ARG002 - as pyspark calls it
        return []

    def addInPlace(  # noqa: N802
        self, value1: list[HudiIndexError], value2: list[HudiIndexError]
    ) -> list[HudiIndexError]:
        value1.extend(value2)
        return value1


def fault_notes(spark: SparkSession) -> FaultNotes:
    """Where tasks of one job note errors; whole when the job has ended, the same one perhaps twice."""
    return spark.sparkContext.accumulator([], _Faults())
