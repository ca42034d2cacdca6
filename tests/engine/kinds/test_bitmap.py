"""Bitmaps: RFC-92's keys and example, rows composed by AND, OR and NOT, and file groups nobody can tell."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyroaring import BitMap

from hudi_index.kinds import IndexKind, RowQuestion, SliceContext, describe, kind_of
from hudi_index.kinds.bitmap import Bitmap
from hudi_index.predicate.values.condition import Constraint
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table import ROW_POSITION, FileGroupId
from tests.engine.kinds.laws import (
    IndexKindLaws,
    content_of,
    entries_of,
    prune,
    question_of,
    read_from,
    refuted_by,
)
from tests.engine.kinds.rows import (
    COLUMNS,
    NAN,
    Slice,
    batches_of,
    definition_of,
    domains,
    kind_over,
    on,
    rows_of,
    slice_of,
    slices,
    values,
)


class TestLaws(IndexKindLaws):
    is_exact = True

    def kind(self, column: str) -> IndexKind:
        return bitmap_over(column)


class TestLawsOfTooManyValues(IndexKindLaws):
    columns = ("text", "number")

    def kind(self, column: str) -> IndexKind:
        return bitmap_over(column, max_values="2")


def bitmap_over(*columns: str, **options: str) -> Bitmap:
    kind = kind_over("bitmap", *columns, **options)
    assert isinstance(kind, Bitmap)
    return kind


def rows_by(
    kind: Bitmap, constraint: Constraint, entries: pa.Table, table: list[Slice]
) -> dict[FileGroupId, BitMap | None]:
    question = question_of(kind, constraint, table)
    assert isinstance(question, RowQuestion)
    return {table[place].group: rows for place, rows in question.rows(entries).items()}


def positions(
    kind: Bitmap, column: str, table: list[Slice], domain: Domain
) -> dict[FileGroupId, BitMap | None]:
    question = question_of(kind, on(column, domain), table)
    assert question is not None
    return rows_by(
        kind, on(column, domain), read_from(kind, entries_of(kind, column, table), question), table
    )


def test_keys_are_the_rfcs() -> None:
    kind = kind_of(definition_of("bitmap", "store_type"), {"store_type": pa.string()})
    batch = pa.RecordBatch.from_pydict({"store_type": ["grocery"], ROW_POSITION: pa.array([0], pa.int64())})
    keys = [
        describe(kind, SliceContext(FileGroupId(path, "2aa10971-11b2-41b3-9baf-ab33c0000144-0"), 1), [batch])
        .column("key")
        .to_pylist()
        for path in ("20250401", "")
    ]

    assert keys == [
        ["store_type$grocery$20250401$2aa10971-11b2-41b3-9baf-ab33c0000144-0"],
        ["store_type$grocery$.$2aa10971-11b2-41b3-9baf-ab33c0000144-0"],
    ]
    assert kind.partition == "bitmap_index"


PEOPLE: dict[int, list[tuple[str, str | None]]] = {
    # Both values on different rows; both on one row; one of them only.
    0: [("female", "bike"), ("male", "car")],
    1: [("female", "car"), ("male", "walk"), ("female", None)],
    2: [("female", "walk")],
}


def people() -> tuple[Bitmap, pa.Table, list[Slice]]:
    kind = kind_of(
        definition_of("bitmap", "gender", "commute_type"),
        {"gender": pa.string(), "commute_type": pa.string()},
    )
    assert isinstance(kind, Bitmap)
    table = [slice_of(place, rows_of(*rows)) for place, rows in PEOPLE.items()]
    entries = [
        describe(
            kind,
            file_slice.context,
            [
                pa.RecordBatch.from_pydict(
                    {
                        ROW_POSITION: pa.array(range(len(rows)), pa.int64()),
                        "gender": [gender for gender, _ in rows],
                        "commute_type": pa.array([commute for _, commute in rows], pa.string()),
                    }
                )
            ],
        )
        for file_slice, rows in zip(table, PEOPLE.values(), strict=True)
    ]
    return kind, pa.concat_tables(entries), table


def test_the_rfcs_example_of_women_who_commute_by_car() -> None:
    kind, entries, table = people()
    covered = table
    women, by_car = (
        rows_by(kind, on(column, Domain.points([value])), entries, covered)
        for column, value in (("gender", "female"), ("commute_type", "car"))
    )

    assert [women[file_slice.group] for file_slice in table] == [BitMap([0]), BitMap([0, 2]), BitMap([0])]
    both = {group: rows & (by_car[group] or BitMap()) for group, rows in women.items() if rows is not None}
    # The first holds a woman and a car, on different rows.
    assert [bool(both[file_slice.group]) for file_slice in table] == [False, True, False]
    assert not prune(kind, on("gender", Domain.points(["female"])), entries, covered)


@pytest.mark.parametrize("column", COLUMNS)
def test_positions_are_exact_or_unknown(column: str) -> None:
    kind = bitmap_over(column)

    @settings(max_examples=settings().max_examples // 4)
    @given(slices(column), domains(column))
    def check(table: list[Slice], domain: Domain) -> None:
        for group, rows in positions(kind, column, table, domain).items():
            (file_slice,) = (each for each in table if each.group == group)
            expected = BitMap(
                place for place, row in enumerate(file_slice.rows) if domain.contains(row.value)
            )
            assert rows is None or rows == expected
            if all(each.is_point for each in domain.ranges):
                assert rows is not None

    check()


@pytest.mark.parametrize("column", COLUMNS)
def test_all_but_some_values_are_exact_or_unknown(column: str) -> None:
    kind = bitmap_over(column)

    @settings(max_examples=settings().max_examples // 4)
    @given(slices(column), st.lists(values(column), min_size=1, max_size=2), st.booleans())
    def check(table: list[Slice], left_out: list[Any], has_null: bool) -> None:
        domain = Domain.all()
        for value in left_out:
            others = Domain.of([Range.below(value), Range.above(value)], has_null=has_null)
            domain = domain.intersection(others)
        for file_slice, rows in zip(table, positions(kind, column, table, domain).values(), strict=True):
            expected = [domain.contains(row.value) for row in file_slice.rows]
            assert rows is None or rows == BitMap(place for place, is_in in enumerate(expected) if is_in)

    check()


def test_all_but_one_value_asks_for_that_one() -> None:
    table = [slice_of(number, rows_of("a", "b", None, "c", "b")) for number in range(3)]
    kind, domain = bitmap_over("text"), Domain.of([Range.below("b"), Range.above("b")])
    question = question_of(kind, on("text", domain), table)
    assert question is not None
    read = read_from(kind, entries_of(kind, "text", table), question)
    # Its bitmap and that of null.
    assert read.num_rows == 2 * len(table)
    assert positions(kind, "text", table, domain) == {each.group: BitMap([0, 3]) for each in table}


def test_rows_beside_a_bound_that_was_cut_are_unknown() -> None:
    long = "x" * 2000
    file_slice = slice_of(0, rows_of(long + "a", long + "b", long + "c"))
    for each in (Range.above(long + "b"), Range.at_most(long + "b")):
        assert positions(bitmap_over("text"), "text", [file_slice], Domain.of([each])) == {
            file_slice.group: None
        }
        assert not refuted_by(bitmap_over("text"), "text", [file_slice], Domain.of([each]))


def test_null_has_a_bitmap_of_its_own() -> None:
    file_slice = slice_of(0, rows_of(None, "!", None))

    assert positions(bitmap_over("text"), "text", [file_slice], Domain.null()) == {
        file_slice.group: BitMap([0, 2])
    }
    assert positions(bitmap_over("text"), "text", [file_slice], Domain.points(["!"])) == {
        file_slice.group: BitMap([1])
    }


def test_equal_values_share_a_bitmap() -> None:
    file_slice = slice_of(0, rows_of(0.0, -0.0, NAN, -NAN, 1.0))

    assert positions(bitmap_over("real"), "real", [file_slice], Domain.points([0.0])) == {
        file_slice.group: BitMap([0, 1])
    }
    assert positions(bitmap_over("real"), "real", [file_slice], Domain.points([NAN])) == {
        file_slice.group: BitMap([2, 3])
    }


def test_a_value_that_stands_nowhere_has_no_rows() -> None:
    file_slice = slice_of(0, rows_of("a"))

    assert positions(bitmap_over("text"), "text", [file_slice], Domain.points(["b"])) == {
        file_slice.group: BitMap()
    }
    assert positions(bitmap_over("text"), "text", [file_slice], Domain.none()) == {file_slice.group: BitMap()}


def test_a_file_group_with_too_many_values_is_never_refuted() -> None:
    kind = bitmap_over("text", max_values="2")
    many, few = slice_of(0, rows_of("a", "b", "c")), slice_of(1, rows_of("a", "b", None, "a"))
    table = [many, few]

    assert len(content_of(kind, entries_of(kind, "text", [many]))) == 1
    assert len(content_of(kind, entries_of(kind, "text", [few]))) == 3
    for domain in (Domain.points(["z"]), Domain.null(), Domain.of([Range.below("a")]), Domain.none()):
        assert many.group not in refuted_by(kind, "text", table, domain)
        assert positions(kind, "text", table, domain)[many.group] is None
    assert refuted_by(kind, "text", table, Domain.points(["z"])) == {few.group}


# The values that sort next to the marker, and the text that looks like it.
@pytest.mark.parametrize("value", ["%~", "%", "%25~", "~", "$", "&", "'"])
def test_no_value_is_taken_for_the_marker(value: str) -> None:
    file_slice = slice_of(0, rows_of(value))

    assert refuted_by(bitmap_over("text"), "text", [file_slice], Domain.points(["a"])) == {file_slice.group}
    assert positions(bitmap_over("text"), "text", [file_slice], Domain.points([value])) == {
        file_slice.group: BitMap([0])
    }


def test_entries_of_other_columns_do_not_count() -> None:
    kind, entries, table = people()
    covered = table

    assert prune(kind, on("commute_type", Domain.points(["female"])), entries, covered) == {
        each.group for each in table
    }


def test_a_bitmap_that_nobody_can_read_is_unknown() -> None:
    kind, file_slice = bitmap_over("text"), slice_of(0, rows_of("a"))
    entries = entries_of(kind, "text", [file_slice])
    struct = entries.schema.field("BitmapIndexMetadata").type
    odd: list[Any] = [None, {"bitmap": None}, {"bitmap": b""}, {"bitmap": b"odd"}]
    for payload in odd:
        doubtful = entries.set_column(2, "BitmapIndexMetadata", pa.array([payload], struct))
        assert rows_by(kind, on("text", Domain.points(["a"])), doubtful, [file_slice]) == {
            file_slice.group: None
        }
        assert not prune(kind, on("text", Domain.points(["a"])), doubtful, [file_slice])


def test_bytes_do_not_depend_on_batches() -> None:
    values = ["a"] * 70_000 + ["b", "a"] * 5000 + [None] * 3
    file_slice = slice_of(0, rows_of(*values))
    kind = bitmap_over("text")
    whole = content_of(kind, describe(kind, file_slice.context, batches_of(file_slice, "text")))
    cut = content_of(
        kind, describe(kind, file_slice.context, batches_of(file_slice, "text", range(0, 80_000, 7_001)))
    )

    assert whole == cut
    # 70,000 rows in a run and 5,000 apart: 16 bytes and 2 each.
    assert (
        len(whole["text$a" + kind.owner_suffix(file_slice.context)]["BitmapIndexMetadata"]["bitmap"]) < 12_000
    )


def test_bitmaps_are_portable() -> None:
    file_slice, kind = slice_of(0, rows_of("a", "b", "a")), bitmap_over("text")
    entry = content_of(kind, entries_of(kind, "text", [file_slice]))[
        "text$a" + kind.owner_suffix(file_slice.context)
    ]

    # Roaring's interchange format: cookie, one container, its key, cardinality - 1, offset, two values.
    assert entry["BitmapIndexMetadata"]["bitmap"].hex() == "3a30000001000000000001001000000000000200"
