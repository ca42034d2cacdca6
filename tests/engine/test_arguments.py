"""What a caller may give: an option out of range or of a wrong type is named, with what is expected."""

from __future__ import annotations

import dataclasses
import inspect
import math
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pytest

from hudi_index.arguments import check_count, check_list_of_texts, check_time_zone
from hudi_index.cli import main
from hudi_index.engine import IndexedTable
from hudi_index.errors import InvalidOptionError, UnknownColumnError, UserError, WrongTypeError
from hudi_index.predicate import ColumnDomain
from hudi_index.validation import Request
from tests.support.tables import Fabricated

T1 = "20240101000000000"


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> IndexedTable:
    table = Fabricated(tmp_path_factory.mktemp("arguments") / "t")
    table.commit(T1)
    table.base_file("eu", "a", T1, [{"id": f"k{n}", "n": n, "region": "eu"} for n in range(5)])
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX by_n ON t (n)")
    return indexed


@pytest.mark.parametrize(
    ("arguments", "option", "value"),
    [
        (["validate", "--queries", "-5"], "queries", "-5"),
        (["validate", "--seconds", "nan"], "seconds", "nan"),
        (["validate", "--seconds", "inf"], "seconds", "inf"),
        (["validate", "--seconds=-1"], "seconds", "-1"),
        (["validate", "--sample", "-1"], "sample", "-1"),
        (["validate", "--view", "a b; drop"], "view", "a b; drop"),
        (["validate", "--index", "nope"], "nope", "by_n"),
        (["explain", "n = 1", "--time-zone", "Mars/Phobos"], "time_zone", "Mars/Phobos"),
        (["explain", "n = 1", "--time-zone", ""], "time_zone", "''"),
        (["explain", "n = 1", "--time-zone", "America"], "time_zone", "America"),
        (["explain", "n = 1", "--time-zone", "+25:00"], "time_zone", "+25:00"),
        (["scan", "--time-zone", "../UTC"], "time_zone", "../UTC"),
        (["explain", "n = 1", "--as-of", "yesterday"], "as_of", "yesterday"),
        (["explain", "n = 1", "--only", "nope"], "nope", "by_n"),
        (["scan", "--limit", "-1"], "limit", "-1"),
        (["scan", "--threads", "0"], "threads", "0"),
        (["scan", "--columns", ""], "column", "''"),
        (["scan", "--columns", "n,,id"], "column", "''"),
        (["scan", "--format", "parquet"], "--format", "parquet"),
        (["compact", "--partition", "nope"], "partition", "nope"),
        (["drop", "nope"], "nope", "by_n"),
        (["create", "SHOW INDEXES FROM t"], "CREATE INDEX", "SHOW INDEXES"),
    ],
)
def test_option_of_the_command_that_makes_no_sense_is_a_bad_request(
    arguments: list[str], option: str, value: str, table: IndexedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    verb, *rest = arguments
    assert main([verb, "--table", table.storage.uri, "--in-process", *rest]) == 2
    said = capsys.readouterr().err
    assert said.startswith("hudi-index: ")
    assert option in said
    assert value in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["validate", "--queries", "many"],
        ["validate", "--queries", "1.5"],
        ["validate", "--seconds", "soon"],
        ["validate", "--backend", "other"],
        ["scan", "--limit", "1e3"],
        ["scan", "--format", "xml"],
        ["status", "--unheard-of"],
    ],
)
def test_option_that_does_not_parse_is_a_bad_request(arguments: list[str], table: IndexedTable) -> None:
    verb, *rest = arguments
    with pytest.raises(SystemExit) as exit_:
        main([verb, "--table", table.storage.uri, *rest])
    assert exit_.value.code == 2


