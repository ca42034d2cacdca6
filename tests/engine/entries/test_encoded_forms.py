"""Forms of encoded values one by one: what is written, what is refused, what is reported as corrupt."""

from __future__ import annotations

import math
import struct
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hudi_index.entries import (
    NULL,
    decode_text,
    encode_array,
    encode_text,
    encode_value,
    key_type,
)
from hudi_index.errors import KeyCorruptError, UnencodableValueError, UnsupportedTypeError
from tests.support.decoding import decode_array, decode_value

naive = datetime.fromisoformat


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
