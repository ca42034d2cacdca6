"""Catalyst's trees, as the JVM writes them, to constraints; and the meaning that an index keeps."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from hudi_index.predicate import (
    BoundTerm,
    Constraint,
    Domain,
    Filters,
    Meaning,
    Range,
    Schema,
    Session,
    Term,
    Tree,
    Unknown,
    derivation_of,
    tree_of,
)
from hudi_index.predicate.catalyst.meaning import key_of, opaque_parts, zones_of
from hudi_index.predicate.session import meaningful, own_zone_data
from hudi_index.predicate.values.times import SessionZone
from hudi_index.predicate.values.types import STRING

SCHEMA = Schema.parse(
    {
        "i": "int",
        "s": "string",
        "ts": "timestamp",
        "dt": "date",
        "dec": "decimal(38,18)",
        "b": "binary",
        "d": "double",
        "null": "int",
        "st": "struct<a:int,B:string>",
        "arr": "array<int>",
        "flag": "boolean",
    }
)
HERE = Session("UTC", "2023c", (), "3.5.9")


def column(*parts: str, kind: str) -> dict[str, Any]:
    return {"column": list(parts), "type": kind}


def literal(value: Any, kind: str) -> dict[str, Any]:
    return {"literal": value, "type": kind}


def node(name: str, *arguments: Any, kind: str = "boolean") -> dict[str, Any]:
    return {"class": name, "type": kind, "args": list(arguments)}


def tree(filter_tree: dict[str, Any], session: Session = HERE, **indexed: str) -> Tree:
    expressions = {key: BoundTerm(Term(text, is_expression=True), STRING) for text, key in indexed.items()}
    condition = Filters([filter_tree], ["?"], session).bound(SCHEMA, expressions)
    return tree_of(condition, time_zone=session.zone)


NUMBER, S, TS = column("i", kind="int"), column("s", kind="string"), column("ts", kind="timestamp")
UPPER = node("Upper", S, kind="string")


@pytest.mark.parametrize(
    ("kind", "name", "value", "meant"),
    [
        ("int", "i", -5, -5),
        ("timestamp", "ts", 1_730_615_400_000_000, datetime(2024, 11, 3, 6, 30, tzinfo=timezone.utc)),
        ("date", "dt", -719162, date(1, 1, 1)),
        ("decimal(38,18)", "dec", "-1250000000000000000", Decimal("-1.25")),
        ("binary", "b", "Af8=", b"\x01\xff"),
        ("double", "d", 4609434218613702656, 1.5),
        ("string", "s", "\U0001f600", "\U0001f600"),
    ],
)
def test_literal_is_its_internal_value(kind: str, name: str, value: Any, meant: Any) -> None:
    found = tree(node("EqualTo", column(name, kind=kind), literal(value, kind)))
    assert found == Constraint(Term(name), Domain.points([meant]))


def test_literal_on_the_left_mirrors_the_comparison() -> None:
    found = tree(node("LessThan", literal(3, "int"), NUMBER))
    assert found == Constraint(Term("i"), Domain.of([Range.above(3)]))


@pytest.mark.parametrize(
    "part",
    [
        {"opaque": "org.apache.spark.sql.catalyst.expressions.ScalaUDF"},
        node("Contains", S, column("s", kind="string")),
        node("RLike", S, literal("(?i)x", "string")),
        node("RLike", S, literal("x|y", "string")),
        node("Not", node("Contains", S, literal("x", "string"))),
        node("EqualTo", column("nosuch", kind="int"), literal(1, "int")),
        # Names are the table's own: Spark has given the attributes those.
        node("EqualTo", column("I", kind="int"), literal(1, "int")),
        node("EqualTo", column("i", kind="bigint"), literal(1, "bigint")),
        node("EqualTo", NUMBER, NUMBER),
        node("In", NUMBER, []),
        node("In", NUMBER, [literal(1, "int"), NUMBER]),
        node("EqualTo", TS, node("CurrentTimestamp", kind="timestamp")),
        node("EqualTo", column("dt", kind="date"), literal(10_000_000, "date")),
        node("IsNull", node("Cast", S, {"dataType": "int"}, None, {"name": "TRY"}, kind="int")),
        node("IsNull", node("Add", NUMBER, literal(1, "int"), {"name": "TRY"}, kind="int")),
        node("Like", S, column("s", kind="string"), "/"),
    ],
)
def test_what_is_not_known_is_unknown_and_says_why(part: dict[str, Any]) -> None:
    found = tree(part)
    assert isinstance(found, Unknown)
    assert found.reason
    assert found.text


def test_escape_sign_is_a_parameter() -> None:
    found = tree(node("Like", S, literal("a/_b", "string"), "/"))
    assert found == Constraint(Term("s"), Domain.points(["a_b"]))
    assert tree(node("Like", S, literal("a/_b", "string"), "\\")) != found


def test_conditions_join() -> None:
    one, other = node("EqualTo", NUMBER, literal(1, "int")), node("IsNull", column("arr", kind="array<int>"))
    both = tree(node("Not", node("Or", one, other)))
    assert both == tree(node("And", node("Not", one), node("IsNotNull", column("arr", kind="array<int>"))))
    truth = node("EqualNullSafe", one, literal(True, "boolean"))
    assert tree(truth) == tree(one)
    assert tree(node("Not", truth)) == Constraint(
        Term("i"), Domain.of([Range.below(1), Range.above(1)], has_null=True)
    )
    flag = column("flag", kind="boolean")
    assert tree(node("EqualNullSafe", flag, literal(False, "boolean"))) == tree(node("Not", flag))
    assert tree(flag) == Constraint(Term("flag"), Domain.points([True]))


def test_nested_field_goes_by_its_path_and_a_column_called_null_is_a_column() -> None:
    found = tree(node("EqualTo", column("st", "B", kind="string"), literal("x", "string")))
    assert found == Constraint(Term("st.B"), Domain.points(["x"]))
    found = tree(node("IsNull", column("null", kind="int")))
    assert found == Constraint(Term("null"), Domain.null())


def test_indexed_expression_is_known_by_its_whole_tree() -> None:
    wanted = node("EqualTo", UPPER, literal("A", "string"))
    assert tree(wanted, upper=key_of(UPPER)) == Constraint(
        Term("upper", is_expression=True), Domain.points(["A"])
    )
    other = node("Upper", column("st", "B", kind="string"), kind="string")
    assert isinstance(tree(node("EqualTo", other, literal("A", "string")), upper=key_of(UPPER)), Unknown)


def test_function_of_another_zone_or_under_odd_settings_is_unknown() -> None:
    def year(zone: str) -> dict[str, Any]:
        cast = node("Cast", TS, {"dataType": "date"}, {"zone": zone}, {"name": "LEGACY"}, kind="date")
        return node("EqualTo", node("Year", cast, kind="int"), literal(2024, "int"))

    found = tree(year("UTC"))
    assert isinstance(found, Constraint)
    assert found.term == Term("ts")
    assert "analysed in time zone Asia/Tokyo" in tree(year("Asia/Tokyo")).reason  # type: ignore[union-attr]
    odd = Session("UTC", "2023c", (("spark.sql.legacy.timeParserPolicy", "LEGACY"),), "3.5.9")
    assert "timeParserPolicy" in tree(year("UTC"), odd).reason  # type: ignore[union-attr]
    ansi = Session("UTC", "2023c", (("spark.sql.ansi.enabled", "true"),), "3.5.9")
    assert tree(year("UTC"), ansi) == found


def meaning(filter_tree: dict[str, Any], **how: Any) -> Meaning:
    return Meaning(
        **{"trees": (key_of(filter_tree),), "settings": (), "zone_data": "2023c", "spark": "3.5.7", **how}
    )


HOUR = node("Hour", TS, {"zone": "Europe/Berlin"}, kind="int")


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        (HERE, None),
        (Session("Asia/Tokyo", "2023c", (), "3.5.9"), None),
        (Session("UTC", "2025b", (), "3.5.9"), "zone data 2023c"),
        (Session("UTC", "2023c", (), "4.0.0"), "Spark 3.5.7"),
        (
            Session("UTC", "2023c", (("spark.sql.ansi.enabled", "true"),), "3.5.9"),
            "ansi.enabled = Spark's default",
        ),
        (Session("UTC", "2023c"), "time zone Europe/Berlin"),
        (Session("Europe/Berlin", "2023c"), None),
        (Session("Europe/Berlin", None), "another version"),
    ],
)
def test_meaning_holds_where_session_zone_data_and_settings_are_the_same(
    session: Session, reason: str | None
) -> None:
    found = meaning(HOUR).reason_against(session)
    assert (found is None) == (reason is None)
    assert (reason or "") in (found or "")


def test_meaning_without_a_zone_holds_in_all() -> None:
    for session in (HERE, Session("Asia/Tokyo", None), Session("Asia/Tokyo", "1999a", (), "3.5.0")):
        assert meaning(UPPER).reason_against(session) is None


def test_meaning_survives_its_json_form() -> None:
    found = meaning(HOUR, settings=(("spark.sql.ansi.enabled", "true"),))
    assert Meaning.from_dict(json.loads(json.dumps(found.as_dict()))) == found
    assert zones_of(found.tree) == {"Europe/Berlin"}
    assert opaque_parts([HOUR, {"opaque": "x.Y"}]) == ["x.Y"]


@pytest.mark.parametrize(
    "damaged",
    [
        None,
        {},
        {"trees": []},
        {"trees": [], "settings": {}, "zone_data": "x", "spark": "y"},
        {"trees": [{}], "settings": [], "zone_data": "x", "spark": "y"},
        {"trees": [{}], "settings": {"a": 1}, "zone_data": "x", "spark": "y"},
        {"trees": [{}], "settings": {}, "zone_data": 1, "spark": "y"},
    ],
)
def test_damaged_meaning_is_refused(damaged: Any) -> None:
    with pytest.raises(ValueError, match="meaning"):
        Meaning.from_dict(damaged)


def test_derivation_follows_the_tree() -> None:
    found = derivation_of(
        node("Substring", S, literal(1, "int"), literal(2, "int"), kind="string"), SCHEMA, HERE
    )
    assert found is not None
    assert found.column == Term("s")
    assert found.of_column(Domain.points(["abc"])) == Domain.points(["ab"])
    assert derivation_of(UPPER, SCHEMA, HERE) is None


def test_only_settings_of_meaning_count() -> None:
    given = {"spark.sql.ansi.enabled": "true", "spark.sql.shuffle.partitions": "2", "spark.sql.legacy.x": "1"}
    assert meaningful(given) == (("spark.sql.ansi.enabled", "true"), ("spark.sql.legacy.x", "1"))


def test_zone_data_of_this_machine_has_a_version() -> None:
    version = own_zone_data()
    assert version is None or version[:2] == "20"
    assert Session.of_text("Europe/Berlin").zone.is_known == (version is not None)
    assert not Session("Europe/Berlin", "1999a").zone.is_known


@pytest.mark.parametrize("local", [datetime(2024, 10, 27, 2, 30), datetime(2024, 3, 31, 2, 30)])  # noqa: DTZ001
def test_local_time_that_clocks_show_twice_or_never_is_no_instant(local: datetime) -> None:
    zone = SessionZone("Europe/Berlin")
    assert zone.instant_of(local) is None
    assert zone.instant_of(local.replace(hour=12)) is not None
    assert SessionZone("Europe/Berlin", is_known=False).instant_of(local.replace(hour=12)) is None
    assert SessionZone("+02:00", is_known=False).instant_of(local) is not None
