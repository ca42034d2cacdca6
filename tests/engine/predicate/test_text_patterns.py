"""What LIKE, contains, endswith and RLIKE ask of a text, and what every match of an expression holds."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.predicate import (
    Constraint,
    Domain,
    Schema,
    Term,
    TextPattern,
    Tree,
    Unknown,
    admits,
    constraints_of,
    is_exact,
    leaves_of,
    with_expressions,
)
from hudi_index.predicate.semantics.leaf_domains import prefix_range
from hudi_index.predicate.semantics.regex_literals import literals_of, re2_of
from hudi_index.predicate.values.types import STRING

SCHEMA = with_expressions(Schema.parse({"s": "string", "i": "int", "o": "string"}), {"lower(s)": STRING})
S = Term("s")


def tree(text: str) -> Tree:
    return constraints_of(text, SCHEMA, time_zone="UTC")


def prefix(text: str) -> Constraint:
    return Constraint(S, Domain.of([prefix_range(text)]))


def pattern(start: str = "", *pieces: str, end: str = "") -> Constraint:
    return Constraint(S, TextPattern(start, pieces, end))


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("s LIKE '%x%'", [pattern("", "x")]),
        ("s LIKE '%x'", [pattern(end="x")]),
        ("s LIKE 'a%b%%c'", [prefix("a"), pattern("a", "b", end="c")]),
        ("s LIKE 'a!%%!_b' ESCAPE '!'", [prefix("a%"), pattern("a%", end="_b")]),
        (r"s LIKE '%\\%%'", [pattern("", "%")]),
        ("s LIKE 'abc%'", [prefix("abc")]),
        ("s LIKE 'abc'", [Constraint(S, Domain.points(["abc"]))]),
        ("s LIKE '%'", [Constraint(S, Domain.not_null())]),
        ("contains(s, 'x%')", [pattern("", "x%")]),
        ("endswith(s, 'x')", [pattern(end="x")]),
        ("endsWith(s, 'x')", [pattern(end="x")]),
        ("startsWith(s, 'x')", [prefix("x")]),
        ("contains(s, '')", [Constraint(S, Domain.not_null())]),
        ("like(s, '%x%')", [pattern("", "x")]),
        ("s LIKE ALL ('%a%', '%b%')", [pattern("", "a"), pattern("", "b")]),
        ("s LIKE ANY ('%a%', '%b%')", [pattern("", "a"), pattern("", "b")]),
        ("s LIKE SOME ('a', 'b')", [Constraint(S, Domain.points(["a", "b"]))]),
        ("lower(s) LIKE '%x%'", [Constraint(Term("LOWER(s)", is_expression=True), TextPattern("", ("x",)))]),
    ],
)
def test_pattern_is_an_exact_constraint(text: str, leaves: list[Constraint]) -> None:
    found = tree(text)
    assert list(leaves_of(found)) == leaves
    assert is_exact(found)


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("s LIKE '%ab_cd%'", [pattern("", "ab", "cd")]),
        ("s LIKE 'a_b'", [prefix("a"), pattern("a", end="b")]),
        ("s LIKE '_b'", [pattern(end="b")]),
        ("s RLIKE 'ab.*cd'", [pattern("", "ab", "cd")]),
        ("s REGEXP 'ab'", [pattern("", "ab")]),
        ("rlike(s, 'ab')", [pattern("", "ab")]),
        ("regexp(s, 'ab')", [pattern("", "ab")]),
        ("regexp_like(s, '^ab')", [prefix("ab")]),
        (r"s RLIKE '^ab[.]c\\d+x$'", [prefix("ab.c"), pattern("ab.c", "x")]),
    ],
)
def test_what_a_pattern_does_not_say_stands_beside_it(text: str, leaves: list[Constraint]) -> None:
    *found, rest = leaves_of(tree(text))
    assert found == leaves
    assert isinstance(rest, Unknown)


@pytest.mark.parametrize(
    "text",
    [
        "s NOT LIKE '%x%'",
        "NOT contains(s, 'x')",
        "s NOT RLIKE 'x'",
        "s NOT LIKE ANY ('x%', 'y%')",
        "contains(i, '1')",
        "contains(s, 1)",
        "contains(s, o)",
        "CAST(i AS STRING) LIKE '%1%'",
        "upper(s) LIKE '%X%'",
        "s ILIKE '%x%'",
        "s RLIKE 'a|b'",
        "s RLIKE '(?i)abc'",
        "s LIKE '%x%' OR s RLIKE '.'",
        "contains(s, 'x') IS NOT TRUE",
    ],
)
def test_what_has_no_pattern_is_unknown(text: str) -> None:
    assert isinstance(tree(text), Unknown)


def test_null_pattern_is_never_met() -> None:
    for text in (
        "contains(s, NULL)",
        "s RLIKE NULL",
        "s LIKE ALL ('a', NULL)",
        "endswith(s, CAST(NULL AS STRING))",
    ):
        assert not admits(tree(text), lambda _: "a")


TEXTS = st.text("ab%_\n.é𝄞", max_size=8)


@given(start=TEXTS, pieces=st.lists(TEXTS, max_size=3), end=TEXTS, value=st.text("ab%_\n.é𝄞", max_size=16))
def test_pattern_is_met_exactly_if_the_same_expression_of_pythons_is(
    start: str, pieces: list[str], end: str, value: str
) -> None:
    regex = ".*".join(re.escape(each) for each in (start, *pieces, end))
    is_met = re.fullmatch(regex, value, re.DOTALL) is not None
    assert TextPattern(start, tuple(pieces), end).contains(value) == is_met
    assert not TextPattern(start, tuple(pieces), end).contains(None)


@pytest.mark.parametrize(
    ("regex", "start", "pieces"),
    [
        ("abc", "", ("abc",)),
        ("a.c", "", ("a", "c")),
        ("^abc", "abc", ()),
        ("^abc$", "abc", ()),
        ("^(abc)d", "abcd", ()),
        ("(^abc)d", "", ("abcd",)),
        ("^a|b", "", ()),
        ("(ab|ac)d", "", ("a", "d")),
        ("(xa|ya)d", "", ("ad",)),
        ("(ab|ab)c", "", ("abc",)),
        ("ab?c", "", ("a", "c")),
        ("(ab)+c", "", ("ab", "c")),
        ("(ab){2}c", "", ("ababc",)),
        ("(ab){2,3}c", "", ("ab", "c")),
        ("ab*?c++", "", ("a", "c")),
        (r"a\.b\\c", "", (r"a.b\c",)),
        ("a[.]b[xy]c", "", ("a.b", "c")),
        (r"\bword\b", "", ("word",)),
        (r"(?:a)(?<name>b)c", "", ("abc",)),
        ("", "", ()),
        ("a{0}b", "", ("b",)),
        ("x|", "", ()),
        (r"(error|err)=\d+;disk", "", ("err", "=", ";disk")),
        ("日本.*𝄞", "", ("日本", "𝄞")),
    ],
)
def test_literals_of_an_expression_are_in_their_order(
    regex: str, start: str, pieces: tuple[str, ...]
) -> None:
    assert literals_of(regex) == TextPattern(start, pieces)


@pytest.mark.parametrize(
    "regex",
    [
        *("(?i)a", "(?i:a)", "a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", "(?>a)", r"(a)\1", r"(?<n>a)\k<n>"),
        *(
            r"\Qa.b\E",
            r"\x41",
            r"\u0041",
            r"\0101",
            r"\cA",
            r"\p{L}",
            r"\X",
            r"\R",
            r"\h",
            r"\G",
            r"\Aab",
            r"a\z",
        ),
        *("a**", "*a", "a{", "a{,2}", "a{2,1}", "{2}", "(a", "a)", "[a", "[]a]", "[a[b]]", "[a&&b]", "[b-a]"),
        *(
            r"[\D]",
            r"[\w-z]",
            "[^]",
            "a]",
            "a}",
            "^*",
            "$+",
            r"a\b{g}",
            "\\",
            "(?",
            "(?<",
            "(?<1a>b)",
            "(" * 50 + ")" * 50,
        ),
    ],
)
def test_expression_that_is_not_understood_has_no_literals(regex: str) -> None:
    assert literals_of(regex) is None
    assert re2_of(regex) is None


@pytest.mark.parametrize("regex", ["a$", r"\bab", r"a\B", "a++", "a{201}", "a|b$"])
def test_expression_that_re2_may_read_otherwise_is_not_translated(regex: str) -> None:
    assert literals_of(regex) is not None
    assert re2_of(regex) is None


def test_literal_that_is_repeated_without_end_stays_short() -> None:
    found = literals_of("(" * 30 + "ab" + "){16}" * 30)
    assert found is not None
    assert found.pieces == ("ab" * 16,)


ATOMS = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "c",
        ".",
        "[ab]",
        "[^a]",
        r"\.",
        r"\d",
        r"\w",
        r"\S",
        "é",
        "𝄞",
        "[.]",
        "^",
        "$",
        "1",
        r"\n",
        "[a-c1]",
    ]
)


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    quantifiers = st.sampled_from(["*", "+", "?", "{2}", "{1,2}", "{0,1}", "{2,}", "*?", "+?"])
    return st.one_of(
        st.lists(inner, min_size=1, max_size=4).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})"),
        st.builds(lambda part, sign: f"(?:{part}){sign}", inner, quantifiers),
    )


REGEXES = st.recursive(ATOMS, _larger, max_leaves=12)


@settings(max_examples=400)
@given(regex=REGEXES, value=st.text("abc1.\né𝄞", max_size=12))
def test_text_that_matches_holds_the_literals_of_the_expression(regex: str, value: str) -> None:
    found = literals_of(regex)
    assert found is not None, regex
    # Python's `.`, `\w`, `\S` and `$` agree with Java's on these texts, as the flag makes classes ASCII.
    if re.search(regex, value, re.ASCII):
        assert found.contains(value), regex


@settings(max_examples=200)
@given(regex=REGEXES, data=st.data())
def test_text_made_to_match_holds_the_literals_of_the_expression(regex: str, data: st.DataObject) -> None:
    value = data.draw(
        st.from_regex(
            re.compile(regex, re.ASCII),
        )
    )
    found = literals_of(regex)
    assert found is not None
    assert found.contains(value), regex
