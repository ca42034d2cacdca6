"""What array_contains, arrays_overlap and exists ask of an array, as texts and as Catalyst's trees."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, cast

import pytest

from hudi_index.errors import PredicateSyntaxError, UnknownColumnError
from hudi_index.predicate import (
    Constraint,
    Domain,
    Filters,
    HasElement,
    Never,
    Range,
    Schema,
    Session,
    Term,
    Tree,
    Unknown,
    admits,
    constraints_of,
    is_exact,
    leaves_of,
    tree_of,
)
from hudi_index.predicate.semantics.leaf_domains import prefix_range

SCHEMA = Schema.parse(
    {
        "a": "array<int>",
        "l": "array<bigint>",
        "d": "array<double>",
        "s": "array<string>",
        "dec": "array<decimal(10,2)>",
        "dt": "array<date>",
        "nested": "array<array<int>>",
        "st": "struct<xs:array<int>,y:int>",
        "rows": "array<struct<f:int>>",
        "i": "int",
        "x": "int",
    }
)


def tree(text: str) -> Tree:
    return constraints_of(text, SCHEMA, time_zone="UTC")


def has(column: str, domain: Domain) -> Constraint:
    return Constraint(Term(column), HasElement(domain))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("array_contains(a, 1)", has("a", Domain.points([1]))),
        ("array_contains(a, 1L)", has("a", Domain.points([1]))),
        ("array_contains(a, 5000000000L)", Never()),
        ("array_contains(a, 1.5)", Never()),
        ("array_contains(l, 1)", has("l", Domain.points([1]))),
        ("array_contains(d, 1)", has("d", Domain.points([1.0]))),
        ("array_contains(d, double('NaN'))", has("d", Domain.points([math.nan]))),
        ("array_contains(s, 'x')", has("s", Domain.points(["x"]))),
        ("array_contains(dec, 1.5)", has("dec", Domain.points([Decimal("1.50")]))),
        ("array_contains(st.xs, 1)", has("st.xs", Domain.points([1]))),
        ("array_contains(CAST(a AS ARRAY<BIGINT>), 1L)", has("a", Domain.points([1]))),
        ("array_contains(a, CAST(NULL AS INT))", Never()),
        ("array_contains(a, NULL)", Never()),
        ("arrays_overlap(a, array(1, 2, NULL))", has("a", Domain.points([1, 2]))),
        ("arrays_overlap(array('x', 'y'), s)", has("s", Domain.points(["x", "y"]))),
        ("arrays_overlap(d, array(1D))", has("d", Domain.points([1.0]))),
        ("arrays_overlap(a, array())", Never()),
        ("arrays_overlap(a, array(NULL))", Never()),
        ("exists(a, x -> x = 1)", has("a", Domain.points([1]))),
        ("exists(a, (e) -> 1 = e)", has("a", Domain.points([1]))),
        (
            "exists(a, E -> e IN (1, 2) OR e > 5)",
            has("a", Domain.points([1, 2]).union(Domain.of([Range.above(5)]))),
        ),
        ("exists(a, e -> NOT e > 3)", has("a", Domain.of([Range.at_most(3)]))),
        (
            "exists(a, e -> e BETWEEN 1 AND 2)",
            has("a", Domain.of([Range.at_least(1).intersection(Range.at_most(2))])),
        ),
        ("exists(a, e -> e IS NULL)", has("a", Domain.null())),
        ("exists(a, e -> e > 1 AND e < 1)", Never()),
        ("exists(a, e -> true)", has("a", Domain.all())),
        ("exists(s, e -> e LIKE 'p%')", has("s", Domain.of([prefix_range("p")]))),
        ("exists(s, e -> startswith(e, 'p'))", has("s", Domain.of([prefix_range("p")]))),
        ("a IS NULL", Constraint(Term("a"), Domain.null())),
        ("a IS NOT NULL", Constraint(Term("a"), Domain.not_null())),
    ],
)
def test_membership_is_an_exact_constraint(text: str, expected: Tree) -> None:
    assert tree(text) == expected
    assert is_exact(tree(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("arrays_overlap(d, array(0D, 1D))", has("d", Domain.points([0.0, 1.0]))),
        ("exists(a, e -> e > 1 AND abs(e) = 2)", has("a", Domain.of([Range.above(1)]))),
        ("exists(s, e -> e LIKE 'a%b')", has("s", Domain.of([prefix_range("a")]))),
    ],
)
def test_what_membership_does_not_say_stands_beside_it(text: str, expected: Constraint) -> None:
    found, rest = leaves_of(tree(text))
    assert found == expected
    assert isinstance(rest, Unknown)


@pytest.mark.parametrize(
    "text",
    [
        "NOT array_contains(a, 1)",
        "NOT arrays_overlap(a, array(1))",
        "NOT exists(a, e -> e = 1)",
        "array_contains(a, 1) IS NULL",
        "array_contains(a, i)",
        "array_contains(array(1, 2), i)",
        "array_contains(s, 1)",
        "array_contains(i, 1)",
        "array_contains(nested, array(1))",
        "arrays_overlap(a, array(1, '2'))",
        "arrays_overlap(a, l)",
        "exists(a, e -> e = i)",
        "exists(a, e -> st.y = 1)",
        "exists(a, e -> rows.e = 1)",
        "exists(s, e -> e LIKE '%p%')",
        "exists(rows, e -> e.f = 1)",
        "exists(nested, e -> array_contains(e, 1))",
        "exists(nested, e -> exists(e, f -> f = 1))",
        "exists(i, e -> e = 1)",
        "exists(a, (e, f) -> e = 1)",
        "exists(slice(a, 1, 2), e -> e = 1)",
        "exists(a, e -> abs(e) = 1)",
        "size(a) = 0",
        "a = array(1)",
        "a[0] = 1",
        "forall(a, e -> e = 1)",
        "array_contains(a, 1) OR rand() > 0",
    ],
)
def test_what_is_no_membership_is_unknown(text: str) -> None:
    assert isinstance(tree(text), Unknown)


def test_variable_hides_a_column_of_its_name() -> None:
    assert tree("exists(a, x -> x = 1) AND x = 2").children == (  # type: ignore[union-attr]
        Constraint(Term("x"), Domain.points([2])),
        has("a", Domain.points([1])),
    )


def test_column_that_is_misspelt_inside_of_a_condition_is_an_error() -> None:
    with pytest.raises(UnknownColumnError, match="nosuch"):
        tree("exists(a, e -> e = nosuch)")


@pytest.mark.parametrize(
    ("text", "position"), [("exists(a, e -> e = )", 19), ("exists(a, e -> )", 15), ("exists(a, -> 1)", 10)]
)
def test_condition_that_is_none_is_an_error_in_the_whole_text(text: str, position: int) -> None:
    with pytest.raises(PredicateSyntaxError) as caught:
        tree(text)
    assert (caught.value.text, caught.value.position) == (text, position)


def test_deep_nesting_of_lambdas_is_unknown_and_quick() -> None:
    text = "a = 1"
    for _ in range(200):
        text = f"exists(a, x -> {text})"
    assert isinstance(tree(text), Unknown)


def test_array_is_admitted_by_its_elements() -> None:
    found = tree("exists(d, e -> e > 1)")
    arrays = [[2.0], [math.nan], [1.0, None], [], None, [None, 3.0]]
    met = [admits(found, cast("Any", lambda _, array=array: array)) for array in arrays]
    assert met == [True, True, False, False, False, True]


def column(name: str, kind: str) -> dict[str, Any]:
    return {"column": [name], "type": kind}


def literal(value: Any, kind: str) -> dict[str, Any]:
    return {"literal": value, "type": kind}


def node(name: str, *arguments: Any, kind: str = "boolean") -> dict[str, Any]:
    return {"class": name, "type": kind, "args": list(arguments)}


A = column("a", "array<int>")


def exists(array: dict[str, Any], kind: str, body: Any, number: int = 0) -> dict[str, Any]:
    variable = {"variable": number, "type": kind}
    return node("ArrayExists", array, node("LambdaFunction", body(variable), [variable], False), True)


def read(part: dict[str, Any]) -> Tree:
    bound = Filters([part], [""], Session(spark="3.5.0")).bound(SCHEMA, {})
    return tree_of(bound, time_zone="UTC")


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (node("ArrayContains", A, literal(1, "int")), has("a", Domain.points([1]))),
        (
            node(
                "ArrayContains",
                node(
                    "Cast", A, {"dataType": "array<bigint>"}, None, {"name": "LEGACY"}, kind="array<bigint>"
                ),
                literal(1, "bigint"),
            ),
            has("a", Domain.points([1])),
        ),
        (node("ArrayContains", A, literal(None, "int")), Never()),
        (node("ArraysOverlap", A, literal([1, None, 2], "array<int>")), has("a", Domain.points([1, 2]))),
        (node("ArraysOverlap", literal([1], "array<int>"), A), has("a", Domain.points([1]))),
        (node("ArraysOverlap", A, literal(None, "array<int>")), Never()),
        (exists(A, "int", lambda x: node("EqualTo", x, literal(1, "int"))), has("a", Domain.points([1]))),
        (exists(A, "int", lambda x: node("IsNull", x), 3), has("a", Domain.null())),
        (
            exists(A, "int", lambda x: node("Or", node("LessThan", x, literal(1, "int")), node("IsNull", x))),
            has("a", Domain.of([Range.below(1)], has_null=True)),
        ),
        (
            exists(
                node(
                    "Cast", A, {"dataType": "array<bigint>"}, None, {"name": "LEGACY"}, kind="array<bigint>"
                ),
                "bigint",
                lambda x: node("GreaterThan", x, literal(2**40, "bigint")),
            ),
            Never(),
        ),
    ],
)
def test_catalysts_membership_is_an_exact_constraint(part: dict[str, Any], expected: Tree) -> None:
    assert read(part) == expected


@pytest.mark.parametrize(
    "part",
    [
        node("Not", node("ArrayContains", A, literal(1, "int"))),
        node("ArrayContains", column("a", "array<bigint>"), literal(1, "bigint")),
        node("ArrayContains", A, column("i", "int")),
        node("ArraysOverlap", A, A),
        exists(A, "int", lambda x: node("EqualTo", x, column("i", "int"))),
        exists(A, "int", lambda x: node("EqualTo", {"variable": 7, "type": "int"}, literal(1, "int"))),
        exists(column("i", "int"), "int", lambda x: node("IsNull", x)),
        exists(
            column("nested", "array<array<int>>"),
            "array<int>",
            lambda x: exists(x, "int", lambda y: node("IsNull", y), 1),
        ),
        node("ArrayExists", A, {"opaque": "somebody's"}, True),
        node("EqualTo", A, literal([1], "array<int>")),
    ],
)
def test_catalysts_other_conditions_on_arrays_are_unknown(part: dict[str, Any]) -> None:
    assert isinstance(read(part), Unknown)


def test_condition_on_a_column_of_a_variables_name_says_nothing_of_elements() -> None:
    body = node("GreaterThan", column("x", "int"), literal(1, "int"))
    assert isinstance(read(exists(A, "int", lambda _: body)), Unknown)
