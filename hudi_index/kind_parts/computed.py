"""Statistics of a column's values: of rows, or of what a Parquet footer says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hudi_index.entries.encoding import encode_array, encode_text, encode_value, key_type
from hudi_index.errors import UnencodableValueError
from hudi_index.kind_parts.statistics import Statistics

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.kind_parts.source import Source
    from hudi_index.table.footer import ColumnStatistics

__all__ = ["is_certain", "statistics_of_footer", "statistics_of_values"]

_NAN = encode_value(float("nan"), pa.float64())


def is_certain(source: Source, statistics: Mapping[str, ColumnStatistics | None]) -> bool:
    """Whether a footer says of a column what its rows would."""
    return _certain(source, statistics) is not None


def statistics_of_footer(
    source: Source, statistics: Mapping[str, ColumnStatistics | None]
) -> Statistics | None:
    """What a footer says of a column; None if rows could say something else."""
    known = _certain(source, statistics)
    if known is None:
        return None
    low, high = _encode_bounds(known, source.name)
    return Statistics(low, high, known.value_count, known.null_count)


def _certain(source: Source, statistics: Mapping[str, ColumnStatistics | None]) -> ColumnStatistics | None:
    # Footers don't count NaNs, and may write 0.0 for -0.0.
    return None if types.is_floating(key_type(source.data_type)) else statistics.get(source.column)


def statistics_of_values(values: pa.Array[Any], column: str) -> Statistics:
    """Statistics of some rows. Raises UnencodableValueError."""
    rows, nulls = len(values), values.null_count
    if nulls == rows:
        return Statistics(None, None, rows, nulls, group_count=0)
    try:
        values = values.cast(key_type(values.type, column))
    except pa.ArrowInvalid as error:
        raise UnencodableValueError(column=column, type_name=str(values.type), reason=str(error)) from error
    nans: int = pc.is_nan(values).true_count if types.is_floating(values.type) else 0
    # Arrow leaves NaN out of both bounds, and gives infinities if there is nothing else.
    bounds: Any = pc.min_max(values)
    low, high = _encode([bounds["min"], bounds["max"]], column)
    if nans:
        low, high = _NAN if nans == rows - nulls else low, _NAN
    return Statistics(low, high, rows, nulls, nans, group_count=0)


def _encode_bounds(known: ColumnStatistics, column: str) -> tuple[str | None, str | None]:
    low, high = known.minimum, known.maximum
    if low is None or high is None:
        return None, None
    if types.is_string(low.type):
        # Without the detour over an array: there are two for each column of each file.
        return encode_text(low.as_py()), encode_text(high.as_py())
    return _encode([low, high], column)


def _encode(bounds: list[Any], column: str) -> tuple[str, str]:
    """Both at once: there are two for each column of each file."""
    both: Any = encode_array(pa.concat_arrays([pa.repeat(each, 1) for each in bounds]), column)
    low, high = both.to_pylist()
    return low, high
