"""What a partition column holds: for most tables the partition path says it, not the files.

Hudi on Spark appends the values of partition columns from the partition path, so that is what a query sees:
an empty string and null are both `__HIVE_DEFAULT_PARTITION__` and come back as null, `%2F` comes back as
`/` even where paths are not url-encoded, `x=y` comes back as `y`. Columns come from the files only where
the path can't say (timestamp key generators, ordering fields), or where the paths of a table have another
depth than its partition fields. An index that took the files' word would refute file groups that Spark
finds rows in.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.table.config import TableConfig
    from hudi_index.table.schema import TableSchema

__all__ = ["PartitionColumns", "UnreadablePartitionValueError"]

DEFAULT_PARTITION = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = re.compile("%([0-9a-fA-F]{2})")
_INTEGER = re.compile(r"[+-]?\d+")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


class UnreadablePartitionValueError(ValueError):
    """A partition path whose value for a column is not certain."""


@dataclass(frozen=True)
class PartitionColumns:
    """The partition columns whose values come from the path."""

    fields: tuple[str, ...]
    """All partition fields, in the order of the path."""
    from_path: frozenset[str]
    types: tuple[pa.DataType, ...]
    """Types of `fields`."""

    @classmethod
    def of(cls, config: TableConfig, schema: TableSchema, partition_paths: Iterable[str]) -> PartitionColumns:
        """The partition columns of a table with these partitions."""
        fields = config.partition_fields
        known = set(schema.columns.names)
        if not fields or not known.issuperset(fields):
            return cls((), frozenset(), ())
        from_path = frozenset(fields)
        if not config.drops_partition_columns:
            from_path -= config.timestamp_partition_fields
            from_path -= frozenset(config.ordering_fields)
            # One path that can't be split makes Hudi read the table as if it had no partitions.
            if len(fields) > 1 and not all(_is_split(path, fields) for path in partition_paths):
                from_path = frozenset()
        return cls(fields, from_path, tuple(schema.columns.field(name).type for name in fields))

    def values_of(self, partition_path: str) -> dict[str, pa.Scalar[Any]]:
        """Values of the columns in `from_path`. Raises UnreadablePartitionValueError."""
        if not self.from_path:
            return {}
        found = {}
        for name, data_type, (text, is_raw) in zip(
            self.fields, self.types, self._texts_of(partition_path), strict=True
        ):
            if name in self.from_path:
                found[name] = pa.scalar(_value_of(name, text, data_type, is_raw=is_raw), data_type)
        return found

    def _texts_of(self, partition_path: str) -> list[tuple[str, bool]]:
        """Text per field, and whether it is the value itself: neither escaped nor a stand-in for null."""
        fragments = partition_path.split("/")
        if len(fragments) == len(self.fields):
            return [(part.partition("=")[2] if "=" in part else part, False) for part in fragments]
        if len(self.fields) == 1:
            return [(partition_path.removeprefix(f"{self.fields[0]}="), True)]
        if not _is_split(partition_path, self.fields):
            raise UnreadablePartitionValueError(
                f"partition path {partition_path!r} does not split into {self.fields}"
            )
        values: list[str] = []
        for part in fragments:
            if "=" in part:
                values.append(part.partition("=")[2])
            else:
                values[-1] += f"/{part}"
        if len(values) != len(self.fields):
            raise UnreadablePartitionValueError(
                f"partition path {partition_path!r} does not split into {self.fields}"
            )
        return [(value, True) for value in values]


def _is_split(partition_path: str, fields: tuple[str, ...]) -> bool:
    return partition_path.count("/") + 1 == len(fields) or partition_path.startswith(f"{fields[0]}=")


def _value_of(name: str, text: str, data_type: pa.DataType, *, is_raw: bool) -> Any:
    if is_raw:
        if pa.types.is_string(data_type):
            return text
        raise UnreadablePartitionValueError(f"partition path {text!r} is no {data_type} for column {name!r}")
    if text == DEFAULT_PARTITION:
        return None
    if pa.types.is_string(data_type):
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
    if pa.types.is_integer(data_type) and _INTEGER.fullmatch(text):
        return int(text)
    if pa.types.is_boolean(data_type) and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if pa.types.is_date32(data_type) and _DATE.fullmatch(text):
        return date.fromisoformat(text)
    # Numbers with a point, times and the rest: how Hudi wrote the value and how Spark would read it depend on
    # writer, version and time zone.
    raise UnreadablePartitionValueError(
        f"partition value {text!r} of column {name!r} is not certain as {data_type}"
    )
