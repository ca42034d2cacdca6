"""Membership over Arrow columns is membership in the domain; what is no domain is evaluated or refused."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.errors import UnsupportedPredicateError
from hudi_index.predicate import (
    Bound,
    Constraint,
    Domain,
    HasElement,
    Marker,
    Range,
    Schema,
    Term,
    TextPattern,
    bind,
    parse_predicate,
)
from hudi_index.scan.membership import holds, meets
from hudi_index.scan.row_filter import row_filter_of
from hudi_index.scan.texts import is_valid_regex, matches_pattern, regex_of_pattern
from hudi_index.table.types import sql_schema

TIMES = [
    datetime(1, 1, 1, tzinfo=timezone.utc),
    datetime(1969, 12, 31, 23, 59, 59, 999999, timezone.utc),
    datetime(2024, 2, 29, tzinfo=timezone.utc),
]
VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "byte": (pa.int8(), [-128, -1, 0, 1, 127]),
    "long": (pa.int64(), [-(2**63), -1, 0, 2**53 + 1, 2**63 - 1]),
    "float": (pa.float32(), [-math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan]),
    "double": (pa.float64(), [-math.inf, -1.5, -0.0, 0.0, 5e-324, math.inf, math.nan]),
    "decimal": (pa.decimal128(38, 10), [Decimal(text) for text in ("-1.5", "0", "1E-10", "9" * 28)]),
    "string": (pa.string(), ["", "A", "a", "a\x00", "é", "\ue000", "𝄞", "\U0010ffff"]),
    "binary": (pa.binary(), [b"", b"\x00", b"a", b"\x7f", b"\xff"]),
    "boolean": (pa.bool_(), [False, True]),
    "date": (pa.date32(), [date.min, date(1969, 12, 31), date(1970, 1, 1), date.max]),
    "timestamp": (pa.timestamp("us", tz="UTC"), TIMES),
    "timestamp_ntz": (pa.timestamp("us"), [time.replace(tzinfo=None) for time in TIMES]),
}


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=40)
@given(data=st.data())
def test_value_is_in_a_column_of_a_domain_exactly_if_it_is_in_the_domain(
    kind: str, data: st.DataObject
) -> None:
    arrow, values = VALUES[kind]
    low = st.builds(Marker, st.sampled_from(values), st.sampled_from([Bound.EXACTLY, Bound.ABOVE]))
    high = st.builds(Marker, st.sampled_from(values), st.sampled_from([Bound.EXACTLY, Bound.BELOW]))
    ranges = st.builds(Range, low | st.just(Marker.lowest()), high | st.just(Marker.highest()))
    points = st.sampled_from(values).map(Range.equal)
    domain = Domain.of(data.draw(st.lists(ranges | points, max_size=4)), has_null=data.draw(st.booleans()))
    rows = [*values, None]
    assert holds(domain, pa.array(rows, arrow)).to_pylist() == [domain.contains(row) for row in rows]


def test_long_list_of_values_that_are_not_wanted_is_one_look_up() -> None:
    unwanted = ", ".join(str(number) for number in range(0, 20_000, 2))
    assert _passing(f"n NOT IN ({unwanted})", {"n": [1, 2, 3, None, 20_000]}) == [1, 3, 20_000]


def test_dates_that_python_does_not_know_compare_too() -> None:
    days = pa.array([-(10**7), 0, 10**7], pa.int32()).cast(pa.date32())
    domain = Domain.of([Range.above(date(1970, 1, 1))])
    assert holds(domain, days).to_pylist() == [False, False, True]


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("s LIKE '%b'", ["a\nb", "a%b"]),
        ("s LIKE 'a_b'", ["a\nb", "a%b"]),
        ("s LIKE '%\\\\%%'", ["a%b"]),
        ("s LIKE '_'", ["𝄞"]),
        ("s NOT LIKE '%b'", ["𝄞", "", "A.c"]),
        ("s LIKE 'A.%'", ["A.c"]),
        ("(s LIKE '%b') IS NOT TRUE", ["𝄞", "", "A.c", None]),
        ("NOT (s LIKE '%b' OR s = '')", ["𝄞", "A.c"]),
    ],
)
def test_like_reads_characters_as_spark_does(predicate: str, expected: list[str | None]) -> None:
    assert _passing(predicate, {"s": ["a\nb", "a%b", "𝄞", "", "A.c", None]}, "s") == expected


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("s LIKE 'a%b'", ["a\nb", "a%b"]),
        ("s LIKE '%b%' AND s LIKE 'a%'", ["a\nb", "a%b"]),
        ("contains(s, '%')", ["a%b"]),
        ("NOT contains(s, '')", []),
        ("NOT endswith(s, 'b')", ["𝄞", "", "A.c"]),
        ("s RLIKE 'a.b'", ["a%b"]),
        ("s RLIKE 'a[^x]b'", ["a\nb", "a%b"]),
        (r"s RLIKE 'a\\Wb|𝄞'", ["a\nb", "a%b", "𝄞"]),
        (r"s RLIKE '^\\w[.]'", ["A.c"]),
        ("s NOT RLIKE 'a'", ["𝄞", "", "A.c"]),
        ("s RLIKE ''", ["a\nb", "a%b", "𝄞", "", "A.c"]),
        ("s LIKE ANY ('%b', 'A%')", ["a\nb", "a%b", "A.c"]),
        ("s LIKE ALL ('%b', '%\\%%')", ["a%b"]),
    ],
)
def test_patterns_are_met_as_spark_says(predicate: str, expected: list[str | None]) -> None:
    assert _passing(predicate, {"s": ["a\nb", "a%b", "𝄞", "", "A.c", None]}, "s") == expected


def test_pattern_too_large_for_re2_is_met_all_the_same() -> None:
    long = "é" * 400_000
    pattern = TextPattern("a", (long,), "b")
    texts = pa.array([f"a{long}b", f"ax{long}yb", f"a{long}", None])
    assert not is_valid_regex(regex_of_pattern(pattern))
    assert matches_pattern("s", texts, pattern).to_pylist() == [True, True, False, False]


LISTS: list[list[float | None] | None] = [
    [1.0, None],
    [],
    None,
    [-0.0, 1.0],
    [math.nan, 2.0],
    [None],
    [3.0, 3.0],
]


@pytest.mark.parametrize("arrow", [pa.list_(pa.float64()), pa.large_list(pa.float32())])
@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ("array_contains(xs, 1)", [0, 3]),
        ("array_contains(xs, 0.0D)", [3]),
        ("array_contains(xs, double('NaN'))", [4]),
        ("arrays_overlap(array(1D, 3D), xs)", [0, 3, 6]),
        ("exists(xs, x -> x IS NULL)", [0, 5]),
        ("exists(xs, x -> x >= 3 OR x < 0.5D)", [3, 4, 6]),
        ("exists(xs, x -> true)", [0, 3, 4, 5, 6]),
        ("exists(xs, x -> x > 0) IS NOT TRUE", [1, 2, 5]),
        ("xs IS NULL", [2]),
        ("xs IS NOT NULL AND array_contains(xs, 2)", [4]),
        ("array_contains(xs, CAST(NULL AS DOUBLE))", []),
    ],
)
def test_arrays_have_an_element_as_spark_says(
    predicate: str, expected: list[int], arrow: pa.DataType
) -> None:
    schema = Schema.parse({"xs": "array<double>"})
    rows = row_filter_of(bind(parse_predicate(predicate), schema), time_zone="UTC")
    # A slice, whose elements begin somewhere in the middle.
    lists = pa.array([[1.0], *LISTS, [1.0]], arrow).slice(1, len(LISTS))
    mask = rows.mask(lambda _: lists, len(lists))
    assert [place for place, is_met in enumerate(mask.to_pylist()) if is_met] == expected


def test_lists_of_a_table_are_arrays_and_what_has_no_type_of_sparks_is_none() -> None:
    fields: dict[str, pa.DataType] = {
        "xs": pa.list_(pa.int32()),
        "large": pa.large_list(pa.decimal128(10, 2)),
        "nested": pa.list_(pa.list_(pa.string())),
        "rows": pa.list_(pa.struct([pa.field("a", pa.int64())])),
        "st": pa.struct([pa.field("xs", pa.list_(pa.date32()))]),
        "map": pa.map_(pa.string(), pa.int32()),
        "maps": pa.list_(pa.map_(pa.string(), pa.int32())),
    }
    found = {name: str(kind) for name, kind in sql_schema(pa.schema(fields)).columns.items()}
    assert found == {
        "xs": "array<int>",
        "large": "array<decimal(10,2)>",
        "nested": "array<array<string>>",
        "rows": "array<struct<a:bigint>>",
        "st": "struct<xs:array<date>>",
        "map": "unknown",
        "maps": "array<unknown>",
    }


def test_elements_under_a_null_list_belong_to_none() -> None:
    lists = pa.ListArray.from_arrays(
        pa.array([0, 1, 2, 3], pa.int32()), pa.array([1, 7, 1]), mask=pa.array([False, True, False])
    )
    found = Constraint(Term("xs"), HasElement(Domain.points([7])))
    assert meets(found, lists).to_pylist() == [False, False, False]
    found = Constraint(Term("xs"), HasElement(Domain.points([1])))
    assert meets(found, lists).to_pylist() == [True, False, True]


def test_part_that_decides_alone_needs_no_other() -> None:
    assert _passing("hour(s) = 1 AND n = 1 AND n = 2", {"n": [1], "s": ["a"]}) == []
    assert _passing("hour(s) = 1 OR n = 1 OR true", {"n": [1], "s": ["a"]}) == [1]


def test_text_that_is_none_is_refused_by_like_rather_than_guessed_at() -> None:
    broken = pa.array([b"\xff"]).view(pa.string())
    with pytest.raises(UnsupportedPredicateError, match="no valid text"):
        _filter("s LIKE '%b'").mask(lambda _: broken, 1)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("=", [0, 1]),
        ("!=", [2, 3]),
        ("<", [2]),
        ("<=", [0, 1, 2]),
        (">", [3]),
        (">=", [0, 1, 3]),
        ("<=>", [0, 1, 6]),
        ("IS DISTINCT FROM", [2, 3, 4, 5]),
    ],
)
def test_columns_compare_with_each_other_as_spark_does(operator: str, expected: list[int]) -> None:
    columns = {
        "f": [-0.0, math.nan, 1.0, math.nan, None, 1.0, None],
        "d": [0.0, math.nan, math.nan, math.inf, 1.0, None, None],
    }
    rows: dict[str, list[Any]] = {**columns, "n": list(range(7))}
    assert _passing(f"f {operator} d", rows) == expected


@pytest.mark.parametrize(
    "predicate",
    [
        "upper(s) = 'A'",
        "n + 1 = 2",
        "s RLIKE 'a$'",
        "s RLIKE '(?i)a'",
        "s NOT RLIKE '(a{150}){150}'",
        "s = n",
        "NOT array_contains(xs, 1)",
        "arrays_overlap(fs, array(0D))",
        "s LIKE 'a\\\\b'",
        "n = 1 OR hour(s) = 1",
        "s > 1",
    ],
)
def test_what_is_not_certain_is_refused(predicate: str) -> None:
    with pytest.raises(UnsupportedPredicateError, match="use read_indexed on Spark"):
        _filter(predicate)


def _filter(predicate: str) -> Any:
    columns = {
        "n": "int",
        "s": "string",
        "f": "float",
        "d": "double",
        "xs": "array<int>",
        "fs": "array<double>",
    }
    schema = Schema.parse(columns)
    return row_filter_of(bind(parse_predicate(predicate), schema), time_zone="UTC")


def _passing(predicate: str, columns: dict[str, list[Any]], shown: str = "n") -> list[Any]:
    types = {"n": pa.int32(), "s": pa.string(), "f": pa.float32(), "d": pa.float64()}
    arrays = {name: pa.array(values, types[name]) for name, values in columns.items()}
    mask = _filter(predicate).mask(lambda path: arrays[path], len(arrays[shown]))
    found: list[Any] = arrays[shown].filter(mask).to_pylist()
    return found
