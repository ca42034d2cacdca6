"""Spark's type texts and the look-up of columns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.predicate import Schema, parse_type
from hudi_index.predicate.values import types as t


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("int", t.INT),
        ("INTEGER", t.INT),
        ("long", t.LONG),
        ("bigint", t.LONG),
        ("timestamp_ltz", t.TIMESTAMP),
        ("timestamp_ntz", t.TIMESTAMP_NTZ),
        ("decimal", t.decimal(10, 0)),
        ("decimal(5)", t.decimal(5, 0)),
        ("DECIMAL( 10 , 2 )", t.decimal(10, 2)),
        ("struct<a:int,b:string>", t.struct({"a": t.INT, "b": t.STRING})),
        ("struct<a:struct<b:decimal(3,1)>,`c,d`:date>", None),
        ("struct<>", t.struct({})),
    ],
)
def test_type_text_is_read_and_written(text: str, kind: t.SqlType | None) -> None:
    found = parse_type(text)
    assert kind is None or found == kind
    assert found.name != "other"
    assert parse_type(str(found)) == found


@pytest.mark.parametrize(
    "text", ["array<>", "array<int", "map<string,int>", "interval day", "decimal(50,2)", "struct<a", ""]
)
def test_type_without_an_order_keeps_its_text(text: str) -> None:
    found = parse_type(text)
    assert (found.name, str(found), found.is_ordered) == ("other", text or "other", False)


@given(st.text(alphabet="struc<>:,`int() a", max_size=30))
def test_any_text_is_some_type(text: str) -> None:
    parse_type(text)


SCHEMA = Schema.parse({"Id": "bigint", "s": "struct<A:int,b:struct<c:date>>", "xs": "array<struct<y:int>>"})


@pytest.mark.parametrize(
    ("path", "spelled", "kind"),
    [
        ("ID", "Id", "bigint"),
        ("S.a", "s.A", "int"),
        ("s.B.C", "s.b.c", "date"),
        ("xs.y", "xs.y", "array<struct<y:int>>"),
    ],
)
def test_column_is_found_whatever_its_case(path: str, spelled: str, kind: str) -> None:
    column = SCHEMA.look_up(tuple(path.split(".")))
    assert column is not None
    assert (column.path, str(column.type)) == (spelled, kind)


@pytest.mark.parametrize("path", ["no", "s.no", "id.x", "s.b.c.d"])
def test_column_that_is_not_there_is_not_found(path: str) -> None:
    assert SCHEMA.look_up(tuple(path.split("."))) is None


def test_column_whose_name_stands_twice_is_not_found() -> None:
    assert Schema.parse({"a": "int", "A": "int"}).look_up(("a",)) is None


def test_paths_name_nested_fields_too() -> None:
    assert SCHEMA.paths() == ("Id", "s", "s.A", "s.b", "s.b.c", "xs")


@pytest.mark.parametrize(
    "text", ["array<int>", "array<decimal(10,2)>", "array<array<string>>", "array<struct<a:int>>"]
)
def test_array_knows_the_type_of_its_elements(text: str) -> None:
    found = parse_type(text)
    assert (found.name, str(found), found.is_ordered) == ("array", text, False)
    assert found.element == parse_type(text[6:-1])
    assert parse_type(f"ARRAY < {text[6:-1]} >") == found
