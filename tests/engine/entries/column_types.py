"""Every type of column that can be encoded, with values for it and the order that Spark gives them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

INT64 = (-(2**63), 2**63 - 1)
HOSTILE = [
    "",
    "!",
    '"',
    "#",
    "$",
    "%",
    "&",
    "%21",
    "%24",
    "$$",
    "a",
    "a!",
    "a$",
    "a%",
    "a&",
    "a b",
    "ab",
    "\0",
    "a\0",
]
HOSTILE += [
    "\x7f",
    "\x80",
    "é",
    "\ud7ff",
    "\ue000",
    "\uffff",
    "\U00010000",
    "\U0010ffff",
    ".",
    "%2E",
    "\n",
    "x" * 5000,
]
texts = st.one_of(
    st.sampled_from(HOSTILE),
    st.text(alphabet=st.sampled_from("\0\t !\"#$%&'+-09Aa~\x7fé\uffff\U0001f600\U0010ffff"), max_size=6),
    st.text(max_size=8),
)


@dataclass(frozen=True)
class Case:
    """A column type, values for it in a raw form, and the order that Spark gives them."""

    data_type: pa.DataType
    raw: st.SearchStrategy[Any]
    rank: Callable[[Any], Any] = lambda raw: raw
    storage: pa.DataType | None = None
    """The type whose bytes the raw values fill, where Python lacks values of the type itself."""

    def array(self, raws: list[Any]) -> pa.Array[Any]:
        if pa.types.is_dictionary(self.data_type):
            plain = pa.array(raws, self.data_type.value_type).dictionary_encode()
            indices = plain.indices.cast(self.data_type.index_type)
            return pa.DictionaryArray.from_arrays(indices, plain.dictionary)
        if pa.types.is_float16(self.data_type):
            raws = [None if raw is None else np.float16(raw) for raw in raws]
        array = pa.array(raws, self.storage or self.data_type)
        return array if self.storage is None else array.view(self.data_type)


def whole(low: int, high: int) -> st.SearchStrategy[int]:
    edges = [edge for edge in (low, low + 1, -1, 0, 1, high - 1, high) if low <= edge <= high]
    return st.one_of(st.sampled_from(edges), st.integers(low, high))


def integer(data_type: pa.DataType, low: int, high: int) -> Case:
    return Case(data_type, whole(low, high))


def counted(data_type: pa.DataType, scale: int = 1, limits: tuple[int, int] = INT64) -> Case:
    """Days, microseconds and the like, given as their numbers, far beyond Python's years."""
    narrow = data_type.bit_width == 32
    low, high = (-(2**31), 2**31 - 1) if narrow and limits == INT64 else limits
    return Case(
        data_type,
        whole(-(-low // scale), high // scale).map(lambda number: number * scale),
        storage=pa.int32() if narrow else pa.int64(),
    )


def float_rank(value: float) -> tuple[bool, float]:
    return (True, 0.0) if math.isnan(value) else (False, value + 0.0)


def floating(data_type: pa.DataType, width: Any) -> Case:
    special = [0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan]
    return Case(data_type, st.one_of(st.sampled_from(special), st.floats(width=width)), float_rank)


def decimal(data_type: Any) -> Case:
    limit = 10**data_type.precision - 1

    def scaled(unscaled: int) -> Decimal:
        with localcontext() as context:
            context.prec = 100  # an argument only since Python 3.11
            return Decimal(unscaled).scaleb(-data_type.scale)

    return Case(data_type, whole(-limit, limit).map(scaled))


def text(data_type: pa.DataType) -> Case:
    return Case(data_type, texts, str.encode)


def binary(data_type: pa.DataType, size: int | None = None) -> Case:
    sizes = {"min_size": size, "max_size": size} if size is not None else {"max_size": 6}
    return Case(data_type, st.binary(**sizes))


DAY = 86_400_000_000
CASES = [
    integer(pa.int8(), -(2**7), 2**7 - 1),
    integer(pa.int16(), -(2**15), 2**15 - 1),
    integer(pa.int32(), -(2**31), 2**31 - 1),
    integer(pa.int64(), *INT64),
    integer(pa.uint8(), 0, 2**8 - 1),
    integer(pa.uint16(), 0, 2**16 - 1),
    integer(pa.uint32(), 0, 2**32 - 1),
    integer(pa.uint64(), 0, 2**64 - 1),
    integer(pa.dictionary(pa.int32(), pa.int64()), *INT64),
    floating(pa.float16(), 16),
    floating(pa.float32(), 32),
    floating(pa.float64(), 64),
    Case(pa.bool_(), st.booleans()),
    counted(pa.date32()),
    counted(pa.date64(), 86_400_000, (-(2**31) * 86_400_000, (2**31 - 1) * 86_400_000)),
    counted(pa.timestamp("us")),
    counted(pa.timestamp("us", "UTC")),
    counted(pa.timestamp("ms"), limits=(-(2**63) // 1000 + 1, (2**63 - 1) // 1000)),
    counted(pa.timestamp("s"), limits=(-(2**63) // 10**6 + 1, (2**63 - 1) // 10**6)),
    counted(pa.timestamp("ns", "Europe/Berlin"), 1000),
    counted(pa.time32("s"), limits=(0, 86_399)),
    counted(pa.time32("ms"), limits=(0, 86_399_999)),
    counted(pa.time64("us"), limits=(0, DAY - 1)),
    counted(pa.time64("ns"), 1000, (0, 1000 * DAY - 1)),
    decimal(pa.decimal32(9, 2)),
    decimal(pa.decimal64(18, 0)),
    decimal(pa.decimal128(1, 0)),
    decimal(pa.decimal128(38, 0)),
    decimal(pa.decimal128(38, 38)),
    decimal(pa.decimal128(10, -3)),
    decimal(pa.decimal256(20, 5)),
    decimal(pa.decimal256(76, 10)),
    text(pa.string()),
    text(pa.large_string()),
    text(pa.string_view()),
    text(pa.dictionary(pa.int8(), pa.string())),
    text(pa.dictionary(pa.int32(), pa.large_string())),
    binary(pa.binary()),
    binary(pa.large_binary()),
    binary(pa.binary_view()),
    binary(pa.binary(3), 3),
    binary(pa.dictionary(pa.int32(), pa.binary())),
]
every_type = pytest.mark.parametrize("case", CASES, ids=lambda case: str(case.data_type))