def test_names_of_columns_may_have_blanks_around_them(
    table: IndexedTable, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--columns", "n, id", "--format", "csv", "--limit", "1"]
    assert main(["scan", "--table", table.storage.uri, *arguments]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "n,id"


NO_TEXT: list[Any] = [None, 5, b"n = 1", ["n = 1"], Path("n")]


@pytest.mark.parametrize("wrong", NO_TEXT, ids=lambda each: type(each).__name__)
def test_what_is_no_text_is_no_predicate_and_no_statement(table: IndexedTable, wrong: Any) -> None:
    for call in (
        lambda: table.plan(wrong),
        lambda: table.scan(wrong),
        lambda: table.sql(wrong),
        lambda: table.drop(wrong),
        lambda: table.plan("n = 1", time_zone=wrong),
        lambda: table.plan("n = 1", only=[wrong]),
        lambda: table.scan("n = 1", [wrong]),
        lambda: table.create_all([wrong]),
        lambda: table.compact(partitions=[wrong]),
        lambda: table.validate(where=[wrong]),
        lambda: table.validate(view=wrong),
        lambda: table.files_to_query([wrong], ColumnDomain({})),
    ):
        with pytest.raises(WrongTypeError, match="expected") as found:
            call()
        assert isinstance(found.value, UserError)
        assert isinstance(found.value, TypeError)


WRONG_TYPES: list[Any] = [
    lambda table: table.plan("n = 1", as_of=20240101000000),
    lambda table: table.plan("n = 1", only=5),
    lambda table: table.plan("n = 1", only=b"by_n"),
    lambda table: table.scan(columns=5),
    lambda table: table.scan(columns={"n": "m"}),
    lambda table: table.scan(limit="5"),
    lambda table: table.scan(limit=1.5),
    lambda table: table.scan(limit=True),
    lambda table: table.scan(threads="2"),
    lambda table: table.scan(report={}),
    lambda table: table.validate(queries="5"),
    lambda table: table.validate(queries=True),
    lambda table: table.validate(seconds="5"),
    lambda table: table.validate(seed=None),
    lambda table: table.validate({"queries": 5}),
    lambda table: table.validate(Request(), queries=5),
    lambda table: table.files_to_query(["n"], {"n": 1}),
    lambda table: table.maintain(spark="local[2]"),
    lambda table: table.validate(spark="local[2]"),
    lambda _: IndexedTable.open(None),  # type: ignore[arg-type]  # wrong on purpose
    lambda _: IndexedTable.open(b"/t"),  # type: ignore[arg-type]  # wrong on purpose
    lambda _: IndexedTable.open("/t", options="a=b"),  # type: ignore[arg-type]  # wrong on purpose
    lambda _: IndexedTable.open("/t", options={"aws_region": 5}),  # type: ignore[dict-item]  # wrong on purpose
]


@pytest.mark.parametrize("call", WRONG_TYPES, ids=range(len(WRONG_TYPES)))
def test_value_of_a_wrong_type_is_a_type_error_of_ours(table: IndexedTable, call: Any) -> None:
    with pytest.raises(WrongTypeError, match=r"option '.+' = .+: expected .+, not an? \w+"):
        call(table)


OUT_OF_RANGE: list[Any] = [
    lambda table: table.validate(queries=-5),
    lambda table: table.validate(seconds=math.nan),
    lambda table: table.validate(seconds=-math.inf),
    lambda table: table.validate(sample=-1),
    lambda table: table.validate(limit=-1),
    lambda table: table.validate(time_zone="Mars/Phobos"),
    lambda table: table.scan(columns="n"),
    lambda table: table.scan(columns=[]),
    lambda table: table.files_to_query("n", ColumnDomain({})),
    lambda _: IndexedTable.open(""),
    lambda _: IndexedTable.open("  "),
]


@pytest.mark.parametrize("call", OUT_OF_RANGE, ids=range(len(OUT_OF_RANGE)))
def test_value_out_of_range_is_an_option_error(table: IndexedTable, call: Any) -> None:
    with pytest.raises(InvalidOptionError, match="option '"):
        call(table)


def test_validate_takes_every_field_of_a_request_by_name(table: IndexedTable) -> None:
    parameters = inspect.signature(IndexedTable.validate).parameters
    fields = {each.name: each.default for each in dataclasses.fields(Request)}
    assert {name: parameters[name].default for name in fields} == fields
    assert {*parameters} - {*fields} == {"self", "request", "spark"}

    misspelt: dict[str, Any] = {"querys": 5}
    with pytest.raises(TypeError, match="querys"):
        table.validate(**misspelt)


def test_one_text_is_one_and_not_its_characters(table: IndexedTable) -> None:
    report = table.validate(where="n = 3", indexes="by_n", queries=0)
    assert [each.query for each in report.queries] == ["n = 3"]
    assert table.plan("n = 77", only="by_n").kept == 0
    assert table.compact(partitions="secondary_index_by_n", force=True).notes
    again: Any = table.create_all("CREATE INDEX IF NOT EXISTS by_n ON t (n)")
    assert again.notes == ["index by_n exists already"]


def test_secret_among_wrong_options_is_not_shown() -> None:
    with pytest.raises(WrongTypeError) as found:
        IndexedTable.open("/t", options={"aws_secret_access_key": b"canary"})  # type: ignore[dict-item]
    assert "canary" not in str(found.value)
    assert "canary" not in repr(found.value)


def test_table_may_be_given_as_any_kind_of_path(table: IndexedTable) -> None:
    path = table.storage.uri.removeprefix("file://")
    for location in (path, Path(path), PurePosixPath(path), table.storage.uri):
        assert IndexedTable.open(location).storage.uri == table.storage.uri


def test_column_that_the_table_lacks_is_unknown_to_files_to_query(table: IndexedTable) -> None:
    with pytest.raises(UnknownColumnError, match="nope"):
        table.files_to_query(["nope"], ColumnDomain({}))


@pytest.mark.parametrize(
    "zone",
    [
        "UTC",
        "Z",
        "+02:00",
        "-5",
        "GMT+8",
        "UTC-03:30",
        "Europe/Berlin",
        "America/Argentina/Ushuaia",
        "PST",
        "EST5EDT",
    ],
)
def test_time_zones_of_spark_are_taken(zone: str) -> None:
    assert check_time_zone("time_zone", zone) == zone


def test_numbers_of_other_libraries_are_numbers() -> None:
    assert check_count("limit", np.int64(5)) == 5
    assert check_list_of_texts("only", {"a"}) == ("a",)
    assert check_list_of_texts("only", (each for each in "ab")) == ("a", "b")
