"""Column statistics: bounds, counts and what they refute, from rows and from footers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings

from hudi_index.catalog.definition import IndexDefinition
from hudi_index.entries.encoding import encode_array
from hudi_index.errors import UnencodableValueError, UnknownColumnError, UnsupportedTypeError
from hudi_index.kinds import IndexKind, describe, kind_of
from hudi_index.kinds.column_stats import ColumnStats
from hudi_index.predicate.values.condition import Constraint, Term
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.storage import Storage
from hudi_index.table import (
    RECORD_KEY,
    ROW_POSITION,
    ColumnStatistics,
    FileGroupId,
    FileSlice,
    TableConfig,
    TableReader,
    TableSchema,
    TableShape,
)
from hudi_index.table.partitions import PartitionColumns
from tests.engine.kinds.laws import IndexKindLaws, content_of, entries_of, prune, question_of, refuted_by
from tests.engine.kinds.rows import (
    COLUMNS,
    INFINITY,
    NAN,
    Slice,
    array_of,
    batches_of,
    definition_of,
    kind_over,
    on,
    rows_of,
    slice_of,
    slices,
    starting_with,
)


class TestLaws(IndexKindLaws):
    def kind(self, column: str) -> IndexKind:
        return kind_over("column_stats", column)


def stats_of(column: str, *values: Any) -> dict[str, Any]:
    kind, file_slice = kind_over("column_stats", column), slice_of(0, rows_of(*values))
    (entry,) = content_of(
        kind, describe(kind, file_slice.context, batches_of(file_slice, column, [1]))
    ).values()
    payload: dict[str, Any] = entry["ColumnStatsMetadata"]
    return payload


def refute(column: str, domain: Domain, *values: list[Any]) -> set[int]:
    """The places of the file groups that are refuted."""
    table = [slice_of(place, rows_of(*each)) for place, each in enumerate(values)]
    found = refuted_by(kind_over("column_stats", column), column, table, domain)
    return {place for place, file_slice in enumerate(table) if file_slice.group in found}


def test_key_and_payload() -> None:
    kind, file_slice = kind_over("column_stats", "text"), slice_of(0, rows_of("b", None, "a$"))

    assert content_of(kind, describe(kind, file_slice.context, batches_of(file_slice, "text"))) == {
        "text$2025/04/01$2aa10971-11b2-41b3-9baf-ab33c0000144-0": {
            "key": "text$2025/04/01$2aa10971-11b2-41b3-9baf-ab33c0000144-0",
            "partition": "column_stats",
            "type": 3,
            "ColumnStatsMetadata": {
                "columnName": "text",
                "minValue": "a%24",
                "maxValue": "b",
                "valueCount": 3,
                "nullCount": 1,
                "nanCount": 0,
                "isExact": True,
                "groupCount": 1,
            },
            "filesystemMetadata": None,
            "BloomFilterMetadata": None,
            "recordIndexMetadata": None,
            "BitmapIndexMetadata": None,
            "_hoodie_is_deleted": False,
        }
    }


# A1, #18791: LIKE 'p%' as min <= 'p' <= max drops a file group that begins at 'p_00'.
def test_a_prefix_keeps_what_begins_above_it() -> None:
    assert refute("text", Domain.of([starting_with("p")]), ["p_00", "p_99"], ["q"], ["a", "o~"]) == {1, 2}


# A2, #18754: one NaN made the bounds 0.0.
def test_nan_is_the_largest_value_and_counted() -> None:
    found = stats_of("real", 5.0, NAN, 7.0, NAN)

    assert found["nanCount"] == 2
    assert found["minValue"] == encoded(5.0)
    assert found["maxValue"] == encoded(NAN)
    assert refute("real", Domain.points([7.0]), [5.0, NAN, 7.0], [1.0]) == {1}
    assert refute("real", Domain.points([NAN]), [5.0, NAN], [INFINITY]) == {1}
    assert refute("real", Domain.points([INFINITY]), [NAN, NAN], [INFINITY, NAN]) == {0}


def encoded(value: float) -> str:
    return str(encode_array(pa.array([value]))[0])


def test_zero_has_no_sign() -> None:
    assert refute("real", Domain.points([0.0]), [-0.0], [0.0], [5e-324]) == {2}
    assert stats_of("real", -0.0)["minValue"] == stats_of("real", 0.0)["maxValue"]


# A3, #18755: a file group with a long text was taken for all null.
def test_a_long_text_keeps_bounds_around_it() -> None:
    found = stats_of("text", "b" * 5000, "c" * 5000)

    assert found["minValue"] == "b" * 256
    assert found["maxValue"] == "c" * 255 + "d"
    assert not found["isExact"]
    assert not refute("text", Domain.points(["b" * 5000]), ["b" * 5000])
    assert refute("text", Domain.not_null(), ["b" * 5000], [None]) == {1}


@pytest.mark.parametrize(
    ("column", "value", "low", "high"),
    [
        ("text", "$" * 257, "%24" * 256, "%24" * 255 + "%25"),
        ("text", "$" * 256, "%24" * 256, "%24" * 256),
        ("text", "x" * 255 + "\U0010ffff" * 2, "x" * 255 + "\U0010ffff", "x" * 254 + "y"),
        ("text", "\U0010ffff" * 300, "\U0010ffff" * 256, "\U0010ffff" * 300),
        ("data", b"a" * 129, "61" * 128, "61" * 127 + "62"),
        ("data", b"a\xff" * 65, "61ff" * 64, "61ff" * 63 + "6200"),
        ("data", b"\xff" * 129, "ff" * 128, "ff" * 129),
    ],
)
def test_long_bounds_are_rounded_away_from_the_values(column: str, value: Any, low: str, high: str) -> None:
    found = stats_of(column, value)

    assert (found["minValue"], found["maxValue"]) == (low, high)
    assert found["isExact"] is (low == high)


# A4, #19645: IS NULL pruned file groups whose null count nobody knew.
def test_unknown_counts_refute_nothing() -> None:
    kind, table = kind_over("column_stats", "number"), [slice_of(0, rows_of(1))]
    entries = entries_of(kind, "number", table)
    payloads = entries.column("ColumnStatsMetadata").to_pylist()
    for unknown in ({**payloads[0], "nullCount": None}, {**payloads[0], "valueCount": None}, None):  # type: ignore[dict-item]  # no null among them
        column = pa.array([unknown], entries.schema.field("ColumnStatsMetadata").type)
        doubtful = entries.set_column(2, "ColumnStatsMetadata", column)
        for domain in (Domain.null(), Domain.points([9]), Domain.not_null()):
            assert not prune(kind, on("number", domain), doubtful, [table[0]])


def test_null_is_refuted_by_its_count() -> None:
    groups: list[list[Any]] = [[1, None], [1], [None, None], []]

    assert refute("number", Domain.null(), *groups) == {1, 3}
    assert refute("number", Domain.not_null(), *groups) == {2, 3}
    assert refute("number", Domain.of([Range.equal(2)], has_null=True), *groups) == {1, 3}


# A5 A6 A18, #10389 #5275 #20296: a column indexed later, an entry that is missing: not all null, unknown.
def test_a_file_group_without_an_entry_is_kept() -> None:
    kind = kind_over("column_stats", "number", "text")
    old, new = slice_of(0, rows_of(1)), slice_of(1, rows_of(1))
    only_number = kind_over("column_stats", "number")
    entries = entries_of(only_number, "number", [old, new])

    assert not prune(kind, on("text", Domain.points(["a"])), entries, [old, new])
    assert prune(kind, on("number", Domain.points([2])), entries.slice(0, 1), [old, new]) == {old.group}


# A7, #7032: a wrong maximum made IN on an existing value empty.
def test_in_keeps_both_ends() -> None:
    assert refute("number", Domain.points([-5, 10]), [1, 10], [-5, 3], [0, 9]) == {2}


# A17, #9884: milliseconds read as microseconds.
def test_units_of_time_do_not_matter() -> None:
    moments = [1_700_000_000_123, -1]
    file_slice = slice_of(0, rows_of(*moments))
    found = []
    units: tuple[tuple[pa.DataType, int], ...] = (
        (pa.timestamp("ms", "UTC"), 1),
        (pa.timestamp("us", "UTC"), 1000),
        (pa.timestamp("ns", "UTC"), 1_000_000),
    )
    for data_type, factor in units:
        kind = kind_of(definition_of("column_stats", "at"), {"at": data_type})
        values = pa.array([moment * factor for moment in moments], data_type)
        batch = pa.RecordBatch.from_pydict({"at": values})
        found.append(describe(kind, file_slice.context, [batch]).to_pylist())

    assert found[0] == found[1] == found[2]


def test_nanoseconds_that_no_key_can_hold_are_an_error() -> None:
    kind = kind_of(definition_of("column_stats", "at"), {"at": pa.timestamp("ns")})
    batch = pa.RecordBatch.from_pydict({"at": pa.array([1], pa.timestamp("ns"))})

    with pytest.raises(UnencodableValueError, match="'at'"):
        describe(kind, slice_of(0, []).context, [batch])


# A18b, #5804: nested fields were not used.
def test_a_nested_field_is_null_where_its_struct_is() -> None:
    found = stats_of("place.city", "x", None, None)

    assert (found["columnName"], found["nullCount"], found["minValue"]) == ("place.city", 2, "x")


def test_a_field_that_is_not_there_is_named() -> None:
    kind = kind_of(definition_of("column_stats", "place.town"), {"place.town": pa.string()})
    file_slice = slice_of(0, rows_of("x"))

    with pytest.raises(UnknownColumnError, match=r"place\.town"):
        describe(kind, file_slice.context, batches_of(file_slice, "place.city"))


# A10, #17479: an index on lower(c) was used for upper(c), and for c itself.
def test_an_expression_is_answered_by_its_own_index_only() -> None:
    definition = IndexDefinition("idx_lower", "column_stats", ("text",), "lower(text)")
    kind = kind_of(definition, {"lower(text)": pa.string()})
    file_slice = slice_of(0, rows_of("a"))
    batch = batches_of(file_slice, "text")[0].rename_columns(
        [RECORD_KEY, ROW_POSITION, *kind.columns, "v", "c"]
    )
    entries = describe(kind, file_slice.context, [batch])
    wanted = Domain.points(["b"])

    assert kind.partition == "func_index_idx_lower"
    assert entries.column("key").to_pylist() == [f"idx_lower{kind.owner_suffix(file_slice.context)}"]
    assert prune(kind, Constraint(Term("lower(text)", is_expression=True), wanted), entries, [file_slice])
    for other in (
        Term("upper(text)", is_expression=True),
        Term("text"),
        Term("lower(text)"),
        Term("idx_lower"),
    ):
        assert question_of(kind, Constraint(other, wanted)) is None
        assert not prune(kind, Constraint(other, wanted), entries, [file_slice])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("number", 2**70),
        ("number", 1.5),
        ("number", "1"),
        ("text", 1),
        ("text", "\ud800"),
        ("flag", 1),
        ("day", "x"),
    ],
)
def test_a_literal_of_another_kind_is_not_answered(column: str, value: Any) -> None:
    kind, file_slice = kind_over("column_stats", column), slice_of(0, rows_of(None))
    constraint = on(column, Domain.points([value]))

    assert question_of(kind, constraint) is None
    assert not prune(kind, constraint, entries_of(kind, column, [file_slice]), [file_slice])


def test_a_type_without_order_is_refused() -> None:
    with pytest.raises(UnsupportedTypeError, match="'tags'"):
        kind_of(definition_of("column_stats", "tags"), {"tags": pa.list_(pa.string())})


def test_several_columns_have_an_entry_each() -> None:
    kind, file_slice = kind_over("column_stats", "number", "text"), slice_of(0, [])
    batch = pa.RecordBatch.from_pydict({"number": array_of("number", [1]), "text": array_of("text", ["b"])})
    entries = describe(kind, file_slice.context, [batch])
    covered = [slice_of(0, rows_of(1))]

    assert kind.columns == ("number", "text")
    assert prune(kind, on("text", Domain.points(["a"])), entries, covered)
    assert not prune(kind, on("number", Domain.points([1])), entries, covered)


@pytest.mark.parametrize("column", COLUMNS)
def test_footers_give_the_same_entries_as_rows(column: str, tmp_path: Path) -> None:
    kind = kind_over("column_stats", column)
    assert isinstance(kind, ColumnStats)

    @settings(max_examples=settings().max_examples // 10)
    @given(slices(column))
    def check(table: list[Slice]) -> None:
        file_slice = table[0]
        rows = pa.Table.from_batches(batches_of(file_slice, column))
        footer = footer_of(tmp_path, rows, column)
        entries, rest = kind.entries_of_statistics(file_slice.context, footer), kind.without(footer)
        assert rest is None or rest == kind
        if rest is None:
            assert content_of(kind, entries) == content_of(kind, entries_of(kind, column, [file_slice]))
        else:
            # Nothing is proven of no rows and of floating point; long bounds are not in footers.
            assert not file_slice.rows or column in ("real", "text", "place.city", "data")

    check()


def footer_of(path: Path, rows: pa.Table, column: str) -> dict[str, ColumnStatistics | None]:
    name = "a_0-1-2_20240101000000000.parquet"
    pq.write_table(rows, path / name)
    config = TableConfig.parse({"hoodie.table.version": "9"})
    schema = TableSchema(rows.schema, rows.schema)
    shape = TableShape(config, schema, PartitionColumns.of(config, schema, [""]))
    reader = TableReader(Storage.open(path), shape, "")
    return reader.statistics(FileSlice(FileGroupId("", "a"), name), [column])


def test_what_footers_do_not_prove_comes_from_rows() -> None:
    kind, file_slice = kind_over("column_stats", "number", "real", "text"), slice_of(0, [])
    assert isinstance(kind, ColumnStats)
    one = ColumnStatistics(pa.scalar(1), pa.scalar(1), 0, 1)

    known = {"number": one, "real": one, "text": None}
    entries, rest = kind.entries_of_statistics(file_slice.context, known), kind.without(known)

    assert [row["ColumnStatsMetadata"]["columnName"] for row in entries.to_pylist()] == ["number"]
    assert rest is not None
    # Of floating point, footers never prove anything.
    assert rest.columns == ("real", "text")
