"""Texts eight bytes at a time: the same answers as of slower ways."""

from __future__ import annotations

import random
import zlib

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from hudi_index.entries._buffers import bytes_of
from hudi_index.entries.words import are_surely_distinct, crc32_of, sort_order

ALPHABETS = ("ab", "aé漢😀", "$%&~", "0123456789", "x")
LENGTHS = (0, 1, 2, 7, 8, 9, 13, 14, 16, 17, 33, 40)


def texts_of(seed: int) -> pa.Array[pa.StringScalar]:
    chance = random.Random(seed)
    letters, prefix = chance.choice(ALPHABETS), chance.choice(["", "customer-", "é" * 20])
    lengths = chance.sample(LENGTHS, 4)
    texts = [
        prefix + "".join(chance.choices(letters, k=chance.choice(lengths)))
        for _ in range(chance.choice([1, 256, 257, 2000]))
    ]
    # An array that begins and ends inside its buffers, as a slice does.
    return pa.array(["before", *texts, "after"], pa.string()).slice(1, len(texts))


@pytest.mark.parametrize("seed", range(60))
def test_order_is_the_order_of_texts(seed: int) -> None:
    texts = texts_of(seed)
    order = sort_order(texts)
    assert sorted(order.tolist()) == list(range(len(texts)))
    assert texts.take(pa.array(order)).to_pylist() == texts.take(pc.sort_indices(texts)).to_pylist()  # type: ignore[arg-type]  # not in pyarrow's stubs


@pytest.mark.parametrize("seed", range(40))
def test_checksums_are_zlibs(seed: int) -> None:
    texts = texts_of(seed)
    offsets, data = bytes_of(texts)
    found = crc32_of(data, offsets[:-1], offsets[1:])
    assert found.tolist() == [zlib.crc32(each.encode()) for each in texts.to_pylist()]  # type: ignore[union-attr]  # no null among them


@pytest.mark.parametrize("seed", range(60))
def test_texts_that_stand_twice_are_never_said_to_be_distinct(seed: int) -> None:
    texts = texts_of(seed)
    middle = len(texts) // 2
    chunks = pa.chunked_array([texts.slice(0, middle), texts.slice(middle)])
    is_distinct = len(set(texts.to_pylist())) == len(texts)
    assert is_distinct or not are_surely_distinct(chunks)
    again = pa.chunked_array([texts, texts.slice(0, 1)])
    assert not are_surely_distinct(again)


def test_keys_as_tables_have_them_are_known_to_be_distinct() -> None:
    chance = random.Random(1)
    for keys in (
        [f"order-{number}" for number in range(20_000)],
        [f"id:{number},region:somewhere" for number in range(20_000)],
        [f"{chance.getrandbits(128):032x}" for _ in range(20_000)],
        [],
    ):
        assert are_surely_distinct(pa.chunked_array([pa.array(keys, pa.string())]))
