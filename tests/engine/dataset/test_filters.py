"""Filters of Arrow's over a dataset against the same filters over the plain rows, with hostile values."""

from __future__ import annotations

import operator
from datetime import datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index import IndexedTable, ScanReport
from hudi_index.dataset.expressions import ArrowCall, ArrowField, ArrowLiteral, read_expression
from tests.engine.dataset.hostile import COLUMNS, VALUES, make_table, plain_rows
from tests.support.tables import T1, Fabricated, schema_of

if TYPE_CHECKING:
    from pathlib import Path

_COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_ODD: dict[str, list[Any]] = {
    "n": [pa.scalar(7, pa.int64()), pa.scalar(0.5), pa.scalar(Decimal("1.00")), pa.scalar(1, pa.uint8())],
    "l": [pa.scalar(2.0**53), pa.scalar(Decimal("9007199254740993")), pa.scalar(1.5, pa.float32())],
    "f": [pa.scalar(0), pa.scalar(1.5, pa.float32()), pa.scalar(2**53 + 1), pa.scalar(-0.0)],
    "r": [pa.scalar(1.5), pa.scalar(16777217), pa.scalar(0.1), pa.scalar(0.1, pa.float32())],
    "s": [pa.scalar("a", pa.large_string()), pa.scalar("b").cast(pa.string())],
    "ts": [pa.scalar(0, pa.timestamp("ns", "Europe/Berlin")), pa.scalar(1, pa.timestamp("ns", "UTC"))],
    "local": [pa.scalar(0, pa.timestamp("s")), pa.scalar(1, pa.timestamp("ns"))],
    "d": [pa.scalar(1), pa.scalar(Decimal("1.5")), pa.scalar(Decimal("1.505")), pa.scalar(1.5)],
    "day": [pa.scalar(0, pa.timestamp("us")), pa.scalar(0, pa.date64())],
    "big": [pa.scalar(0), pa.scalar(Decimal("1.5")), pa.scalar(1.5), pa.scalar(Decimal("1.50000000000"))],
    "raw": [pa.scalar("a"), pa.scalar(b"a", pa.large_binary())],
    "b": [pa.scalar(1)],
}
# As Any: pyarrow's stubs don't know that these take expressions, and null.
_coalesce: Any = pc.coalesce
_scalar: Any = pc.scalar
_NOTHING = _scalar(None)
_NULL = _NOTHING.cast(pa.bool_())
_CASTS: dict[str, Any] = {
    "n": pa.int64(),
    "r": pa.float64(),
    "l": pa.float64(),
    "d": pa.decimal128(20, 4),
    "s": pa.large_string(),
    "ts": pa.timestamp("ns", "UTC"),
    "big": pa.decimal256(50, 12),
    "raw": pa.large_binary(),
    "b": pa.int8(),
    "f": pa.float32(),
}


@st.composite
def leaves(draw: Any, columns: tuple[str, ...]) -> Any:
    name = draw(st.sampled_from(columns))
    column, data_type = pc.field(name), COLUMNS.field(name).type
    value = st.sampled_from([*VALUES[name], None]).map(lambda each: pa.scalar(each, data_type))
    kind = draw(
        st.sampled_from(
            ("compare", "compare", "odd", "in", "null", "cast", "text", "nested", "swap", "pair", "odd list")
        )
    )
    compare = draw(st.sampled_from(_COMPARISONS))
    if kind == "odd" and name in _ODD:
        return compare(column, draw(st.sampled_from(_ODD[name])))
    if kind == "in":
        listed = draw(st.lists(st.sampled_from([*VALUES[name], None]), max_size=4))
        return pc.is_in(column, value_set=pa.array(listed, data_type), skip_nulls=draw(st.booleans()))
    if kind == "null":
        choices = [column.is_null(), column.is_valid(), column.is_null(nan_is_null=name in "fr")]
        return draw(st.sampled_from([*choices, *([column.is_nan()] if name in "fr" else [])]))
    if kind == "cast" and name in _CASTS:
        return compare(column.cast(_CASTS[name], safe=draw(st.booleans())), draw(value))
    if kind == "odd list" and name in _ODD:
        chosen = draw(st.sampled_from(_ODD[name]))
        return pc.is_in(column, value_set=pa.array([chosen.as_py(), None], chosen.type))
    if kind == "pair":
        return compare(column, pc.field(draw(st.sampled_from(columns))))
    if kind == "text":
        text, pattern = pc.field("s"), draw(st.sampled_from(("a", "", "x", "a%", "%b", "a_b", "\\%", "A")))
        functions = (pc.starts_with, pc.ends_with, pc.match_substring, pc.match_like)
        return draw(st.sampled_from(functions))(text, pattern, ignore_case=draw(st.booleans()))
    if kind == "nested":
        return compare(pc.field("seat", "row"), pa.scalar(draw(st.sampled_from(VALUES["n"])), pa.int32()))
    if kind == "swap":
        return compare(pc.scalar(draw(st.sampled_from(VALUES["n"]))), pc.field("n"))
    return compare(column, draw(value))


