"""What Spark raises when it refuses a query, and when a job of one fails."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

__all__ = ["SPARK_FAILURES", "first_line"]

SPARK_FAILURES = (PySparkException, Py4JJavaError)
"""To pyspark 3.5 the failure of a job is no exception of its own, but one of Java's."""


def first_line(error: Exception) -> str:
    """What an error says, without what follows."""
    text = str(error.java_exception) if isinstance(error, Py4JJavaError) else str(error)
    causes = [line.strip() for line in text.splitlines() if line.startswith("Caused by")]
    return (causes[-1:] or text.splitlines() or [type(error).__name__])[0]
