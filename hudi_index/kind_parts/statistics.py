"""What minimum, maximum and counts of a column say, of a slice or of a partition.

Bounds are encoded values, so they compare as text whatever the column's type. NaN is a value, the largest.
Bounds of more than 256 characters are cut: the minimum to its beginning, the maximum to the least text above
all that begin like it. Then they are no longer exact, but no value lies outside.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from hudi_index.entries.decoding import decode_text
from hudi_index.entries.encoding import encode_text, key_type
from hudi_index.entries.keys import successor
from hudi_index.entries.schema import payload_fields

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from hudi_index.kind_parts.ranges import PartDomain

__all__ = ["PAYLOAD", "Statistics", "excluding", "merged", "read_statistics"]

PAYLOAD = "ColumnStatsMetadata"

_LIMIT = 256
_MOST_RANGES = 16
"""More are searched in entry by entry."""
_FIELDS = ("minValue", "maxValue", "valueCount", "nullCount", "nanCount", "isExact", "groupCount")


@dataclass(frozen=True, slots=True)
class Statistics:
    """A column's values over some rows."""

    minimum: str | None = None
    """Encoded. None if all rows are null, or if nobody knows."""
    maximum: str | None = None
    value_count: int = 0
    """All rows, null or not."""
    null_count: int = 0
    nan_count: int = 0
    is_exact: bool = True
    group_count: int = 1
    """How many file groups these rows are of."""

    def may_hold(self, domain: PartDomain) -> bool:
        """Whether a row may have one of these values. What is not known may be."""
        if domain.has_null and self.null_count > 0:
            return True
        if not domain.ranges or self.null_count == self.value_count:
            return False
        if self.minimum is None or self.maximum is None:
            return True
        return domain.meets(self.minimum, self.maximum)

    def with_short_bounds(self, data_type: pa.DataType) -> Statistics:
        """A copy whose bounds are not too long to keep."""
        if self.minimum is None or self.maximum is None:
            return self
        low, high = _cut_down(self.minimum, data_type), _cut_up(self.maximum, data_type)
        is_exact = self.is_exact and (low, high) == (self.minimum, self.maximum)
        return replace(self, minimum=low, maximum=high, is_exact=is_exact)

    def as_payload(self, column: str) -> dict[str, Any]:
        """The payload that says this of a column."""
        return {
            "columnName": column,
            "minValue": self.minimum,
            "maxValue": self.maximum,
            "valueCount": self.value_count,
            "nullCount": self.null_count,
            "nanCount": self.nan_count,
            "isExact": self.is_exact,
            "groupCount": self.group_count,
        }


def merged(parts: Iterable[Statistics]) -> Statistics:
    """Statistics of all the rows that several describe, bounds unknown if one's are."""
    each = list(parts)
    known = [one for one in each if one.null_count < one.value_count]
    lows = [one.minimum for one in known if one.minimum is not None]
    highs = [one.maximum for one in known if one.maximum is not None]
    has_bounds = bool(known) and len(lows) == len(highs) == len(known)
    return Statistics(
        minimum=min(lows) if has_bounds else None,
        maximum=max(highs) if has_bounds else None,
        value_count=sum(one.value_count for one in each),
        null_count=sum(one.null_count for one in each),
        nan_count=sum(one.nan_count for one in each),
        is_exact=all(one.is_exact for one in each) and (has_bounds or not known),
        group_count=sum(one.group_count for one in each),
    )


def read_statistics(entries: pa.Table) -> Iterator[Statistics | None]:
    """What each entry says; None for one that does not say how many rows and nulls there are."""
    fields = payload_fields(entries, PAYLOAD)
    # Field by field: a struct at a time takes ten times as long.
    columns: list[list[Any]] = [fields[name].to_pylist() for name in _FIELDS]
    for low, high, values, nulls, nans, is_exact, groups in zip(*columns, strict=True):
        is_known = values is not None and nulls is not None
        yield (
            Statistics(low, high, values, nulls, nans or 0, bool(is_exact), groups or 0) if is_known else None
        )


_COMPUTE: Any = pc
"""As Any: pyarrow's stubs don't know that arrays compare with plain values."""


def _or_true(answers: Any) -> Any:
    return answers.fill_null(True)  # noqa: FBT003 - a value


def excluding(entries: pa.Table, domain: PartDomain) -> npt.NDArray[np.bool_]:
    """Which entries say that no row has one of these values: `may_hold`, for all of them at once."""
    if len(domain.ranges) > _MOST_RANGES:
        each = [known is not None and not known.may_hold(domain) for known in read_statistics(entries)]
        return np.array(each, np.bool_)
    fields: dict[str, Any] = payload_fields(entries, PAYLOAD)
    low, high, rows, nulls = (fields[name] for name in ("minValue", "maxValue", "valueCount", "nullCount"))
    is_known = pc.and_(pc.is_valid(rows), pc.is_valid(nulls))
    may: Any = pa.repeat(pa.scalar(value=False), len(entries))
    for wanted in domain.ranges:
        # A bound that is not known is null, and so is what is compared with it: it may be.
        meets: Any = pa.repeat(pa.scalar(value=True), len(entries))
        if wanted.low is not None:
            above = _COMPUTE.greater_equal if wanted.has_low else _COMPUTE.greater
            meets = pc.and_(meets, _or_true(above(high, wanted.low)))
        if wanted.high is not None:
            below = _COMPUTE.less_equal if wanted.has_high else _COMPUTE.less
            meets = pc.and_(meets, _or_true(below(low, wanted.high)))
        may = pc.or_(may, meets)
    may = pc.and_(may, _or_true(pc.not_equal(nulls, rows)))
    if domain.has_null:
        may = pc.or_(may, _or_true(_COMPUTE.greater(nulls, 0)))
    found: npt.NDArray[np.bool_] = pc.and_(is_known, pc.invert(may)).to_numpy(zero_copy_only=False)
    return found


def _cut_down(part: str, data_type: pa.DataType) -> str:
    if _is_text(data_type):
        return encode_text(decode_text(part)[:_LIMIT]) if len(part) > _LIMIT else part
    return part[:_LIMIT]


def _cut_up(part: str, data_type: pa.DataType) -> str:
    if len(part) <= _LIMIT:
        return part
    if not _is_text(data_type):
        digits = f"{int(part[:_LIMIT], 16) + 1:0{_LIMIT}x}"
        # Where all digits are f, nothing of that length is above.
        return digits if len(digits) == _LIMIT else part
    text = decode_text(part)
    above = successor(text[:_LIMIT]) if len(text) > _LIMIT else None
    return part if above is None else encode_text(above)


def _is_text(data_type: pa.DataType) -> bool:
    return types.is_string(key_type(data_type))
