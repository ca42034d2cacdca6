"""Arrays by their elements: any type, nulls in and around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import strategies as st

from hudi_index.errors import UnsupportedTypeError
from hudi_index.kinds import IndexKind, RowQuestion, describe, kind_of
from hudi_index.kinds.array import Array
from hudi_index.predicate.values.condition import Condition, HasElement, TextPattern
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table import RECORD_KEY, ROW_POSITION
from tests.engine.kinds.laws import IndexKindLaws, content_of, prune, question_of
from tests.engine.kinds.rows import (
    COLUMNS,
    NAN,
    NESTED,
    TYPES,
    Row,
    Slice,
    array_column,
    definition_of,
    domains,
    on,
    rows_of,
    slice_of,
    slices_of,
    values,
)


class TestLaws(IndexKindLaws):
    columns: ClassVar[Sequence[str]] = tuple(array_column(column) for column in COLUMNS if column != NESTED)

    def kind(self, column: str) -> IndexKind:
        return array_over(column)

    def slices(self, column: str) -> st.SearchStrategy[list[Slice]]:
        element = st.none() | values(_element(column))
        return slices_of(st.none() | st.lists(element, max_size=3))

    def conditions(self, column: str) -> st.SearchStrategy[Condition]:
        return domains(_element(column)).map(HasElement)


class TestLawsOfTooManyElements(TestLaws):
    columns = (array_column("text"),)

    def kind(self, column: str) -> IndexKind:
        return array_over(column, max_values="2")


def _element(column: str) -> str:
    return next(name for name in COLUMNS if array_column(name) == column)


def array_over(column: str, **options: str) -> Array:
    types = {column: pa.list_(TYPES[_element(column)])}
    kind = kind_of(definition_of("array", column, **options), types)
    assert isinstance(kind, Array)
    return kind


def entries_of(piece: Slice, column: str) -> pa.Table:
    batch = pa.RecordBatch.from_pydict(
        {
            RECORD_KEY: [row.record_key for row in piece.rows],
            ROW_POSITION: pa.array(range(len(piece.rows)), pa.int64()),
            column: pa.array([row.value for row in piece.rows], pa.list_(TYPES[_element(column)])),
        }
    )
    return describe(array_over(column), piece.context, [batch])


def rows_told(domain: Domain, column: str, *arrays: Any) -> list[int] | None:
    piece = slice_of(0, rows_of(*arrays))
    question = question_of(array_over(column), on(column, HasElement(domain)), [piece])
    assert isinstance(question, RowQuestion)
    (rows,) = question.rows(entries_of(piece, column)).values()
    return None if rows is None else sorted(rows)


def test_keys_have_element_and_number() -> None:
    piece = slice_of(1, [Row("k", ["a b", None, "a b"]), Row("l", []), Row("m", None)])

    found = content_of(array_over("texts"), entries_of(piece, "texts"))

    assert list(found) == ["texts$!$11", "texts$a%20b$11"]
    assert {entry["type"] for entry in found.values()} == {22}


def test_rows_with_an_element() -> None:
    arrays: tuple[Any, ...] = (["a", "b"], [], None, [None], ["b", "b", None], ["B"])

    assert rows_told(Domain.points(["b"]), "texts", *arrays) == [0, 4]
    assert rows_told(Domain.points(["a", "B"]), "texts", *arrays) == [0, 5]
    assert rows_told(Domain.null(), "texts", *arrays) == [3, 4]
    assert rows_told(Domain.not_null(), "texts", *arrays) == [0, 4, 5]
    assert rows_told(Domain.of([Range.below("b")]), "texts", *arrays) == [0, 5]
    assert rows_told(Domain.points(["c"]), "texts", *arrays) == []


def test_equal_elements_are_one() -> None:
    assert rows_told(Domain.points([0.0]), "reals", [-0.0], [0.0, 1.0], [NAN]) == [0, 1]
    assert rows_told(Domain.points([NAN]), "reals", [-0.0], [0.0, -NAN], [NAN]) == [1, 2]


def test_other_conditions_are_not_answered() -> None:
    kind = array_over("texts")
    for condition in (Domain.points(["a"]), Domain.null(), TextPattern(pieces=("abc",))):
        assert question_of(kind, on("texts", condition)) is None
    assert question_of(kind, on("others", HasElement(Domain.points(["a"])))) is None
    assert question_of(kind, on("texts", HasElement(Domain.points([1])))) is None


def test_a_null_array_below_which_something_stands_has_no_element() -> None:
    offsets, elements = pa.array([0, 1, 2], pa.int32()), pa.array(["hidden", "seen"], pa.string())
    arrays: Any = pa.ListArray.from_arrays(offsets, elements, mask=pa.array([True, False]))
    batch = pa.RecordBatch.from_arrays([arrays, pa.array([0, 1], pa.int64())], names=["texts", ROW_POSITION])
    kind, piece = array_over("texts"), slice_of(0, rows_of(None, ["seen"]))
    entries = describe(kind, piece.context, [batch])

    assert prune(kind, on("texts", HasElement(Domain.points(["hidden"]))), entries, [piece]) == {piece.group}
    assert not prune(kind, on("texts", HasElement(Domain.points(["seen"]))), entries, [piece])


@pytest.mark.parametrize(
    "data_type", [pa.string(), pa.list_(pa.list_(pa.string())), pa.map_(pa.string(), pa.string())]
)
def test_only_arrays_of_plain_values_are_indexed(data_type: pa.DataType) -> None:
    with pytest.raises(UnsupportedTypeError, match="tags"):
        kind_of(definition_of("array", "tags"), {"tags": data_type})
