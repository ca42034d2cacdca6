"""Columns of CREATE INDEX are found without regard to case, and stored as the table spells them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index.catalog import definition_of, parse_statement
from hudi_index.engine import IndexedTable
from hudi_index.errors import AmbiguousColumnError, InvalidDefinitionError, UnknownColumnError
from hudi_index.table.types import spelling_of
from tests.support.tables import Fabricated, schema_of

if TYPE_CHECKING:
    from pathlib import Path

T1 = "20240101000000000"


@pytest.fixture
def table(tmp_path: Path) -> IndexedTable:
    table = Fabricated(tmp_path / "t")
    table.commit(T1)
    table.base_file("eu", "a", T1, [{"id": f"k{n}", "n": n, "region": "eu"} for n in range(5)])
    return IndexedTable.open(table.path)


def test_column_in_another_case_is_the_tables(table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_n ON t (N)")
    table.sql("CREATE INDEX stats ON t USING column_stats (Id, REGION, `N`)")
    table.sql("CREATE INDEX keys ON t USING record_index (ID)")
    assert {each.name: each.source_fields for each in table.indexes()} == {
        "by_n": ("n",),
        "stats": ("id", "region", "n"),
        "keys": ("id",),
    }
    assert table.plan("N = 77").kept == 0
    assert table.plan("n = 3").kept == 1


def test_column_twice_in_two_cases_is_refused(table: IndexedTable) -> None:
    with pytest.raises(InvalidDefinitionError, match="a column stands twice"):
        table.sql("CREATE INDEX i ON t (n, N)")


def test_indexes_over_one_column_in_two_cases_overlap(table: IndexedTable) -> None:
    table.sql("CREATE INDEX one ON t USING bitmap (region)")
    with pytest.raises(InvalidDefinitionError, match="is a bitmap over region already"):
        table.sql("CREATE INDEX other ON t USING bitmap (REGION)")


def test_index_that_exists_in_another_case_exists(table: IndexedTable) -> None:
    table.sql("CREATE INDEX by_n ON t (n)")
    report: Any = table.sql("CREATE INDEX IF NOT EXISTS BY_N ON t (N)")
    assert report.notes == ["index by_n exists already"]
    assert len(table.indexes()) == 1


def test_unknown_column_is_unknown_in_any_case(table: IndexedTable) -> None:
    with pytest.raises(UnknownColumnError, match="did you mean region"):
        table.sql("CREATE INDEX i ON t (Regio)")


SCHEMA = schema_of(
    pa.field("Rider", pa.string()),
    pa.field("a", pa.int32()),
    pa.field("A", pa.int32()),
    pa.field(
        "place",
        pa.struct([pa.field("City", pa.string()), pa.field("x", pa.int32()), pa.field("X", pa.int32())]),
    ),
)


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("rider", "Rider"),
        ("RIDER", "Rider"),
        ("a", "a"),
        ("A", "A"),
        ("PLACE.city", "place.City"),
        ("place.x", "place.x"),
        ("place.X", "place.X"),
    ],
)
def test_exact_spelling_wins_and_case_is_ignored_otherwise(written: str, found: str) -> None:
    assert spelling_of(SCHEMA, written) == found


def test_name_of_several_columns_names_them_all() -> None:
    with pytest.raises(AmbiguousColumnError, match=r"'PLACE.x' may be 'place.x' or 'place.X'"):
        spelling_of(SCHEMA, "PLACE.x")


@pytest.mark.parametrize(
    ("statement", "expression", "columns"),
    [
        ("(upper(RIDER))", "UPPER(Rider)", ["Rider"]),
        (
            "(concat(rider, 'RIDER', Place.CITY))",
            "CONCAT(Rider, 'RIDER', place.City)",
            ["Rider", "place.City"],
        ),
        ("(`RIDER` || rider)", "Rider || Rider", ["Rider"]),
        ("(a + A)", "a + A", ["a", "A"]),
    ],
)
def test_expression_is_spelled_as_the_table_does(statement: str, expression: str, columns: list[str]) -> None:
    parsed: Any = parse_statement(f"CREATE INDEX i ON t {statement}")
    definition = definition_of(parsed)
    if len({name.lower() for name in columns}) < len(columns):
        with pytest.raises(InvalidDefinitionError, match="stands twice"):
            definition.with_columns_as(lambda name: spelling_of(SCHEMA, name))
        return
    found = definition.with_columns_as(lambda name: spelling_of(SCHEMA, name))
    assert (found.expression, list(found.source_fields)) == (expression, columns)
    assert json.loads(json.dumps(found.as_dict()))["source_fields"] == columns
