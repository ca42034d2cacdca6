"""Definitions: names, kinds, options, folders, states and the JSON form."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index.catalog import IndexDefinition, IndexState
from hudi_index.catalog.definition import MAX_NAME_LENGTH
from hudi_index.catalog.options import COMMON, options_of
from hudi_index.errors import (
    CatalogCorruptError,
    InvalidDefinitionError,
    InvalidNameError,
    InvalidOptionError,
    UnknownIndexKindError,
)
from hudi_index.kind_specs import parse_kind, specs


def definition(name: str = "idx", kind: str = "column_stats", **fields: Any) -> IndexDefinition:
    return IndexDefinition(name, kind, **{"source_fields": ("city",), **fields})


@pytest.mark.parametrize("name", ["idx", "_x", "Idx-2", "a" * MAX_NAME_LENGTH])
def test_name_of_plain_characters_accepted(name: str) -> None:
    assert definition(name).name == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../x",
        "a/b",
        "a\\b",
        "a.b",
        "a$b",
        "a b",
        "a\n",
        "\x00",
        "1a",
        "-a",
        "é",
        "a" * 129,
        "a`",
    ],
)
def test_name_that_is_no_folder_refused(name: str) -> None:
    with pytest.raises(InvalidNameError) as raised:
        definition(name)
    assert raised.value.name == name


def test_name_of_full_length_leaves_room_for_file_names() -> None:
    longest = definition("a" * MAX_NAME_LENGTH, "secondary_index").partition
    file_name = f".{longest}-0000-20261101000000000_0-1-0_20261101000000000.log.1000000_0-1-0.parquet.crc"
    assert len(file_name) < 255


@pytest.mark.parametrize(
    ("kind", "expression", "partition"),
    [
        ("column_stats", None, "column_stats"),
        ("bloom_filters", None, "bloom_filters"),
        ("record_index", None, "record_index"),
        ("bitmap", None, "bitmap_index"),
        ("secondary_index", None, "secondary_index_Idx"),
        ("column_stats", "UPPER(city)", "func_index_Idx"),
        ("bloom_filters", "UPPER(city)", "func_index_Idx"),
        ("bitmap", "UPPER(city)", "func_index_Idx"),
        ("secondary_index", "UPPER(city)", "func_index_Idx"),
    ],
)
def test_partition_of_each_kind_follows_the_rfcs(kind: str, expression: str | None, partition: str) -> None:
    assert definition("Idx", kind, expression=expression).partition == partition


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("BLOOM_FILTER", "bloom_filters"),
        ("bloom", "bloom_filters"),
        ("Col_Stats", "column_stats"),
        ("COLUMN_STATS", "column_stats"),
        ("bitmap_index", "bitmap"),
        ("BITMAP", "bitmap"),
        ("record_level", "record_index"),
        ("RECORD_INDEX", "record_index"),
        ("secondary_index", "secondary_index"),
    ],
)
def test_kind_by_any_of_its_names_found(text: str, kind: str) -> None:
    assert parse_kind(text) == kind


@pytest.mark.parametrize("text", ["LUCENE", "partition_stats", "files", ""])
def test_kind_that_nobody_can_create_refused(text: str) -> None:
    with pytest.raises(UnknownIndexKindError, match="column_stats, bloom_filters"):
        parse_kind(text)


@pytest.mark.parametrize(
    "fields",
    [
        {"source_fields": ()},
        {"source_fields": ("a", "A")},
        {"source_fields": ("a.",)},
        {"source_fields": ("a\n",)},
        {"kind": "record_index", "expression": "UPPER(city)"},
        {"state": IndexState.INVALID},
        {"state": IndexState.READY, "reason": "because"},
    ],
)
def test_definition_whose_parts_do_not_fit_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinitionError):
        definition(**fields)


def test_definition_of_a_composite_secondary_index_accepted() -> None:
    assert definition(kind="secondary_index", source_fields=("a", "b")).partition == "secondary_index_idx"


def test_definition_over_several_columns_of_an_expression_accepted() -> None:
    over_two = definition(kind="secondary_index", source_fields=("a", "b.c"), expression="a + b.c")
    assert over_two.is_functional


@pytest.mark.parametrize(
    ("kind", "options", "stored"),
    [
        ("column_stats", {"shards": "08"}, {"shards": "8"}),
        ("bloom_filters", {"FPP": "1e-3"}, {"false_positive_rate": "0.001"}),
        ("bloom_filters", {"false_positive_rate": ".01"}, {"false_positive_rate": "0.01"}),
        ("record_index", {"partitioned": "TRUE"}, {"partitioned": "true"}),
        ("bitmap", {"shards": "2", "max_values": "1000"}, {"max_values": "1000", "shards": "2"}),
    ],
)
def test_options_in_any_spelling_stored_in_one(
    kind: str, options: dict[str, str], stored: dict[str, str]
) -> None:
    assert definition(kind=kind, options=options).options == stored


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("column_stats", {"shards": "0"}),
        ("column_stats", {"shards": "10000"}),
        ("column_stats", {"shards": "many"}),
        ("column_stats", {"shards": "٣"}),
        ("column_stats", {"shards": "-1"}),
        ("column_stats", {"fpp": "0.1"}),
        ("column_stats", {"time_zone": "UTC"}),
        ("bloom_filters", {"fpp": "1"}),
        ("bloom_filters", {"fpp": "nan"}),
        ("bloom_filters", {"fpp": "1e-999"}),
        ("bloom_filters", {"fpp": "0.1", "false_positive_rate": "0.1"}),
        ("record_index", {"partitioned": "yes"}),
        ("bitmap", {"max_values": "0"}),
        ("bitmap", {"": "0"}),
    ],
)
def test_option_with_wrong_name_or_value_refused(kind: str, options: dict[str, str]) -> None:
    with pytest.raises(InvalidOptionError):
        definition(kind=kind, options=options)


def test_option_with_unknown_name_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidOptionError, match=r"options: shards, false_positive_rate$"):
        definition(kind="bloom_filters", options={"colour": "red"})


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "+02:00", "GMT+8", "Z", "-18:00"])
def test_time_zone_of_an_expression_accepted(zone: str) -> None:
    functional = definition(expression="HOUR(ts)", options={"time_zone": zone})
    assert functional.options == {"time_zone": zone}


@pytest.mark.parametrize("zone", ["Mars/Phobos", "", "+99:00", "../etc/passwd", "UTC\nUTC"])
def test_time_zone_that_is_none_refused(zone: str) -> None:
    with pytest.raises(InvalidOptionError):
        definition(expression="HOUR(ts)", options={"time_zone": zone})


def test_options_of_the_table_known_to_some_kind_each() -> None:
    known = {option.name for spec in specs().values() for option in options_of(spec, has_expression=True)}
    own = {option.name for spec in specs().values() for option in spec.options}
    assert known == {option.name for option in COMMON} | own


def test_with_options_changes_only_those_given() -> None:
    old = definition(kind="bloom_filters", options={"shards": "2", "fpp": "0.1"})
    assert old.with_options({"Shards": "4"}).options == {"shards": "4", "false_positive_rate": "0.1"}
    assert old.options["shards"] == "2"


@pytest.mark.parametrize(
    ("old", "new", "may"),
    [
        (IndexState.BUILDING, IndexState.READY, True),
        (IndexState.READY, IndexState.INVALID, True),
        (IndexState.READY, IndexState.READY, True),
        (IndexState.INVALID, IndexState.BUILDING, True),
        (IndexState.INVALID, IndexState.READY, False),
        (IndexState.DROPPING, IndexState.READY, False),
        (IndexState.DROPPING, IndexState.BUILDING, False),
    ],
)
def test_state_steps_follow_the_lifecycle(old: IndexState, new: IndexState, may: bool) -> None:
    assert old.may_become(new) is may


FULL = definition(
    "Full",
    "bloom_filters",
    source_fields=("a.b", "ü"),
    expression="CONCAT(a.b, `ü`, '\ud800 $')",
    options={"fpp": "0.5", "time_zone": "UTC"},
    state=IndexState.INVALID,
    reason="lost\nrows",
    id="77",
    created_time="2026-11-16T00:00:00.000+00:00",
)


@pytest.mark.parametrize("stored", [definition(), FULL])
def test_definition_through_json_and_pickle_unchanged(stored: IndexDefinition) -> None:
    assert IndexDefinition.from_dict(json.loads(json.dumps(stored.as_dict())), path="p") == stored
    assert pickle.loads(pickle.dumps(stored)) == stored
    assert hash(stored) == hash(pickle.loads(pickle.dumps(stored)))


@pytest.mark.parametrize(
    "damage",
    [
        {"version": True},
        {"version": None},
        {"kind": ["bitmap"]},
        {"name": "../x"},
        {"name": 7},
        {"state": "sleeping"},
        {"state": "invalid"},
        {"source_fields": "city"},
        {"source_fields": [1]},
        {"source_fields": []},
        {"options": {"shards": 1}},
        {"options": {"colour": "red"}},
        {"options": []},
        {"extra": 1},
        {"expression": 1},
    ],
)
def test_definition_from_damaged_json_names_the_file(damage: dict[str, object]) -> None:
    with pytest.raises(CatalogCorruptError, match=r"^here/index\.json: ") as raised:
        IndexDefinition.from_dict({**definition().as_dict(), **damage}, path="here/index.json")
    assert raised.value.path == "here/index.json"


@pytest.mark.parametrize(
    ("news", "reason"),
    [
        ({"version": 2}, "version 2 of column_stats"),
        (
            {"version": 2, "options": [7], "extra": {"a": 1}, "changed_time": None},
            "version 2 of column_stats",
        ),
        ({"kind": "LUCENE"}, "there is no kind of index 'LUCENE' here"),
        ({"kind": "LUCENE", "partition": "lucene_idx"}, "install what provides it, or drop the index"),
    ],
)
def test_definition_that_nobody_here_can_use_is_kept_as_it_is(news: dict[str, object], reason: str) -> None:
    data = {**definition().as_dict(), **news}

    found = IndexDefinition.from_dict(data, path="p")

    assert found.unsupported is not None
    assert reason in found.unsupported
    assert found.as_dict() == data
    assert found.partition == news.get("partition", "" if "kind" in news else "column_stats")
    dropping = found.with_state(IndexState.DROPPING).as_dict()
    assert dropping == {**data, "state": "dropping"}


def test_definition_from_json_without_a_field_names_it() -> None:
    data = definition().as_dict()
    del data["state"]
    with pytest.raises(CatalogCorruptError, match="state"):
        IndexDefinition.from_dict(data, path="p")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


DAMAGED = st.dictionaries(st.sampled_from(sorted(definition().as_dict())), JSON).map(
    lambda damage: {**definition().as_dict(), **damage}
)


@given(JSON | DAMAGED)
def test_definition_from_any_json_reads_or_is_corrupt(data: object) -> None:
    try:
        read = IndexDefinition.from_dict(data, path="p")
    except CatalogCorruptError:
        return
    assert read.as_dict() == data
