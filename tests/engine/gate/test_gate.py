"""Texts are allowed by their structure: hostile ones are refused, those of analysts pass."""

from __future__ import annotations

import zlib

import pytest

from hudi_index.errors import RefusedTextError, SqlSyntaxError, UserError
from hudi_index.gate import check_condition, check_query
from tests.engine.gate.harmless import HARMLESS_CONDITIONS, HARMLESS_QUERIES
from tests.engine.gate.hostile_conditions import HOSTILE_CONDITIONS, HOSTILE_PARTS
from tests.engine.gate.hostile_queries import HOSTILE_QUERIES


def _name(text: str) -> str:
    return f"{ascii(text)[1:40]} {zlib.crc32(text.encode()):x}"


def _clearly_refused(error: UserError, text: str) -> None:
    """What was refused is named, and the way out."""
    if isinstance(error, RefusedTextError):
        assert error.what
        assert error.way_out
        assert str(error).startswith(f"refused: {error.what}; {error.way_out}")
        assert len(str(error)) < 1_000 + len(error.what)
    else:
        assert isinstance(error, SqlSyntaxError)
        assert "expected" in str(error)


def test_there_are_enough_texts() -> None:
    assert len({*HOSTILE_CONDITIONS, *HOSTILE_QUERIES}) >= 300
    assert len(HARMLESS_CONDITIONS) + len(HARMLESS_QUERIES) >= 100


@pytest.mark.parametrize("text", HOSTILE_CONDITIONS, ids=_name)
def test_hostile_condition_is_refused(text: str) -> None:
    with pytest.raises(UserError) as raised:
        check_condition(text)
    _clearly_refused(raised.value, text)


@pytest.mark.parametrize("text", HOSTILE_PARTS, ids=_name)
@pytest.mark.parametrize(
    "place",
    ["SELECT id FROM t WHERE {} IS NULL", "WITH a AS (SELECT {} AS x FROM t) SELECT x FROM a"],
    ids=["where", "cte"],
)
def test_hostile_part_of_a_query_is_refused(text: str, place: str) -> None:
    with pytest.raises(UserError) as raised:
        check_query(place.format(text), view="t")
    _clearly_refused(raised.value, text)


@pytest.mark.parametrize("text", HOSTILE_QUERIES, ids=_name)
def test_hostile_query_is_refused(text: str) -> None:
    with pytest.raises(UserError) as raised:
        check_query(text, view="t")
    _clearly_refused(raised.value, text)


@pytest.mark.parametrize("text", HARMLESS_CONDITIONS, ids=_name)
def test_harmless_condition_passes(text: str) -> None:
    check_condition(text)
    check_query(f"SELECT id FROM t WHERE {text}\n", view="t")


@pytest.mark.parametrize("text", HARMLESS_QUERIES, ids=_name)
def test_harmless_query_passes(text: str) -> None:
    check_query(text, view="t")
    check_query(text, view="T")
    with pytest.raises(RefusedTextError, match="not the one that is asked"):
        check_query(text, view="another")
