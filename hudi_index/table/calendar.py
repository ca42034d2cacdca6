"""What a base file says of the calendar of its dates and timestamps, by Spark's own rule.

Until 1582-10-15 the calendar of Spark 2 (and of `spark.sql.parquet.datetimeRebaseModeInWrite=LEGACY`) has
other dates than today's, and until 1900-01-01 other timestamps, because of zones. Files tell which one they
use by keys of their footer:

    org.apache.spark.version          < 3.0.0 (for INT96 < 3.1.0): the old calendar
    org.apache.spark.legacyDateTime   the old calendar, for dates and timestamps
    org.apache.spark.legacyINT96      the old calendar, for timestamps stored as INT96

Spark shifts what it reads from such a file, in every session. Nobody else does, so its old values are for
Spark to read: `columns_for_spark` names the columns that may hold some. A file without the first key, as Hudi
writes it through Avro, is shifted by those sessions that ask for it (`hudi_index.predicate.calendar`); its
log blocks likewise, or never.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

__all__ = ["columns_for_spark", "has_times", "int96_columns", "is_as_stored"]

_VERSION = b"org.apache.spark.version"
_LEGACY_TIMES, _LEGACY_INT96 = b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"
_FIRST_DAY = -141_427
"""1582-10-15: from here on both calendars have the same dates."""
_FIRST_SECOND = -2_208_988_800
"""1900-01-01: from here on, the same timestamps in every zone."""
_INT96, _TIMES = "INT96", ("DATE", "TIMESTAMP")
_UNITS = {"milliseconds": 1_000, "microseconds": 1_000_000, "nanoseconds": 1_000_000_000}


def columns_for_spark(footer: Any, columns: Iterable[str] | None = None) -> frozenset[str]:
    """The columns of a base file that may hold values which Spark alone reads right.

    Args:
        footer: pyarrow's FileMetaData.
        columns: Columns by name or path; a nested one stands for its whole top-level column. All if None.
    """
    wanted = None if columns is None else {name.partition(".")[0] for name in columns} | set(columns)
    times: dict[int, str] = {}
    for position, leaf in enumerate(map(footer.schema.column, range(footer.num_columns))):
        top = leaf.path.partition(".")[0]
        is_wanted = wanted is None or top in wanted or leaf.path in wanted
        if is_wanted and (leaf.physical_type == _INT96 or leaf.logical_type.type in _TIMES):
            times[position] = top
    # Asked only now: among the keys is Hudi's Bloom filter, of some hundred kilobytes.
    stated = (footer.metadata or {}) if times else {}
    if _VERSION not in stated:
        return frozenset()
    version = _numbers_of(stated[_VERSION])
    is_old = version < (3, 0) or _LEGACY_TIMES in stated
    is_old_int96 = version < (3, 1) or _LEGACY_INT96 in stated
    found = set()
    for position, top in times.items():
        is_int96 = footer.schema.column(position).physical_type == _INT96
        if is_old_int96 if is_int96 else is_old and _may_be_old(footer, position):
            found.add(top)
    return frozenset(found)


def int96_columns(footer: Any) -> frozenset[str]:
    """The top-level columns that hold INT96 timestamps, of which hudi-rs reads only those of 1677 to 2262."""
    leaves = (footer.schema.column(position) for position in range(footer.num_columns))
    return frozenset(leaf.path.partition(".")[0] for leaf in leaves if leaf.physical_type == _INT96)


def is_as_stored(stored: pa.DataType, wanted: pa.DataType, *, is_int96: bool) -> bool:
    """Whether pyarrow gives a column's values as the table has them, at most without their zone, UTC."""
    if is_int96:
        return wanted in (pa.timestamp("us", tz="UTC"), pa.timestamp("us"))
    return bool(stored == wanted)


def has_times(schema: pa.Schema, columns: Collection[str]) -> bool:
    """Whether one of some top-level columns is a date or timestamp, or has one within."""
    return any(_holds_times(schema.field(name).type) for name in columns if name in schema.names)


def _holds_times(data_type: pa.DataType) -> bool:
    if pa.types.is_date(data_type) or pa.types.is_timestamp(data_type):
        return True
    return any(_holds_times(data_type.field(position).type) for position in range(data_type.num_fields))


def _numbers_of(version: bytes) -> tuple[int, ...]:
    """The leading numbers of a version; a text without any is older than all."""
    found = []
    for part in version.decode(errors="replace").split(".")[:2]:
        if not part.isdecimal():
            break
        found.append(int(part))
    return tuple(found)


def _may_be_old(footer: Any, position: int) -> bool:
    """Whether a column holds dates or timestamps that its statistics don't prove to be new enough."""
    logical = footer.schema.column(position).logical_type
    if logical.type == "DATE":
        first = _FIRST_DAY
    elif logical.type == "TIMESTAMP":
        unit = next((size for name, size in _UNITS.items() if name in str(logical)), None)
        if unit is None:
            return True
        first = _FIRST_SECOND * unit
    else:
        return False
    for group in range(footer.num_row_groups):
        chunk = footer.row_group(group).column(position)
        known = chunk.statistics if chunk.is_stats_set else None
        if known is None:
            return True
        if known.has_min_max:
            if known.min_raw < first:
                return True
        elif not known.has_null_count or known.null_count < chunk.num_values:
            return True
    return False
