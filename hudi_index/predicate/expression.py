"""Predicates as frozen trees.

Before binding, a leaf speaks of a `Term` as the query spells it; after binding, of a `BoundTerm` as the table
spells it, with its type. What is not understood is `Unknown`: it keeps its text and says why.
Constructors (`of`) flatten and fold constants by SQL's three values, so `And` never holds an `And`, nor TRUE.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, TypeAlias, Union

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hudi_index.predicate.values.casts import Literal
    from hudi_index.predicate.values.condition import Term, TextPattern
    from hudi_index.predicate.values.types import SqlType

__all__ = [
    "CAST",
    "FALSE",
    "NULL",
    "TRUE",
    "And",
    "BooleanTerm",
    "BoundTerm",
    "Call",
    "Compare",
    "CompareTerms",
    "Constant",
    "Exists",
    "Expression",
    "HasAny",
    "In",
    "IsNull",
    "IsTrue",
    "Like",
    "Matches",
    "Not",
    "Operand",
    "Operator",
    "Or",
    "RLike",
    "StartsWith",
    "Unknown",
]


class Operator(Enum):
    """How a term compares with a literal."""

    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="
    SAME = "<=>"
    """Equal, null being equal to null; never null itself."""
    DISTINCT = "IS DISTINCT FROM"
    """The negation of SAME."""

    @property
    def mirrored(self) -> Operator:
        """The operator after both sides have changed places."""
        return _MIRRORED.get(self, self)

    @property
    def negated(self) -> Operator:
        """The operator that is true where this one is false, and null where this one is null."""
        return _NEGATED[self]


_MIRRORED = {
    Operator.LESS: Operator.GREATER,
    Operator.GREATER: Operator.LESS,
    Operator.AT_MOST: Operator.AT_LEAST,
    Operator.AT_LEAST: Operator.AT_MOST,
}
# Spark's order is total, NaN included, so `NOT a < 1` is `a >= 1`.
_OPPOSITES = (
    (Operator.EQUAL, Operator.NOT_EQUAL),
    (Operator.LESS, Operator.AT_LEAST),
    (Operator.GREATER, Operator.AT_MOST),
    (Operator.SAME, Operator.DISTINCT),
)
_NEGATED = {**dict(_OPPOSITES), **{other: one for one, other in _OPPOSITES}}


CAST = "CAST"


@dataclass(frozen=True, slots=True)
class Call:
    """One function, its constant arguments, and where among them the other argument stands."""

    name: str
    """In upper case; the sign of an operator."""
    before: tuple[Literal, ...] = ()
    after: tuple[Literal, ...] = ()
    cast_to: SqlType | None = None
    """Of a CAST."""

    @classmethod
    def cast(cls, sql_type: SqlType) -> Call:
        """A cast."""
        return cls(CAST, cast_to=sql_type)

    def __str__(self) -> str:
        return f"CAST AS {self.cast_to}" if self.cast_to else self.name


@dataclass(frozen=True, slots=True)
class BoundTerm:
    """A term of the table, with its type and the casts the query puts around it, innermost first."""

    term: Term
    type: SqlType
    casts: tuple[SqlType, ...] = ()
    calls: tuple[Call, ...] = ()
    """Functions between the term and the casts, innermost first."""
    text: str = ""
    """As the query spells it, where calls are in it."""


Operand: TypeAlias = Union["Term", BoundTerm]


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or NULL."""

    value: bool | None


TRUE, FALSE, NULL = Constant(value=True), Constant(value=False), Constant(value=None)


@dataclass(frozen=True, slots=True)
class Unknown:
    """A part that proves nothing about any row."""

    text: str
    reason: str
    terms: tuple[Term, ...] = ()
    """Columns it reads, as far as they are plain: a misspelt one is an error all the same."""


@dataclass(frozen=True, slots=True)
class Compare:
    """`term operator literal`."""

    operator: Operator
    term: Operand
    literal: Literal


@dataclass(frozen=True, slots=True)
class CompareTerms:
    """`term operator other`, two columns of one row. No index knows of it; whoever has the row can tell."""

    operator: Operator
    term: Operand
    other: Operand


@dataclass(frozen=True, slots=True)
class In:
    """`term [NOT] IN (literals)`."""

    term: Operand
    literals: tuple[Literal, ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull:
    """`term IS [NOT] NULL`."""

    term: Operand
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The term's text begins with the prefix."""

    term: Operand
    prefix: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Like:
    """`term [NOT] LIKE pattern ESCAPE escape`."""

    term: Operand
    pattern: str
    escape: str = "\\"
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Matches:
    """The term's text meets a pattern: `contains(term, 'x')`, `endswith(term, 'x')`."""

    term: Operand
    pattern: TextPattern
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class RLike:
    """A part of the term's text matches a regular expression, as Java reads it."""

    term: Operand
    regex: str
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class HasAny:
    """Some element of the term's array equals one of the literals, none of which is null.

    `array_contains(term, literal)`, `arrays_overlap(term, array(literals))`.
    """

    term: Operand
    literals: tuple[Literal, ...]
    is_overlap: bool = False
    """Whether by the equality of `arrays_overlap`, to which 0.0 and -0.0 are two values."""
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Exists:
    """`exists(term, variable -> condition)`: the condition is true for some element of the term's array."""

    term: Operand
    variable: Term
    condition: Expression
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class BooleanTerm:
    """The term itself, as a condition."""

    term: Operand
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class IsTrue:
    """The child is true; negated: the child is false or null. Never null itself."""

    child: Expression
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class Not:
    """The child's negation; null stays null."""

    child: Expression

    @classmethod
    def of(cls, child: Expression) -> Expression:
        """The negation, folded."""
        if isinstance(child, Constant):
            return child if child.value is None else Constant(not child.value)
        if isinstance(child, Not):
            return child.child
        return child if isinstance(child, Unknown) else cls(child)


@dataclass(frozen=True, slots=True)
class And:
    """All children are true."""

    children: tuple[Expression, ...]

    @classmethod
    def of(cls, children: Iterable[Expression]) -> Expression:
        """The conjunction, folded: one FALSE decides, TRUE says nothing, NULL stays."""
        kept: dict[Expression, None] = {}
        for child in children:
            if child == FALSE:
                return FALSE
            if child != TRUE:
                kept.update(dict.fromkeys(child.children if isinstance(child, And) else (child,)))
        return _join(cls, tuple(kept), empty=TRUE)


@dataclass(frozen=True, slots=True)
class Or:
    """Some child is true."""

    children: tuple[Expression, ...]

    @classmethod
    def of(cls, children: Iterable[Expression]) -> Expression:
        """The disjunction, folded: one TRUE decides, FALSE says nothing, NULL stays."""
        kept: dict[Expression, None] = {}
        for child in children:
            if child == TRUE:
                return TRUE
            if child != FALSE:
                kept.update(dict.fromkeys(child.children if isinstance(child, Or) else (child,)))
        return _join(cls, tuple(kept), empty=FALSE)


def _join(connective: type[And | Or], children: tuple[Expression, ...], *, empty: Constant) -> Expression:
    if not children:
        return empty
    return children[0] if len(children) == 1 else connective(children)


Expression: TypeAlias = (
    And
    | Or
    | Not
    | IsTrue
    | Compare
    | CompareTerms
    | In
    | IsNull
    | StartsWith
    | Like
    | Matches
    | RLike
    | HasAny
    | Exists
    | BooleanTerm
    | Constant
    | Unknown
)
