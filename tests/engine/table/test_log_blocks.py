"""Data blocks of log files: which hold plain records, and where those begin and end."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.table.log_blocks import OtherBlockError, fields_of_log, plain_records
from tests.support.tables import log_block

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INSTANTS = [f"202401{day:02d}000000000" for day in (2, 3, 4)]


def avro_block(header: Mapping[int, str], records: Sequence[bytes], kind: int = 3) -> bytes:
    content = struct.pack(">ii", 3, len(records))
    return log_block(
        header, content + b"".join(struct.pack(">i", len(each)) + each for each in records), kind
    )


HEADER = {0: INSTANTS[0], 2: "{}"}
GOOD = avro_block(HEADER, [b"one", b"", b"three"])


def test_records_of_a_block_are_found() -> None:
    first, second = plain_records(GOOD + avro_block(HEADER, [b"more"]), INSTANTS[0])
    assert [first.data[start:end] for start, end in zip(first.starts, first.ends, strict=True)] == [
        *(b"one", b"", b"three")
    ]
    assert [second.data[start:end] for start, end in zip(second.starts, second.ends, strict=True)] == [
        b"more"
    ]
    assert plain_records(b"", INSTANTS[0]) == []


@pytest.mark.parametrize(
    "content",
    [
        b"x",
        GOOD[:-1],
        GOOD + b"#HUDI#",
        b"#HIDU#" + GOOD[6:],
        GOOD.replace(b"one", b"none"),
        avro_block({**HEADER, 0: INSTANTS[1]}, [b"one"]),
        avro_block({2: "{}"}, [b"one"]),
        avro_block({0: INSTANTS[0]}, [b"one"]),
        avro_block({**HEADER, 7: "true"}, [b"one"]),
        avro_block({**HEADER, 4: INSTANTS[2]}, [b"one"]),
        *(avro_block(HEADER, [b"one"], kind) for kind in (0, 1, 2, 4, 5, 6)),
        log_block(HEADER, struct.pack(">ii", 2, 0), 3),
        log_block(HEADER, struct.pack(">ii", 3, -1), 3),
        log_block(HEADER, struct.pack(">iii", 3, 1, -1), 3),
        log_block(HEADER, struct.pack(">iii", 3, 1, 100), 3),
        log_block(HEADER, struct.pack(">iii", 3, 0, 0), 3),
        log_block(HEADER, b"", 3),
    ],
)
def test_other_blocks_are_told(content: bytes) -> None:
    with pytest.raises(OtherBlockError):
        plain_records(content, INSTANTS[0])


def test_fields_of_a_log_are_those_of_all_its_records() -> None:
    def block(*names: str, kind: int = 3, **header: str) -> bytes:
        schema = json.dumps({"fields": [{"name": name} for name in names]})
        return log_block(
            {0: INSTANTS[0], 2: schema, **{int(k[1:]): v for k, v in header.items()}}, b"x", kind
        )

    assert fields_of_log(block("a", "b") + block("b", "c", kind=5)) == frozenset({"b"})
    assert fields_of_log(block("a") + block(kind=1)) == frozenset({"a"})
    assert fields_of_log(block("a", "b") + block("b", _7="true")) == frozenset({"a", "b"})
    assert fields_of_log(block("b", _7="false")) == frozenset({"b"})
    # Nothing is known of what holds no records, or is damaged.
    assert fields_of_log(b"") is None
    assert fields_of_log(block(kind=1)) is None
    assert fields_of_log(block("a") + b"#HUDI#") is None
    assert fields_of_log(log_block({0: INSTANTS[0], 2: "{}"}, b"", 3)) is None
    assert fields_of_log(log_block({0: INSTANTS[0]}, b"", 3)) is None
    assert fields_of_log(struct.pack(">6sqii", b"#HUDI#", -30, 1, 3) + bytes(8)) is None


@given(st.data())
def test_damaged_blocks_are_told_or_hold_as_many_records(data: st.DataObject) -> None:
    damaged = bytearray(GOOD)
    for _ in range(data.draw(st.integers(1, 4))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
    cut = bytes(damaged)[: data.draw(st.integers(0, len(damaged)))]
    for content in (bytes(damaged), cut):
        try:
            found = plain_records(content, INSTANTS[0])
        except OtherBlockError:
            continue
        assert all(0 <= each.starts[0] <= each.ends[-1] <= len(content) for each in found if each.starts.size)
