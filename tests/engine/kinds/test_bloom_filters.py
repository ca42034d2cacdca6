"""Bloom filters: point look-ups, the same bytes everywhere, and what they leave unanswered."""

from __future__ import annotations

import hashlib
from typing import Any

import pyarrow as pa
import pytest

from hudi_index.kinds import IndexKind, describe
from hudi_index.kinds.bloom_filters import TYPE, BloomFilters
from hudi_index.predicate.values.domain import Domain, Range
from tests.engine.kinds.laws import IndexKindLaws, content_of, entries_of, prune, question_of, refuted_by
from tests.engine.kinds.rows import NAN, Slice, batches_of, kind_over, on, rows_of, slice_of, starting_with


class TestLaws(IndexKindLaws):
    def kind(self, column: str) -> IndexKind:
        return kind_over("bloom_filters", column)


GOLDEN = "9820a6f985f955f51256908038f1e0208469d105ec631ed779187125baf4af0d"


def filter_of(file_slice: Slice, column: str = "text", **options: str) -> bytes:
    kind = kind_over("bloom_filters", column, **options)
    (entry,) = content_of(kind, describe(kind, file_slice.context, batches_of(file_slice, column))).values()
    payload: dict[str, Any] = entry["BloomFilterMetadata"]
    assert payload["type"] == TYPE
    data: bytes = payload["bloomFilter"]
    return data


def test_key() -> None:
    kind, file_slice = kind_over("bloom_filters", "text"), slice_of(3, rows_of("a"))

    assert list(content_of(kind, describe(kind, file_slice.context, batches_of(file_slice, "text")))) == [
        "text$.$f-11"
    ]


# A filter that another release or machine would read differently would lose rows: these bytes are for ever.
def test_bytes_are_the_same_everywhere() -> None:
    words = [f"word {number}" for number in range(1000)]
    data = filter_of(slice_of(0, rows_of(*words, None)))

    assert len(data) == 1208
    assert hashlib.sha256(data).hexdigest() == GOLDEN


def test_order_and_repetition_do_not_matter() -> None:
    one, other = slice_of(0, rows_of("a", "b", None)), slice_of(0, rows_of(None, "b", "a", "a", "b"))

    assert filter_of(one) == filter_of(other)
    assert filter_of(slice_of(0, rows_of(0.0, NAN)), "real") == filter_of(
        slice_of(0, rows_of(-NAN, -0.0)), "real"
    )


def test_the_rate_is_kept() -> None:
    kind, file_slice = kind_over("bloom_filters", "number"), slice_of(0, rows_of(*range(2000)))
    entries = entries_of(kind, "number", [file_slice])
    lost = [
        prune(kind, on("number", Domain.points([number])), entries, [file_slice])
        for number in range(5000, 7000)
    ]

    assert sum(not each for each in lost) < 2000 * 0.02
    assert len(filter_of(file_slice, "number", false_positive_rate="0.0001")) > 1.5 * len(
        filter_of(file_slice, "number")
    )


def test_null_is_a_member() -> None:
    kind, table = (
        kind_over("bloom_filters", "text"),
        [slice_of(0, rows_of("!")), slice_of(1, rows_of(None))],
    )

    assert refuted_by(kind, "text", table, Domain.null()) == {table[0].group}
    assert refuted_by(kind, "text", table, Domain.points(["!"])) == {table[1].group}
    assert not refuted_by(kind, "text", table, Domain.of([Range.equal("!")], has_null=True))


@pytest.mark.parametrize(
    "domain",
    [Domain.not_null(), Domain.of([Range.above("a")]), Domain.of([starting_with("a")]), Domain.all()],
)
def test_ranges_are_not_answered(domain: Domain) -> None:
    kind, file_slice = kind_over("bloom_filters", "text"), slice_of(0, rows_of("b"))

    assert question_of(kind, on("text", domain)) is None
    assert not prune(kind, on("text", domain), entries_of(kind, "text", [file_slice]), [file_slice])


def test_a_filter_that_nobody_understands_refutes_nothing() -> None:
    kind, file_slice = kind_over("bloom_filters", "text"), slice_of(0, rows_of("b"))
    entries, wanted = entries_of(kind, "text", [file_slice]), on("text", Domain.points(["a"]))
    struct = entries.schema.field("BloomFilterMetadata").type
    data = entries.column("BloomFilterMetadata").to_pylist()[0]["bloomFilter"]  # type: ignore[index]  # no null among them

    assert prune(kind, wanted, entries, [file_slice])
    for odd in (
        None,
        {"type": TYPE, "bloomFilter": None},
        {"type": TYPE, "bloomFilter": b"x"},
        {"type": "?", "bloomFilter": data},
    ):
        column = pa.array([odd], struct)
        assert not prune(kind, wanted, entries.set_column(2, "BloomFilterMetadata", column), [file_slice])


def test_a_file_group_without_a_filter_is_kept() -> None:
    kind, table = (
        kind_over("bloom_filters", "text"),
        [slice_of(0, rows_of("b")), slice_of(1, rows_of("b"))],
    )
    entries = entries_of(kind, "text", table[:1])

    found = prune(kind, on("text", Domain.points(["a"])), entries, table)

    assert found == {table[0].group}


def test_options() -> None:
    kind = kind_over("bloom_filters", "text", false_positive_rate="0.2")

    assert isinstance(kind, BloomFilters)
    assert kind.false_positive_rate == 0.2
