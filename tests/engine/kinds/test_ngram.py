"""Grams of texts: what stands in them, at their ends, and what is too short to tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.errors import UnencodableValueError, UnsupportedTypeError
from hudi_index.kind_parts.grams import grams_of
from hudi_index.kinds import IndexKind, RowQuestion, describe, kind_of
from hudi_index.kinds.ngram import Ngram
from hudi_index.predicate.values.condition import Condition, TextPattern
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table import ROW_POSITION
from tests.engine.kinds.laws import (
    IndexKindLaws,
    content_of,
    entries_of,
    question_of,
    read_from,
    refuted_by,
)
from tests.engine.kinds.rows import (
    NESTED,
    TEXTS,
    Slice,
    batches_of,
    definition_of,
    domains,
    kind_over,
    on,
    rows_of,
    slice_of,
    starting_with,
)

PIECES = st.sampled_from(
    ["", "a", "ab", "abc", "bca", "%", "_", "\\", "é", "ключ", "\U0001f600", "\x02", "\x03"]
)
HOSTILE = st.lists(PIECES, max_size=4).map("".join) | st.sampled_from(TEXTS)
PATTERNS = st.builds(
    TextPattern, HOSTILE.map(lambda text: text[:4]), st.lists(HOSTILE, max_size=2).map(tuple), HOSTILE
)


class TestLaws(IndexKindLaws):
    columns: ClassVar[Sequence[str]] = ("text", NESTED)

    def kind(self, column: str) -> IndexKind:
        return ngram_over(column)

    def conditions(self, column: str) -> st.SearchStrategy[Condition]:
        return domains(column) | PATTERNS


class TestLawsOfLongGrams(TestLaws):
    columns = ("text",)

    def kind(self, column: str) -> IndexKind:
        return ngram_over(column, size="5")


class TestLawsOfTooManyGrams(TestLaws):
    columns = ("text",)

    def kind(self, column: str) -> IndexKind:
        return ngram_over(column, max_grams="4")


def ngram_over(*columns: str, **options: str) -> Ngram:
    kind = kind_over("ngram", *columns, **options)
    assert isinstance(kind, Ngram)
    return kind


def rows_told(table: list[Slice], condition: Condition, **options: str) -> list[list[int] | None]:
    kind = ngram_over("text", **options)
    question = question_of(kind, on("text", condition), table)
    assert isinstance(question, RowQuestion)
    told = question.rows(read_from(kind, entries_of(kind, "text", table), question))
    return [None if rows is None else sorted(rows) for _, rows in sorted(told.items())]


def test_keys_have_gram_and_number() -> None:
    piece, kind = slice_of(1, rows_of("a$b")), ngram_over("text")

    found = content_of(kind, describe(kind, piece.context, batches_of(piece, "text")))

    assert list(found) == ["text$%02a%24$11", "text$%24b%03$11", "text$a%24b$11"]
    assert {entry["type"] for entry in found.values()} == {21}
    assert kind.partition == "ngram_index_idx"


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        (TextPattern(pieces=("rid",)), [0, 1]),
        (TextPattern(pieces=("Rid",)), []),
        (TextPattern(start="bri"), [0]),
        (TextPattern(end="dge"), [0]),
        (TextPattern(start="bri", end="dge"), [0]),
        (TextPattern(start="rid"), []),
        (TextPattern(pieces=("gry",), end="x"), []),
        (Domain.points(["bridge"]), [0]),
        (Domain.points(["no", "grid"]), [1, 3]),
        (Domain.points(["gri"]), []),
        (Domain.of([starting_with("gri")]), [1]),
        (Domain.of([Range.at_least("grid"), Range.equal("bridge")]), None),
    ],
)
def test_rows_that_may_match(condition: Condition, rows: list[int] | None) -> None:
    table = [slice_of(0, rows_of("bridge", "grid", None, "no"))]
    if rows is None:
        assert question_of(ngram_over("text"), on("text", condition), table) is None
    else:
        assert rows_told(table, condition) == [rows]


@pytest.mark.parametrize(
    "condition",
    [
        TextPattern(),
        TextPattern(pieces=("ab",)),
        TextPattern(start="a", end="b"),
        TextPattern(pieces=("a", "b", "c")),
        Domain.points([""]),
        Domain.points(["long enough", ""]),
        Domain.null(),
        Domain.of([Range.equal("long enough")], has_null=True),
        Domain.not_null(),
        Domain.all(),
        Domain.of([Range.above("abc")]),
        Domain.points(f"text {number}" for number in range(1001)),
    ],
)
def test_what_is_too_short_or_too_much_is_not_answered(condition: Condition) -> None:
    assert question_of(ngram_over("text"), on("text", condition)) is None


def test_a_short_text_is_found_whole() -> None:
    table = [slice_of(0, rows_of("a")), slice_of(1, rows_of("ab", "b"))]

    assert refuted_by(ngram_over("text"), "text", table, Domain.points(["a"])) == {table[1].group}


def test_a_long_needle_asks_for_some_of_its_grams() -> None:
    needle = "".join(chr(0x4E00 + number) for number in range(5000))
    question = question_of(ngram_over("text"), on("text", TextPattern(pieces=(needle,))))
    table = [slice_of(0, rows_of("before " + needle)), slice_of(1, rows_of(needle[:-1] + "x"))]

    assert question is not None
    assert len(question.ranges) <= 65
    assert refuted_by(ngram_over("text"), "text", table, TextPattern(pieces=(needle,))) <= {table[1].group}


# A table of all grams that can be, sorting, and either for a part of them.
@pytest.mark.parametrize("places", [0, 1, 16, 1_000_000])
@pytest.mark.parametrize("data_type", [pa.string(), pa.large_string()], ids=str)
def test_grams_are_those_of_every_text(
    places: int, data_type: pa.DataType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hudi_index.kind_parts.grams._PLACES", places)

    @settings(max_examples=60)
    @given(
        # Some stand so often that they are looked at once.
        st.lists(st.none() | HOSTILE, max_size=6).map(lambda texts: [*texts, *texts[:2] * 6]),
        st.integers(2, 8),
        st.integers(0, 2),
    )
    def check(texts: list[str | None], size: int, first: int) -> None:
        expected = {
            (marked[start : start + size], row)
            for row, text in enumerate(texts[first:])
            if text is not None
            for marked in [f"\x02{text}\x03"]
            for start in range(len(marked) - size + 1)
        }
        told: set[tuple[Any, int]] = set()
        for tokens in grams_of(pa.array(texts, data_type).slice(first), size):
            assert len(set(tokens.distinct.to_pylist())) == len(tokens.distinct)
            assert set(tokens.indices.tolist()) == set(range(len(tokens.distinct)))
            words = tokens.distinct.take(tokens.indices).to_pylist()
            told.update(zip(words, tokens.rows.tolist(), strict=True))
        assert told == expected

    check()


def test_large_texts_are_indexed_like_others() -> None:
    kind, piece = ngram_over("text"), slice_of(0, [])
    texts = ["bridge", None, "ключ", "bridge"]
    found = [
        describe(
            kind,
            piece.context,
            [
                pa.RecordBatch.from_arrays(
                    [pa.array(texts, data_type), pa.array(range(4), pa.int64())], names=["text", ROW_POSITION]
                )
            ],
        )
        for data_type in (pa.string(), pa.large_string())
    ]

    assert found[0].equals(found[1])
    assert found[0].num_rows == 10


def test_many_rows_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = [slice_of(0, rows_of(*(f"value {number}" for number in range(300))))]
    whole = rows_told(table, TextPattern(pieces=("ue 29",)))
    monkeypatch.setattr("hudi_index.kind_parts.grams._CHARACTERS", 50)
    monkeypatch.setattr("hudi_index.kind_parts.postings._HELD", 100)

    assert rows_told(table, TextPattern(pieces=("ue 29",))) == whole == [[29, *range(290, 300)]]


def test_only_text_has_grams() -> None:
    with pytest.raises(UnsupportedTypeError, match="over text"):
        kind_of(definition_of("ngram", "n"), {"n": pa.int64()})


# The second is text if nobody looks where one value ends.
@pytest.mark.parametrize("pieces", [[b"\xff\xfe\xfd"], [b"a\xc3", b"\xa9b"]])
def test_bytes_that_are_no_text_are_refused_by_name(pieces: list[bytes]) -> None:
    broken = pa.array(pieces, pa.binary()).cast(pa.string(), safe=False)
    positions = pa.array(range(len(pieces)), pa.int64())
    batch = pa.RecordBatch.from_arrays([broken, positions], names=["text", ROW_POSITION])
    kind, piece = ngram_over("text"), slice_of(0, [])

    with pytest.raises(UnencodableValueError, match="text"):
        describe(kind, piece.context, [batch])
