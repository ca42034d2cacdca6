"""What a text may be made of: words and calls by name, nodes by class; everything else is refused.

    query        one SELECT, or several joined by UNION, INTERSECT and EXCEPT, over the view of the table and
                 over common table expressions of such queries
    condition    one scalar expression: no subquery, aggregate, window or generator

Allowed are classes of sqlglot's nodes, and for those that hold others by name, which parts they may have. A
call is judged by the word in front of its bracket, not by the node that sqlglot makes of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sqlglot import exp
from sqlglot.dialects.spark import Spark
from sqlglot.errors import ErrorLevel, ParseError

from hudi_index.errors import PredicateSyntaxError, RefusedTextError, SqlSyntaxError
from hudi_index.gate.lexing import tokens_of
from hudi_index.gate.words import (
    ONE_SELECT,
    ONE_VALUE,
    UNFIT,
    check_words,
    list_once,
    shallow,
    unstable,
    without_end,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlglot import Token

__all__ = ["check_condition", "check_query"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VALUES = _words(
    """
    Add Alias All And Any Between BitwiseAnd BitwiseLeftShift BitwiseNot BitwiseOr BitwiseRightShift
    BitwiseXor Boolean Bracket Case Cast Column ColumnDef DPipe DataType DataTypeParam Div Dot EQ Escape GT
    GTE HexString ILike Identifier In IntDiv Interval IntervalSpan Is JSONPath JSONPathKey JSONPathRoot
    JSONPathSubscript JSONPathWildcard LT LTE Lambda Like Literal Mod Mul NEQ Neg Not Null NullSafeEQ
    NullSafeNEQ Or Paren PropertyEQ RawString Sub TryCast Tuple Var
    """
)
_QUERIES = _words(
    """
    CTE Cube Distinct Except Exists Filter From Group GroupingSets Having Intersect Join Lateral Order Ordered
    Rollup Select Star Subquery Table TableAlias Union Where Window WindowSpec With WithinGroup
    """
)
_PARTS = {
    "Select": "with_ with kind expressions distinct from_ from joins laterals where group having windows"
    " order",
    "Table": "this alias joins laterals",
    "Subquery": "this alias with_ with joins laterals",
    "Join": "this on using side kind method",
    "With": "expressions",
    "CTE": "this alias",
    "Union": "this expression distinct by_name with_ with order side kind",
    "Intersect": "this expression distinct with_ with order side kind",
    "Except": "this expression distinct with_ with order side kind",
    "Star": "",
    "Lateral": "this view outer alias",
    "Ordered": "this desc nulls_first",
    "Window": "this partition_by order spec alias over first",
    "WindowSpec": "kind start start_side end end_side",
    "Column": "this table db catalog",
}
_CLOCK = re.compile(r"\s*(now|today|tomorrow|yesterday)\b", re.IGNORECASE)
_TIMES = ("DATE", "TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPLTZ", "TIMESTAMPNTZ")
# What sqlglot raises, beyond its own errors, for calls with fewer arguments than it counts on.
_CONFUSED = (AttributeError, IndexError, KeyError, TypeError, ValueError)


def check_query(text: str, *, view: str) -> None:
    """Refuse a text that is not one query over the rows that the view stands for.

    Raises:
        RefusedTextError: it holds something else.
        SqlSyntaxError: it is no SQL.
    """
    tokens = without_end(tokens_of(text))
    check_words(text, tokens, in_query=True)
    _Reading(text, view).check(_parse(text, tokens, exp.Query))


def check_condition(text: str) -> None:
    """Refuse a text that is not one scalar expression of one row.

    Raises:
        RefusedTextError: it holds something else.
        PredicateSyntaxError: it is no SQL.
    """
    tokens = tokens_of(text)
    check_words(text, tokens, in_query=False)
    for part in shallow(list_once(tokens)):
        _Reading(text, None).check(_parse(text, part, exp.Condition))


def _parse(text: str, tokens: Sequence[Token], into: type[exp.Expr]) -> exp.Expr:
    wrong = SqlSyntaxError if into is exp.Query else PredicateSyntaxError
    expected = "a query" if into is exp.Query else "a condition"
    if not tokens:
        raise wrong(text=text, position=len(text), expected=expected)
    parser = Spark().parser(error_level=ErrorLevel.IMMEDIATE)
    try:
        if into is exp.Query:
            trees = parser.parse(list(tokens), text)
        else:
            trees = parser.parse_into(into, list(tokens), text)
    except ParseError as error:
        first = error.errors[0] if error.errors else {}
        line_and_column = (first.get("line"), first.get("col"))
        found = next((token for token in tokens if (token.line, token.col) == line_and_column), tokens[-1])
        raise wrong(text=text, position=found.start, expected=f"{expected} of Spark SQL") from None
    except _CONFUSED:
        raise wrong(text=text, position=tokens[0].start, expected=f"{expected} of Spark SQL") from None
    except RecursionError:
        raise _too_deep(text) from None
    if len(trees) != 1 or trees[0] is None:
        raise wrong(text=text, position=0, expected=f"one {expected[2:]}")
    return trees[0]


def _too_deep(text: str) -> RefusedTextError:
    return RefusedTextError(
        text=text, what="it is nested too deeply to be looked through", way_out="nest it less"
    )


class _Reading:
    """One text being looked through."""

    def __init__(self, text: str, view: str | None) -> None:
        self._text, self._view = text, view
        self._way_out = ONE_VALUE if view is None else ONE_SELECT

    def check(self, tree: exp.Expr) -> None:
        if self._view is not None and not isinstance(tree, (exp.Select, exp.SetOperation, exp.Subquery)):
            word = self._text.split(maxsplit=1)[0]
            raise self._refusal(f"it is no query, but {word} …", self._way_out)
        known = frozenset() if self._view is None else frozenset((self._view.lower(),))
        waiting = [(tree, known)]
        while waiting:
            node, visible = waiting.pop()
            self._check_node(node, visible)
            within = node.args.get("with_") or node.args.get("with")
            if isinstance(within, exp.With):
                for each in within.expressions:
                    self._check_node(each, visible)
                    waiting.append((each.this, visible))
                    visible |= {self._new_name(each, visible)}
                self._check_node(within, visible)
            waiting += [(child, visible) for child in _children(node) if child is not within]

    def _refusal(self, what: str, way_out: str) -> RefusedTextError:
        return RefusedTextError(text=self._text, what=what, way_out=way_out)

    def _check_node(self, node: exp.Expr, visible: frozenset[str]) -> None:
        name = type(node).__name__
        if name in UNFIT:
            raise self._refusal(*UNFIT[name])
        if type(node) in _WITHOUT_BRACKETS:
            raise unstable(self._text, name_of(node))
        if self._view is None and isinstance(node, (exp.Query, exp.Values)):
            raise self._refusal("it holds a subquery", self._way_out)
        allowed = _VALUES if self._view is None else _VALUES | _QUERIES
        if name not in allowed and not isinstance(node, exp.Func):
            raise self._refusal(_word_of(node), self._way_out)
        if isinstance(node, exp.Table):
            self._check_table(node, visible)
        self._check_parts(node, name)
        if isinstance(node, exp.Select) and not (node.args.get("from_") or node.args.get("from")):
            raise self._refusal("a SELECT without FROM, which asks the table nothing", self._way_out)
        elif isinstance(node, exp.WindowSpec) and str(node.args.get("kind")).upper() == "ROWS":
            raise self._refusal(
                "ROWS of a window, which differ when equal rows come in another order", "say RANGE"
            )
        if isinstance(node, exp.Alias) and not isinstance(node.parent, (exp.Select, exp.Func)):
            raise self._refusal(f"a name, {node.alias}, where none can be given", self._way_out)
        self._check_time(node)

    def _check_parts(self, node: exp.Expr, name: str) -> None:
        if name not in _PARTS:
            return
        allowed = _PARTS[name].split()
        for part, value in node.args.items():
            if value and part not in allowed:
                if isinstance(value, exp.Expr) and type(value).__name__ in UNFIT:
                    raise self._refusal(*UNFIT[type(value).__name__])
                raise self._refusal(f"{part.strip('_').upper()} with {name.upper()}", self._way_out)

    def _check_table(self, node: exp.Table, visible: frozenset[str]) -> None:
        if not isinstance(node.this, exp.Identifier):
            raise self._refusal(f"{node.this.sql('spark')} in the place of a table", self._way_out)
        path = [part.name for part in node.parts]
        if len(path) > 1 or path[0].lower() not in visible:
            name = ".".join(path)
            raise self._refusal(f"table {name!r}, which is not the one that is asked", self._way_out)

    def _new_name(self, node: exp.CTE, visible: frozenset[str]) -> str:
        name = str(node.alias).lower()
        if name in visible:
            raise self._refusal(f"{node.alias!r} WITH another meaning", "give it a name of its own")
        return name

    def _check_time(self, node: exp.Expr) -> None:
        if not isinstance(node, exp.Cast) or not node.this.is_string:
            return
        kind = str(getattr(node.to.this, "name", ""))
        if kind in _TIMES and _CLOCK.match(node.this.name):
            what = f"{node.this.name!r} as a time, which is another one each time"
            raise self._refusal(what, "write the time itself")


_WITHOUT_BRACKETS = frozenset(Spark.Parser.NO_PAREN_FUNCTIONS.values())


def name_of(node: exp.Expr) -> str:
    """What a function is called that is called without brackets."""
    names = type(node).sql_names() if isinstance(node, exp.Func) else [type(node).__name__]
    return names[0].lower()


def _word_of(node: exp.Expr) -> str:
    word = re.sub(r"(?<!^)(?=[A-Z])", " ", type(node).__name__).upper()
    if isinstance(node, exp.Window):
        return "it holds a window, whose value depends on other rows"
    if isinstance(node, (exp.Star, exp.Placeholder, exp.Parameter, exp.SessionParameter)):
        return "it holds a star or a parameter, which is no value of a row"
    return f"{word}, which no text may hold"


def _children(node: exp.Expr) -> Iterator[exp.Expr]:
    for value in node.args.values():
        for each in value if isinstance(value, list) else (value,):
            if isinstance(each, exp.Expr):
                yield each
