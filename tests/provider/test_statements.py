"""Statements made of single values: nothing in a value reaches beyond its place."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from airflow_hudi_index.statements import (
    check_predicate,
    check_query,
    create_statement,
    kinds,
    rebuild_statement,
)
from hudi_index.catalog import CreateIndex, RebuildIndex, parse_statement
from hudi_index.errors import UserError
from hudi_index.kind_specs import specs
from tests.engine.gate.hostile_conditions import HOSTILE_CONDITIONS
from tests.engine.gate.hostile_queries import HOSTILE_QUERIES

WORDS = st.text(st.characters(codec="utf-8", exclude_characters="."), min_size=1, max_size=12)


def test_kinds_are_the_engines() -> None:
    assert set(kinds()) == {spec.name for spec in specs().values()} - {"partition_stats"}


@given(st.lists(WORDS, min_size=1, max_size=3), st.text(st.characters(codec="utf-8"), max_size=12))
def test_columns_and_options_come_back_as_given(columns: list[str], value: str) -> None:
    text = create_statement(name="i", kind="bitmap", columns=columns, options={"note": value})
    try:
        parsed = parse_statement(text)
    except UserError:
        return  # refused by the engine: nothing is carried out
    assert isinstance(parsed, CreateIndex)
    assert (parsed.name, parsed.kind, parsed.expression) == ("i", "bitmap", None)
    assert parsed.if_not_exists
    assert parsed.columns == tuple(columns)
    assert parsed.options == {"note": value}


def test_nested_columns_and_all_parts() -> None:
    text = create_statement(
        name="by-zip", columns=["address.zip", "we`ird"], options={"shards": 3}, if_not_exists=False
    )
    parsed = parse_statement(text)
    assert isinstance(parsed, CreateIndex)
    assert parsed.columns == ("address.zip", "we`ird")
    assert parsed.options == {"shards": "3"}
    assert not parsed.if_not_exists


@pytest.mark.parametrize(
    "expression",
    [
        "upper(name)",
        "date_format(ts, 'yyyy-MM-dd')",
        "a + 1 -- why",
        "r'\\' || name",
        "concat(a, ')', \"(\")",
    ],
)
def test_expression_stays_in_its_brackets(expression: str) -> None:
    text = create_statement(name="i", expression=expression, options={"shards": 2})
    parsed = parse_statement(text)
    assert isinstance(parsed, CreateIndex)
    assert parsed.expression is not None
    assert parsed.options == {"shards": "2"}


@pytest.mark.parametrize(
    "expression",
    [
        "a) OPTIONS (shards = 9",
        "a) OPTIONS (shards = 9) --",
        "upper(a",
        "a; DROP INDEX i ON t",
        "'",
        "/*",
        "-- only a comment",
        "r'\\') OPTIONS (shards = 9",
    ],
)
def test_expression_that_reaches_out_is_refused(expression: str) -> None:
    with pytest.raises(UserError):
        create_statement(name="i", expression=expression)


@pytest.mark.parametrize("name", ["", "a b", "a` ON TABLE t (b) --", "i;", "1st", "a.b", "ä"])
def test_names_that_are_none_are_refused(name: str) -> None:
    with pytest.raises(UserError):
        create_statement(name=name, columns=["a"])
    with pytest.raises(UserError):
        rebuild_statement(name)


def test_rebuild() -> None:
    parsed = parse_statement(rebuild_statement("by-zip"))
    assert isinstance(parsed, RebuildIndex)
    assert parsed.name == "by-zip"


@pytest.mark.parametrize(
    "parts",
    [{}, {"columns": ["a"], "expression": "b"}, {"columns": "abc"}, {"columns": ["a"], "kind": "btree"}],
)
def test_parts_that_do_not_fit_are_refused(parts: dict[str, object]) -> None:
    with pytest.raises(UserError):
        create_statement(name="i", **parts)  # type: ignore[arg-type]


def test_queries_and_conditions_go_through_the_gate() -> None:
    check_query("WITH a AS (SELECT ';' AS insert_ FROM t) SELECT * FROM a;")
    check_predicate("name = ')' AND (n > 1)")
    for text in HOSTILE_QUERIES:
        with pytest.raises(UserError):
            check_query(text)
    for text in HOSTILE_CONDITIONS:
        with pytest.raises(UserError):
            check_predicate(text)
