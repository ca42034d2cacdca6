"""Laws of the value encoding, for every type: order, equality, round trip, arrays and literals alike."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
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
)
from tests.engine.entries.column_types import Case, every_type, float_rank, texts
from tests.support.decoding import decode_array, decode_value

FEWER = settings(max_examples=settings().max_examples // 4)
"""Per type, and there are many."""


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