def expressions(columns: tuple[str, ...]) -> st.SearchStrategy[pc.Expression]:
    def joined(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        pair = st.tuples(children, children)
        return st.one_of(
            pair.map(lambda each: each[0] & each[1]),
            pair.map(lambda each: each[0] | each[1]),
            children.map(lambda each: ~each),
            children.map(lambda each: each.is_null()),
            st.tuples(children, children, children).map(lambda each: pc.if_else(*each)),
            children.map(lambda each: pc.if_else(each, pc.scalar(1), pc.field("n")).is_valid()),
            children.map(lambda each: each & _NULL),
            pair.map(lambda each: pc.coalesce(*each)),
        )

    return st.recursive(leaves(columns), joined, max_leaves=5)


@pytest.fixture(scope="module", params=["copy on write", "merge on read"])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[IndexedTable, pa.Table]:
    path: Path = tmp_path_factory.mktemp("tables") / "t"
    table = make_table(path, seed=3, is_merged=request.param == "merge on read")
    return table, plain_rows(table)


def _keys(rows: pa.Table) -> list[Any]:
    return sorted(rows["id"].to_pylist(), key=str)


_pruned = {"by filter": 0, "by count": 0}


def _check(table: IndexedTable, rows: pa.Table, condition: pc.Expression) -> None:
    try:
        expected = rows.filter(condition)
    except pa.ArrowException:
        # Arrow has no such comparison, or a value does not fit.
        return
    report, counting = ScanReport(), ScanReport()
    found = table.dataset(report=report, threads=1).to_table(columns=["id"], filter=condition)
    assert _keys(found) == _keys(expected), str(condition)
    counted = table.dataset(report=counting, threads=1)
    assert counted.count_rows(filter=condition) == expected.num_rows, str(condition)
    _pruned["by filter"] += report.file_groups - report.file_groups_read
    _pruned["by count"] += counting.file_groups - counting.file_groups_read


def _columns_of(rows: pa.Table) -> tuple[str, ...]:
    return tuple(name for name in VALUES if name in rows.column_names)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_filtered_rows_are_those_of_the_plain_table(both: Any, data: st.DataObject) -> None:
    table, rows = both
    _check(table, rows, data.draw(expressions(_columns_of(rows))))


def test_all_that_saved_reading() -> None:
    assert all(_pruned.values())


@pytest.mark.slow
@settings(max_examples=2_000, deadline=None)
@given(st.data())
def test_filtered_rows_are_those_of_the_plain_table_at_length(both: Any, data: st.DataObject) -> None:
    table, rows = both
    _check(table, rows, data.draw(expressions(_columns_of(rows))))


def test_an_expression_crosses_with_its_types() -> None:
    condition = (pc.field("a b.c") == pa.scalar(1, pa.int8())) & pc.field("s", "x").isin(["q", None])
    found = read_expression(condition)
    assert isinstance(found, ArrowCall)
    assert found.name == "and_kleene"
    one, other = found.arguments
    assert isinstance(one, ArrowCall)
    assert one.arguments == (ArrowField(("a b.c",)), ArrowLiteral(pa.scalar(1, pa.int8())))
    assert isinstance(other, ArrowCall)
    assert other.arguments == (ArrowField(("s", "x")),)
    assert other.options["value_set"].as_py() == ["q", None]


def test_an_expression_that_cannot_be_read_prunes_nothing(both: Any) -> None:
    table, rows = both
    by_number = pc.field(1) == 7
    assert read_expression(by_number) is None
    dataset = table.dataset()
    assert dataset.plan(by_number).kept == dataset.plan().kept
    assert dataset.to_table(filter=by_number).num_rows == rows["n"].to_pylist().count(7)


def test_a_deep_expression_prunes_or_not_but_answers(both: Any) -> None:
    table, rows = both
    condition = pc.field("n") == 7
    for number in range(300):
        condition = condition | (pc.field("n") == number + 1_000)
    assert table.dataset().to_table(filter=condition).num_rows == rows.filter(condition).num_rows


def test_a_long_list_prunes_by_its_ends(both: Any) -> None:
    table, rows = both
    condition = pc.field("l").isin(pa.array(range(10, 20_000), pa.int64()))
    report = ScanReport()
    assert table.dataset(report=report).to_table(filter=condition).num_rows == rows.filter(condition).num_rows
    assert report.file_groups_read < report.file_groups


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> IndexedTable:
    """Six file groups of one row, with values whose type matters."""
    columns = schema_of(
        pa.field("id", pa.string(), nullable=False),
        pa.field("r", pa.float32()),
        pa.field("n", pa.int32()),
        pa.field("b", pa.bool_()),
        pa.field("ts", pa.timestamp("us", "UTC")),
        pa.field("big", pa.decimal128(38, 10)),
        pa.field("bytes", pa.binary()),
    )
    made = Fabricated(tmp_path_factory.mktemp("odd") / "t", columns=columns, partition_fields="")
    singles = [0.1, 0.2, 1.5, None, float("nan"), -0.0]
    for number, single in enumerate(singles):
        row = {
            "id": str(number),
            "r": single,
            "n": number,
            "b": [True, False, None][number % 3],
            "ts": datetime(9999 - number, 1, 1, tzinfo=timezone.utc),
            "big": number * Decimal("1111111111111111111111111111.1111111111"),
            "bytes": bytes([255 - number]),
        }
        made.base_file("", f"g{number}", T1, [row])
    made.commit(T1)
    statements = (
        "CREATE INDEX stats ON t USING column_stats (r, n, b, ts, big, bytes)",
        "CREATE INDEX bits ON t USING bitmap (b, n)",
        "CREATE INDEX singles ON t USING secondary_index (r)",
    )
    IndexedTable.open(made.path).create_all(statements)
    return IndexedTable.open(made.path)


_NANOSECONDS = pa.timestamp("ns", "UTC")


@pytest.mark.parametrize(
    "condition",
    [
        # Constants that are no conditions are values nevertheless.
        pc.if_else(pc.field("b"), 7, 8).is_valid(),
        _coalesce(pc.scalar(7), pc.field("n")).is_valid(),
        pc.if_else(pc.field("b"), pc.scalar("x"), _NOTHING).is_null(),
        # Arrow brings the list to the column's type, and not the column to the list's.
        pc.field("r").isin([0.1]),
        pc.field("r").isin([0.1, 0.2, None]),
        ~pc.field("r").isin([0.1]),
        pc.field("r").cast(pa.float64()).isin([0.1]),
        pc.field("r").isin([-0.0]),
        pc.field("r").isin([float("nan")]),
        pc.field("n").isin([1.0, 2.0]),
        pc.field("n").isin(pa.array([1, 2], pa.uint8())),
        pc.field("n").isin(pa.array([1, 2]).dictionary_encode()),
        pc.field("n").isin(["1"]),
        pc.field("big").isin([0]),
        # A cast that may overflow gives other times.
        pc.field("ts").cast(_NANOSECONDS, safe=False) < pa.scalar(0, _NANOSECONDS),
        pc.field("ts").cast(_NANOSECONDS, safe=False) > pa.scalar(0, _NANOSECONDS),
        pc.field("big") == Decimal("1111111111111111111111111111.1111111111"),
        pc.field("big") > 1.5,
        pc.field("bytes") > bytes([252]),
        pc.field("bytes").isin([bytes([254])]),
        pc.field("n").cast(pa.int8(), safe=False) == 1,
        pc.field("n") < pa.scalar(2**64 - 1, pa.uint64()),
        (pc.field("n") == 1) != _NULL,
    ],
)
def test_what_arrow_makes_of_types_is_not_pruned(odd: IndexedTable, condition: pc.Expression) -> None:
    _check(odd, plain_rows(odd), condition)


def test_a_list_of_doubles_prunes_a_column_of_singles(odd: IndexedTable) -> None:
    assert odd.dataset().plan(pc.field("r").isin([0.1])).kept == 1
