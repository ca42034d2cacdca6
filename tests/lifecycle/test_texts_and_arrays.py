"""Indexes over stretches of text and over elements of arrays, by every verb, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.cli import main
from hudi_index.errors import (
    HudiIndexError,
    InvalidDefinitionError,
    InvalidOptionError,
    NeedsSparkError,
    UnsupportedTypeError,
)
from hudi_index.jobs import JobReport
from tests.support.entries import check_indexes, stored_entries
from tests.support.tables import Fabricated, schema_of

if TYPE_CHECKING:
    from pathlib import Path


def _array_of(element: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", element))


COLUMNS = schema_of(
    pa.field("id", pa.string(), nullable=False),
    pa.field("s", pa.string()),
    pa.field("n", pa.int32()),
    pa.field("place", pa.struct([pa.field("city", pa.string()), pa.field("codes", _array_of(pa.int32()))])),
    pa.field("tags", _array_of(pa.string())),
    pa.field("reals", _array_of(pa.float64())),
    pa.field("deep", _array_of(_array_of(pa.int32()))),
)
WORDS = ("apricot", "blueberry", "cranberry", "日本語の文字")
CREATE_TEXTS = "CREATE INDEX texts ON t USING ngram (s) OPTIONS (size = 4)"
CREATE_ARRAYS = "CREATE INDEX arrays ON t USING array (tags)"


def _instant(number: int) -> str:
    return f"202401010000{number:05d}"


def _rows(group: int, word: str) -> list[dict[str, Any]]:
    texts = (f"{word} {group}", "", None, "x", f"100%_{word}", word * 700)
    return [
        {
            "id": f"{group}-{number}",
            "s": text,
            "n": number,
            "place": {"city": f"{word}ville", "codes": [group * 10 + number, None]} if number else None,
            "tags": [[word, None], [], None, [word, word], [""], ["$%"]][number],
            "reals": [float(group), float("nan"), -0.0],
            "deep": [[1]],
        }
        for number, text in enumerate(texts)
    ]


@pytest.fixture
def made(tmp_path: Path) -> Fabricated:
    """Four file groups, each with a word of its own."""
    made = Fabricated(tmp_path / "t", columns=COLUMNS, partition_fields="")
    made.commit(_instant(1))
    for group, word in enumerate(WORDS):
        made.base_file("", f"g{group}", _instant(1), _rows(group, word))
    return made


@pytest.fixture
def table(made: Fabricated) -> IndexedTable:
    return IndexedTable.open(made.path)


def _ids(table: IndexedTable, predicate: str) -> list[str]:
    found: list[Any] = table.scan(predicate, ["id"]).read_all().column("id").to_pylist()
    return sorted(found)


# predicate, file groups read, rows
ASKED = [
    ("s LIKE '%berry 1%'", 1, ["1-0"]),
    ("s LIKE '%berry%'", 2, ["1-0", "1-4", "1-5", "2-0", "2-4", "2-5"]),
    ("s LIKE 'cran%ry%2'", 1, ["2-0"]),
    ("contains(s, 'cot 0')", 1, ["0-0"]),
    ("startswith(s, 'blue')", 1, ["1-0", "1-5"]),
    ("endswith(s, 'rry 2')", 1, ["2-0"]),
    ("s RLIKE 'a(pri)cot [0-9]'", 1, ["0-0"]),
    ("s IN ('apricot 0', 'cranberry 2')", 2, ["0-0", "2-0"]),
    ("s LIKE '%0\\\\%\\\\_cran%'", 1, ["2-4"]),
    ("contains(s, '本語の文')", 1, ["3-0", "3-4", "3-5"]),
    ("s LIKE '%nobody%'", 0, []),
    ("s LIKE '%x%'", 4, ["0-3", "1-3", "2-3", "3-3"]),
    ("s LIKE ''", 4, ["0-1", "1-1", "2-1", "3-1"]),
    ("array_contains(tags, 'apricot')", 1, ["0-0", "0-3"]),
    ("arrays_overlap(tags, array('cranberry', 'nobody'))", 1, ["2-0", "2-3"]),
    ("exists(tags, x -> x = 'blueberry' OR x LIKE 'apr%')", 2, ["0-0", "0-3", "1-0", "1-3"]),
    ("exists(tags, x -> x IS NULL)", 4, ["0-0", "1-0", "2-0", "3-0"]),
    ("array_contains(tags, 'nobody')", 0, []),
    ("array_contains(tags, 'blueberry') AND s LIKE '%berry 1'", 1, ["1-0"]),
]


def test_both_answer_what_they_are_for(table: IndexedTable) -> None:
    wanted = {predicate: _ids(table, predicate) for predicate, _, _ in ASKED}
    table.sql(CREATE_TEXTS)
    table.sql(CREATE_ARRAYS)
    check_indexes(table.storage)
    for predicate, kept, ids in ASKED:
        plan = table.plan(predicate)
        assert (plan.kept, plan.total) == (kept, 4), plan.explain()
        assert _ids(table, predicate) == wanted[predicate] == ids, predicate
    assert len(table.scan("s LIKE '%berry%'", ["id"], limit=2).read_all()) == 2


def test_every_verb(made: Fabricated, table: IndexedTable) -> None:
    table.create_all([CREATE_TEXTS, CREATE_ARRAYS, "CREATE INDEX cities ON t USING ngram (place.city, s)"])
    assert {each.name: each.kind for each in table.indexes()} == {
        "texts": "ngram",
        "arrays": "array",
        "cities": "ngram",
    }
    made.commit(_instant(2))
    made.base_file("", "g1", _instant(2), _rows(1, "elderberry"))
    made.base_file("", "g4", _instant(2), _rows(4, "fig tree"))
    assert not table.status().is_fresh
    # What is not covered is read.
    assert table.plan("array_contains(tags, 'apricot')").kept == 3
    report = table.maintain()
    assert report.file_groups_changed == 2
    assert table.status().is_fresh
    check_indexes(table.storage)
    for predicate in ("s LIKE '%elder%'", "array_contains(tags, 'elderberry')", "place.city LIKE '%erryv%'"):
        assert "1-" in _ids(table, predicate)[0]
        assert table.plan(predicate).kept < 3, predicate
    assert table.plan("s LIKE '%blue%' OR array_contains(tags, 'blueberry')").kept == 0
    before = stored_entries(table.storage)
    table.compact(force=True)
    assert stored_entries(table.storage) == before
    assert table.validate(queries=20, seed=2).passed
    table.sql("REBUILD INDEX texts ON t")
    table.drop("cities")
    check_indexes(table.storage)
    assert sorted(each.name for each in table.indexes()) == ["arrays", "texts"]
    for file in (made.path / ".hoodie/.index/mdt/ngram_index_texts").glob("*.parquet"):
        file.write_bytes(b"garbage")
    table = IndexedTable.open(made.path)
    assert table.plan("s LIKE '%elder%'").kept == 5
    table.repair()
    assert {each.state for each in table.indexes()} == {IndexState.READY}
    assert table.plan("s LIKE '%elder%'").kept == 1
    check_indexes(table.storage)


def test_explain_names_the_index_that_refuted_and_what_nobody_answers(
    made: Fabricated, table: IndexedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "refuted" not in table.plan("s LIKE '%berry%'").explain()
    for statement in (CREATE_TEXTS, CREATE_ARRAYS, "CREATE INDEX by_n ON t (n)"):
        table.sql(statement)
    assert "texts: s: refuted 2 file groups" in table.plan("s LIKE '%berry%'").explain()
    assert "arrays: tags: refuted 3 file groups" in table.plan("array_contains(tags, 'apricot')").explain()
    assert main(["explain", "--table", str(made.path), "array_contains(tags, 'apricot')"]) == 0
    assert "1 read of 4" in capsys.readouterr().out
    # Nobody is over this column, and these ask less than a gram or nothing certain.
    for predicate in (
        "place.city LIKE '%erry%'",
        "s LIKE '%x%'",
        "s RLIKE '[a-z]+'",
        "exists(reals, x -> x > 1)",
    ):
        plan = table.plan(predicate)
        assert plan.kept == plan.total
        assert "refuted" not in plan.explain(), plan.explain()


@pytest.mark.parametrize(
    ("statement", "error", "words"),
    [
        ("USING ngram (n)", UnsupportedTypeError, "an ngram index is over text"),
        ("USING ngram (tags)", UnsupportedTypeError, "an ngram index is over text"),
        ("USING array (s)", UnsupportedTypeError, "an array index is over an array"),
        ("USING array (deep)", UnsupportedTypeError, "deep"),
        ("USING array (place)", UnsupportedTypeError, "an array index is over an array"),
        ("(tags)", UnsupportedTypeError, "tags"),
        ("USING ngram (s) OPTIONS (size = 1)", InvalidOptionError, "a whole number from 2 to 8"),
        ("USING ngram (s) OPTIONS (size = 9)", InvalidOptionError, "a whole number from 2 to 8"),
        ("USING ngram (s) OPTIONS (length = 3)", InvalidOptionError, "length"),
        ("USING array (tags) OPTIONS (size = 3)", InvalidOptionError, "size"),
        ("USING ngram (lower(s))", NeedsSparkError, "Spark"),
        ("USING ngram (nobody)", HudiIndexError, "nobody"),
        ("USING ngrams3 (s)", HudiIndexError, "ngram"),
    ],
)
def test_what_can_not_be_is_refused_in_words(
    statement: str, error: type[HudiIndexError], words: str, table: IndexedTable
) -> None:
    with pytest.raises(error) as raised:
        table.sql(f"CREATE INDEX wrong ON t {statement}")
    assert words in str(raised.value)
    assert table.indexes() == ()


def test_several_columns_nested_ones_and_options(table: IndexedTable) -> None:
    made = table.sql("CREATE INDEX codes ON t USING array (place.codes, reals)")
    assert isinstance(made, JobReport)
    table.sql("CREATE INDEX cities ON t USING trigram (place.city)")
    table.sql("CREATE INDEX few ON t USING ngram (s) OPTIONS (max_grams = 5)")
    check_indexes(table.storage)
    for predicate in (
        "array_contains(place.codes, 13)",
        "exists(place.codes, x -> x BETWEEN 20 AND 29)",
        "array_contains(reals, 2D)",
        "place.city LIKE '%cotv%'",
    ):
        assert table.plan(predicate).kept == 1, predicate
        assert _ids(table, predicate), predicate
    for predicate in ("array_contains(reals, double('NaN'))", "array_contains(reals, 0D)"):
        assert len(_ids(table, predicate)) == 24
    # Too many grams to tell.
    assert table.plan("s LIKE '%nobody%'", only=["few"]).kept == 4
    with pytest.raises(InvalidDefinitionError):
        table.sql("CREATE INDEX twice ON t USING array (tags, tags)")
