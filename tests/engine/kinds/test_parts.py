"""What kinds share: shortened parts, ranges of keys, differences, and how kinds are made."""

from __future__ import annotations

import hashlib
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.catalog.definition import IndexDefinition
from hudi_index.entries.encoding import encode_text
from hudi_index.errors import UnknownColumnError
from hudi_index.kind_parts.ranges import part_domain
from hudi_index.kind_parts.values import CUT, key_parts, shorten, values_of
from hudi_index.kind_specs import specs
from hudi_index.kinds import describe, diff_entries, kind_of
from hudi_index.predicate.values.domain import Bound, Domain, Marker, Range
from tests.engine.kinds.laws import content_of, is_in
from tests.engine.kinds.rows import TEXTS, Slice, batches_of, domains, kind_over, rows_of, slice_of, slices

TEXT = st.sampled_from(TEXTS) | st.text(st.sampled_from("ax$ %é\U0010ffff"), max_size=4).map(
    lambda tail: "x" * 998 + tail
)


@pytest.mark.parametrize(
    ("part", "kept"),
    [
        ("x" * 1001, "x" * 1000),
        ("x" * 999 + "%24y", "x" * 999),
        ("x" * 998 + "%24", "x" * 998),
        ("x" * 997 + "%24y", "x" * 997 + "%24"),
        ("x" * 1000 + "%24", "x" * 1000),
        ("é" * 1001, "é" * 1000),
        ("\U0001f600" * 1001, "\U0001f600" * 1000),
    ],
)
def test_long_parts_are_cut_between_characters(part: str, kept: str) -> None:
    assert shorten(part) == f"{kept}%~{hashlib.sha256(part.encode()).hexdigest()}"


def test_short_parts_stay() -> None:
    for part in ("", "!", "x" * 1000, "é" * 1000, "%24" * 333):
        assert shorten(part) == part


@given(st.lists(st.none() | TEXT))
def test_arrays_are_shortened_as_texts_are(values: list[str | None]) -> None:
    expected = ["!" if value is None else shorten(encode_text(value)) for value in values]

    assert key_parts(pa.array(values, pa.string()), "text").to_pylist() == expected


@given(TEXT, TEXT)
def test_order_holds_between_short_and_long(one: str, other: str) -> None:
    parts = shorten(encode_text(one)), shorten(encode_text(other))

    assert (parts[0] == parts[1]) == (one == other)
    if not all(CUT in part for part in parts):
        assert (parts[0] + "$" < parts[1] + "$") == (one < other)


@given(domains("text"), st.none() | TEXT)
def test_key_ranges_hold_every_value_of_the_domain(domain: Domain, value: str | None) -> None:
    parts = part_domain(domain, pa.string())
    assert parts is not None
    stored = "!" if value is None else shorten(encode_text(value))
    for prefix in ("", "column$"):
        is_found = any(is_in(f"{prefix}{stored}$rest", each) for _, each in parts.keys(prefix))
        assert is_found or not domain.contains(value)
        if not parts.is_widened:
            assert is_found == domain.contains(value) == parts.holds(stored)


@given(domains("text"), TEXT, TEXT)
def test_bounds_meet_what_lies_between(domain: Domain, one: str, other: str) -> None:
    parts = part_domain(domain, pa.string())
    assert parts is not None
    low, high = sorted([one, other])
    between = Range(Marker(low, Bound.EXACTLY), Marker(high, Bound.EXACTLY))

    assert parts.meets(encode_text(low), encode_text(high)) == any(
        between.overlaps(each) for each in domain.ranges
    )


@pytest.mark.parametrize("kind", ["column_stats", "secondary_index", "bitmap", "bloom_filters"])
def test_a_difference_leads_from_one_description_to_the_other(kind: str) -> None:
    made = kind_over(kind, "number")

    @settings(max_examples=settings().max_examples // 4)
    @given(slices("number"), slices("number"))
    def check(first: list[Slice], second: list[Slice]) -> None:
        context = first[0].context
        before, after = (describe(made, context, batches_of(each[0], "number")) for each in (first, second))
        upserts, deletes = diff_entries(before, after)
        content = content_of(made, before)
        for key in deletes.to_pylist():
            del content[key]  # type: ignore[arg-type]  # no null among them
        changed = content_of(made, upserts)
        assert all(content.get(key) != entry for key, entry in changed.items())
        assert {**content, **changed} == content_of(made, after)

    check()


OVER_TEXT = [
    spec.name for spec in specs().values() if spec.is_created and spec.has_columns and spec.name != "array"
]


def test_equal_descriptions_differ_in_nothing() -> None:
    for kind in OVER_TEXT:
        made, file_slice = kind_over(kind, "text"), slice_of(0, rows_of("a", None, "x" * 3000))
        entries = describe(made, file_slice.context, batches_of(file_slice, "text"))
        upserts, deletes = diff_entries(entries, entries)
        assert (upserts.num_rows, len(deletes)) == (0, 0)


def test_a_difference_looks_into_lists_and_nulls() -> None:
    def entries(*rows: Any) -> pa.Table:
        struct = pa.struct([pa.field("names", pa.list_(pa.string())), pa.field("size", pa.int64())])
        return pa.table({"key": list("abcd")[: len(rows)], "payload": pa.array(rows, struct)})

    before = entries(
        {"names": ["x"], "size": 1}, {"names": None, "size": None}, None, {"names": [], "size": 1}
    )
    after = entries({"names": ["y"], "size": 1}, None, {"names": [], "size": 1}, {"names": [], "size": 1})

    upserts, deletes = diff_entries(before, after)

    assert upserts.column("key").to_pylist() == ["a", "b", "c"]
    assert len(deletes) == 0


def test_an_expression_has_a_column_and_a_partition_of_its_own() -> None:
    for kind in OVER_TEXT:
        definition = IndexDefinition("idx", kind, ("ts",), "date_format(ts, 'yyyy')")
        made = kind_of(definition, {"date_format(ts, 'yyyy')": pa.string()})
        assert made.partition == "func_index_idx"
        assert made.columns == ("func_index_idx",)


def test_a_column_without_a_type_is_named() -> None:
    with pytest.raises(UnknownColumnError, match="'nowhere'"):
        kind_over("bitmap", "nowhere")


def test_a_dictionary_counts_by_its_rows() -> None:
    whole = pa.RecordBatch.from_pydict({"a": pa.array(["x", "y", None, "y"]).dictionary_encode()})

    assert values_of(whole.slice(1, 2), "a").to_pylist() == ["y", None]


def test_a_column_may_have_a_dot_in_its_name() -> None:
    batch = pa.RecordBatch.from_pydict({"a.b": ["flat"], "a": [{"b": "nested", "c": {"d": 1}}]})

    assert values_of(batch, "a.b").to_pylist() == ["flat"]
    assert values_of(batch, "a.c.d").to_pylist() == [1]
    for column in ("a.x", "c", "a.c.d.e"):
        with pytest.raises(UnknownColumnError):
            values_of(batch, column)
