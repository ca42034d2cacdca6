"""Laws of the value encoding, for every type: order, equality, round trip, arrays and literals alike."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, localcontext
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hudi_index.entries import (
    NULL,
    SEPARATOR,
    decode_text,
    encode_array,
    encode_text,
    encode_value,
    encode_values,
    key_type,
)
from hudi_index.errors import KeyCorruptError, UnencodableValueError, UnsupportedTypeError
from tests.support.decoding import decode_array, decode_value

if TYPE_CHECKING:
    from collections.abc import Callable

FEWER = settings(max_examples=settings().max_examples // 4)
"""Per type, and there are many."""

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
naive = datetime.fromisoformat
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


def terminated(parts: list[str]) -> list[bytes]:
    return [(part + SEPARATOR).encode() for part in parts]


@every_type
@given(data=st.data())
@FEWER
def test_order_of_any_two_values_is_the_order_of_their_keys(case: Case, data: st.DataObject) -> None:
    raws = data.draw(st.lists(st.none() | case.raw, min_size=2, max_size=8))
    ranks = [(raw is not None, None if raw is None else case.rank(raw)) for raw in raws]
    ranked = sorted(zip(ranks, terminated(encode_array(case.array(raws)).to_pylist()), strict=True))  # type: ignore[arg-type]  # no null among them
    for (left, left_key), (right, right_key) in pairwise(ranked):
        assert (left == right) == (left_key == right_key)
        assert left_key <= right_key


@every_type
@given(data=st.data())
@FEWER
def test_array_decoded_again_is_the_same(case: Case, data: st.DataObject) -> None:
    raws = data.draw(st.lists(st.none() | case.raw, max_size=8))
    parts = encode_array(case.array(raws))
    decoded = decode_array(parts, case.data_type)
    plain = case.data_type.value_type if pa.types.is_dictionary(case.data_type) else case.data_type
    decoded.validate(full=True)
    assert decoded.type == plain
    if pa.types.is_floating(plain):
        ranks = [None if raw is None else float_rank(raw) for raw in raws]
        assert [None if value is None else float_rank(value) for value in decoded.to_pylist()] == ranks
    else:
        assert decoded.equals(case.array(raws).cast(plain))
    assert encode_array(decoded).equals(parts)


@every_type
@given(data=st.data())
@FEWER
def test_array_sliced_or_chunked_encodes_like_its_values(case: Case, data: st.DataObject) -> None:
    raws = data.draw(st.lists(st.none() | case.raw, min_size=1, max_size=8))
    start = data.draw(st.integers(0, len(raws)))
    stop = data.draw(st.integers(start, len(raws)))
    array = case.array(raws)
    one_by_one = [encode_array(case.array([raw]))[0].as_py() for raw in raws]
    parts = encode_array(array)
    parts.validate(full=True)
    assert parts.type == pa.string()
    assert parts.null_count == 0
    assert parts.to_pylist() == one_by_one
    assert encode_array(array.slice(start, stop - start)).to_pylist() == one_by_one[start:stop]
    if not pa.types.is_dictionary(array.type):
        chunks = pa.chunked_array([array.slice(0, start), array.slice(start)], array.type)
        assert encode_array(chunks).to_pylist() == one_by_one


@every_type
@given(data=st.data())
@FEWER
def test_literal_of_each_type_encodes_like_its_array(case: Case, data: st.DataObject) -> None:
    raws = data.draw(st.lists(st.none() | case.raw, max_size=5))
    parts = encode_array(case.array(raws)).to_pylist()
    literals = [decode_value(part, case.data_type) for part in parts]  # type: ignore[arg-type]  # no null among them
    assert encode_values(literals, case.data_type) == parts
    assert [encode_value(literal, case.data_type) for literal in literals] == parts


@every_type
def test_array_without_values_encodes_by_length(case: Case) -> None:
    assert encode_array(case.array([])).equals(pa.array([], pa.string()))
    assert encode_array(pa.chunked_array([], case.data_type)).equals(pa.array([], pa.string()))  # type: ignore[call-overload]  # not in pyarrow's stubs
    assert encode_array(pa.nulls(3, case.data_type)).to_pylist() == [NULL] * 3  # type: ignore[call-overload]  # not in pyarrow's stubs
    assert decode_array(pa.array([], pa.string()), case.data_type).to_pylist() == []
    assert decode_array(pa.array([NULL]), case.data_type).to_pylist() == [None]


@given(texts, texts)
@example("", "")
@example("a", "a$")
@example("a%", "a%21")
def test_text_prefix_of_a_text_fits_exactly_what_starts_with_it(prefix: str, rest: str) -> None:
    assert encode_value(prefix + rest, pa.string()).startswith(encode_text(prefix))
    assert encode_value(rest, pa.string()).startswith(encode_text(prefix)) == rest.startswith(prefix)


@given(texts)
def test_text_of_any_characters_keeps_out_of_the_separators_way(value: str) -> None:
    part = encode_value(value, pa.string())
    assert min(part.encode(), default=0x25) >= 0x25
    assert encode_text(value) == part
    assert decode_value(part, pa.string()) == decode_text(part) == value


@given(st.lists(texts, min_size=2, max_size=8))
def test_parts_without_separator_still_sort_where_none_is_null(values: list[str]) -> None:
    ranked = sorted(values, key=str.encode)
    assert sorted(encode_values(values, pa.string()), key=str.encode) == encode_values(ranked, pa.string())


def test_values_of_every_family_have_their_documented_form() -> None:
    assert encode_value("grocery", pa.string()) == "grocery"
    assert encode_value("50 % off!", pa.string()) == "50%20%25%20off%21"
    assert encode_value("", pa.string()) == ""
    assert encode_value(None, pa.string()) == NULL == "!"
    assert encode_value(0, pa.int32()) == "8000000000000000"
    assert encode_value(-1, pa.int8()) == "7fffffffffffffff"
    assert encode_value(2**64 - 1, pa.uint64()) == "ffffffffffffffff"
    assert encode_value(date(1969, 12, 31), pa.date32()) == "7fffffffffffffff"
    assert encode_value(naive("1970-01-01T00:00:00.000010"), pa.timestamp("us")) == "800000000000000a"
    assert encode_value(time(0, 0, 0, 1), pa.time32("ms")) == "8000000000000001"
    assert encode_value(0.0, pa.float64()) == "8000000000000000"
    assert encode_value(-0.0, pa.float64()) == "8000000000000000"
    assert encode_value(math.inf, pa.float32()) == "fff0000000000000"
    assert encode_value(math.nan, pa.float32()) == "fff8000000000000"
    assert encode_value(5e-324, pa.float64()) == "8000000000000001"
    assert encode_value(-5e-324, pa.float64()) == "7ffffffffffffffe"
    assert encode_value(True, pa.bool_()) == "true"
    assert encode_value(Decimal("-0.01"), pa.decimal128(10, 2)) == "7" + "f" * 31
    assert encode_value(Decimal(1), pa.decimal256(40, 0)) == "8" + "0" * 62 + "1"
    assert encode_value(b"\x00\xff", pa.binary()) == "00ff"


def test_nan_of_any_payload_is_one_key() -> None:
    bits = [
        0x7FF0000000000001,
        0x7FF8000000000000,
        0xFFF8000000000000,
        0xFFFFFFFFFFFFFFFF,
        0xFFF0000000000001,
    ]
    doubles = pa.array(np.frombuffer(struct.pack(f"={len(bits)}Q", *bits), dtype=np.float64))
    assert set(encode_array(doubles).to_pylist()) == {encode_value(math.nan, pa.float64())}


@pytest.mark.parametrize(
    ("narrow", "wide", "literal"),
    [
        (pa.int8(), pa.int64(), -5),
        (pa.uint32(), pa.int64(), 7),
        (pa.float32(), pa.float64(), 1.5),
        (pa.date64(), pa.date32(), date(2024, 2, 29)),
        (pa.timestamp("ms"), pa.timestamp("us"), naive("2024-02-29T12:00")),
        (pa.decimal128(5, 2), pa.decimal128(30, 2), Decimal("1.25")),
        (pa.decimal256(5, 2), pa.decimal128(30, 2), Decimal("1.25")),
        (pa.dictionary(pa.int8(), pa.string()), pa.large_string(), "a b"),
        (pa.binary(2), pa.binary(), b"ab"),
    ],
    ids=str,
)
def test_column_that_is_widened_keeps_its_keys(
    narrow: pa.DataType, wide: pa.DataType, literal: object
) -> None:
    assert encode_array(pa.array([literal], narrow)).equals(encode_array(pa.array([literal], wide)))


def test_literal_that_the_column_cannot_hold_still_has_its_place() -> None:
    assert encode_value(2**40, pa.int32()) > encode_value(2**31 - 1, pa.int32())
    assert encode_value(0.1, pa.float32()) < encode_array(pa.array([0.1], pa.float32()))[0].as_py()
    assert encode_value(Decimal("12345.67"), pa.decimal128(3, 2)) > encode_value(
        Decimal("9.99"), pa.decimal128(3, 2)
    )
    late = naive("2024-01-01T00:00:00.000001")
    assert encode_value(late, pa.timestamp("s")) > encode_value(naive("2024-01-01"), pa.timestamp("s"))


def test_instant_in_any_zone_is_one_key() -> None:
    noon = datetime(2024, 6, 1, 12, tzinfo=timezone.utc)
    elsewhere = noon.astimezone(timezone(timedelta(hours=5, minutes=30)))
    assert encode_value(noon, pa.timestamp("us", "UTC")) == encode_value(
        elsewhere, pa.timestamp("us", "Asia/Tokyo")
    )


@pytest.mark.parametrize(
    ("literal", "data_type"),
    [
        (naive("2024-01-01T12:00"), pa.date32()),
        (naive("2024-01-01"), pa.timestamp("us", "UTC")),
        (datetime(2024, 1, 1, tzinfo=timezone.utc), pa.timestamp("us")),
        (Decimal("1.255"), pa.decimal128(10, 2)),
        (Decimal("NaN"), pa.decimal128(10, 2)),
        (2**53 + 1, pa.float64()),
        (2**63, pa.int64()),
        (-1, pa.uint64()),
        (1.0, pa.int64()),
        (True, pa.int64()),
        (1, pa.bool_()),
        (1, pa.string()),
        (b"a", pa.string()),
        ("a", pa.binary()),
        ("\ud800", pa.string()),
        ("a", pa.null()),
    ],
    ids=str,
)
def test_literal_that_would_change_its_meaning_is_refused(literal: object, data_type: pa.DataType) -> None:
    with pytest.raises(UnencodableValueError, match="'fare'"):
        encode_value(literal, data_type, "fare")


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1], pa.timestamp("ns")),
        pa.array([1], pa.time64("ns")),
        pa.array([2**62], pa.timestamp("s")),
        pa.array([1], pa.int64()).view(pa.date64()),
        pa.array([b"fine", b"\xc3("]).view(pa.string()),
    ],
    ids=lambda values: str(values.type),
)
def test_value_that_no_key_can_hold_is_refused(values: pa.Array[Any]) -> None:
    with pytest.raises(UnencodableValueError, match="'fare'"):
        encode_array(values, "fare")


def test_bytes_that_are_no_text_do_no_harm_outside_the_slice() -> None:
    broken = pa.array([b"fine", b"\xc3("]).view(pa.string())
    assert encode_array(broken.slice(0, 1)).to_pylist() == ["fine"]


@pytest.mark.parametrize(
    "data_type",
    [
        pa.struct([pa.field("a", pa.int32())]),
        pa.list_(pa.int32()),
        pa.map_(pa.string(), pa.int32()),
        pa.duration("us"),
        pa.month_day_nano_interval(),
        pa.dense_union([pa.field("a", pa.int32())]),
        pa.dictionary(pa.int8(), pa.list_(pa.int8())),  # type: ignore[call-overload]  # not in pyarrow's stubs
    ],
    ids=str,
)
def test_type_without_an_order_is_refused_by_name(data_type: pa.DataType) -> None:
    with pytest.raises(UnsupportedTypeError, match="'trip'"):
        key_type(data_type, "trip")
    if not pa.types.is_union(data_type):
        with pytest.raises(UnsupportedTypeError, match="'trip'"):
            encode_array(pa.nulls(1, data_type), "trip")  # type: ignore[call-overload]  # not in pyarrow's stubs


def test_column_of_type_null_encodes_as_nulls() -> None:
    assert encode_array(pa.nulls(2)).to_pylist() == [NULL, NULL]
    assert encode_value(None, pa.null()) == NULL
    assert decode_array(pa.array([NULL, NULL]), pa.null()).equals(pa.nulls(2))


@pytest.mark.parametrize(
    "values",
    [
        pa.DictionaryArray.from_arrays(pa.array([1, 0, None, 1]), pa.array(["a b", None])),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array([None, "a"])).slice(1),
    ],
)
def test_dictionary_with_nulls_inside_encodes_like_plain_values(values: pa.DictionaryArray[Any, Any]) -> None:
    plain = pa.array([value.as_py() for value in values], pa.string())
    assert encode_array(values).equals(encode_array(plain))


@pytest.mark.parametrize(
    ("part", "data_type"),
    [
        ("8000", pa.int64()),
        ("800000000000000A", pa.int64()),
        ("8000000100000000", pa.int32()),
        ("8000000100000000", pa.date32()),
        ("yes", pa.bool_()),
        ("a$b", pa.string()),
        ("a%", pa.string()),
        ("a%2", pa.string()),
        ("a%2e", pa.string()),
        ("a%41", pa.string()),
        ("0", pa.binary()),
        ("f" * 32, pa.decimal128(10, 2)),
        ("x", pa.null()),
    ],
)
def test_part_that_nothing_encodes_to_is_reported_as_corrupt(part: str, data_type: pa.DataType) -> None:
    with pytest.raises(KeyCorruptError) as caught:
        decode_array(pa.array(["!", part]), data_type)
    assert caught.value.key == part


@pytest.mark.parametrize("part", ["!", "a$b", "a%", "a%2", "a%2e", "a%41", "a b", "\0"])
def test_text_part_that_nothing_encodes_to_is_reported_as_corrupt(part: str) -> None:
    with pytest.raises(KeyCorruptError):
        decode_text(part)


def test_text_without_utf8_form_is_refused() -> None:
    with pytest.raises(UnencodableValueError):
        encode_text("\ud800")


def test_date_beyond_python_decodes_to_its_number() -> None:
    assert decode_value(encode_value(10**9, pa.date32()), pa.date32()) == 10**9
    assert decode_value(encode_value(-(2**63), pa.timestamp("us", "UTC")), pa.timestamp("us", "UTC")) == -(
        2**63
    )
    assert decode_value(encode_value(date.min, pa.date32()), pa.date32()) == date.min


def test_array_with_many_escapes_encodes_each_in_its_place() -> None:
    values = ["$" * size + "é%" * (size % 3) for size in range(200)]
    expected = ["%24" * size + "é%25" * (size % 3) for size in range(200)]
    assert encode_array(pa.array(values)).to_pylist() == expected
