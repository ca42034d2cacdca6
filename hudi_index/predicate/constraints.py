"""A bound expression as a tree of constraints: what it asks of each term, and what no constraint can say."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from hudi_index.predicate.binding import bind
from hudi_index.predicate.expression import (
    And,
    BoundTerm,
    Call,
    Compare,
    CompareTerms,
    Constant,
    Exists,
    Expression,
    HasAny,
    In,
    IsNull,
    IsTrue,
    Like,
    Matches,
    Not,
    Or,
    RLike,
    StartsWith,
    Unknown,
)
from hudi_index.predicate.normalize import without_negations
from hudi_index.predicate.semantics.functions import steps_of
from hudi_index.predicate.semantics.leaf_domains import (
    all_but,
    as_bound_term,
    domain_of,
    element_of,
    prefix_range,
)
from hudi_index.predicate.semantics.monotonic import NoStep, preimage_of
from hudi_index.predicate.semantics.text_patterns import text_pattern_of
from hudi_index.predicate.sql.parser import parse_predicate
from hudi_index.predicate.values.casts import cast_literal
from hudi_index.predicate.values.coercion import common_type
from hudi_index.predicate.values.condition import Constraint, HasElement
from hudi_index.predicate.values.domain import Domain
from hudi_index.predicate.values.times import SessionZone
from hudi_index.predicate.values.types import STRING

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_index.predicate.semantics.leaf_domains import ArrayLeaf, Leaf
    from hudi_index.predicate.semantics.monotonic import Step
    from hudi_index.predicate.semantics.text_patterns import TextLeaf
    from hudi_index.predicate.tree import Leaf as TreeLeaf
    from hudi_index.predicate.values.condition import Term
    from hudi_index.predicate.values.types import Schema

from hudi_index.predicate.tree import Always, Never, Tree, all_of, any_of, constraint_of, fold

__all__ = ["constraints_of", "tree_of"]


def constraints_of(text: str, schema: Schema, *, time_zone: str) -> Tree:
    """What a predicate asks of a table's rows.

    Args:
        text: Spark SQL.
        schema: The table's columns, and the expressions that indexes are over.
        time_zone: The session's, which the text's local times are in.

    Raises:
        PredicateSyntaxError: if the text does not parse.
        UnknownColumnError: for a column that the table does not have.
    """
    parsed = parse_predicate(text, time_zone=time_zone)
    return tree_of(bind(parsed, schema), time_zone=time_zone)


def tree_of(expression: Expression, *, time_zone: str | SessionZone) -> Tree:
    """What a bound expression asks of rows."""
    return _tree(without_negations(expression), SessionZone.of(time_zone))


def _tree(expression: Expression, zone: SessionZone) -> Tree:
    if isinstance(expression, And):
        return all_of(_tree(child, zone) for child in expression.children)
    if isinstance(expression, Or):
        return any_of(_tree(child, zone) for child in expression.children)
    if isinstance(expression, Constant):
        return Always() if expression.value else Never()
    if isinstance(expression, Unknown):
        return Unknown(expression.text, expression.reason)
    if isinstance(expression, Not):
        raise TypeError("negations are in the leaves by now")
    if isinstance(expression, IsTrue):
        return _not_true(expression, zone)
    if isinstance(expression, CompareTerms):
        return _unknown_pair(expression)
    return _leaf(expression, zone)


def _not_true(expression: IsTrue, zone: SessionZone) -> Tree:
    if isinstance(expression.child, (And, Or, Not, IsTrue, Constant, Unknown)):
        raise TypeError("IS NOT TRUE is at the leaves by now")
    if isinstance(expression.child, CompareTerms):
        return _unknown_pair(expression.child)
    domain = _value_domain(expression.child, zone)
    if domain is None:
        return _unknown(expression.child, zone)
    return _constraint(expression.child, all_but(domain), zone)


def _leaf(leaf: Leaf, zone: SessionZone) -> Tree:
    domain = _value_domain(leaf, zone)
    if domain is not None:
        return _constraint(leaf, domain, zone)
    if isinstance(leaf, (Like, Matches, RLike, StartsWith)):
        return _text_pattern(leaf, zone)
    if isinstance(leaf, (HasAny, Exists)):
        return _array_pattern(leaf, zone)
    return _unknown(leaf, zone)


def _array_pattern(leaf: ArrayLeaf, zone: SessionZone) -> Tree:
    """Which element an array must have to meet the leaf."""
    term = as_bound_term(leaf.term)
    element = element_of(term)
    if element is None or leaf.is_negated:
        return _unknown(leaf, zone)
    if isinstance(leaf, Exists):
        domain, is_exact = _domain_of_term(_tree(without_negations(leaf.condition), zone), leaf.variable)
    else:
        domain, is_exact = _equal_elements(leaf, element, zone)
    if domain.is_empty:
        return Never()
    if domain.is_all and not is_exact:
        return _unknown(leaf, zone)
    found = Constraint(term.term, HasElement(domain))
    return found if is_exact else all_of([found, _unknown(leaf, zone)])


def _equal_elements(leaf: HasAny, element: BoundTerm, zone: SessionZone) -> tuple[Domain, bool]:
    """The elements that equal one of the literals, both cast to one type; whether just those."""
    sql_type = element.casts[-1] if element.casts else element.type
    for literal in leaf.literals:
        common = common_type(sql_type, literal.type) if sql_type.is_ordered else None
        if common is None:
            return Domain.all(), False
        sql_type = common
    cast = [cast_literal(literal, sql_type, zone) for literal in leaf.literals]
    literals = tuple(literal for literal in cast if literal is not None)
    if len(literals) < len(cast):
        return Domain.all(), False
    seen = replace(element, casts=(*element.casts, sql_type))
    tells_zeros_apart = (
        leaf.is_overlap and sql_type.is_fractional and any(each.value == 0 for each in literals)
    )
    domain, is_exact = _domain_of_term(_tree(In(seen, literals), zone), element.term)
    return domain, is_exact and not tells_zeros_apart


def _domain_of_term(tree: Tree, term: Term) -> tuple[Domain, bool]:
    """A domain that holds each value of a term that a tree may admit; whether it admits just those."""

    def leaf(each: TreeLeaf) -> tuple[Domain, bool]:
        if isinstance(each, Constraint) and each.term == term and each.domain is not None:
            return each.domain, True
        if isinstance(each, Never):
            return Domain.none(), True
        return Domain.all(), isinstance(each, Always)

    def joined(
        parts: list[tuple[Domain, bool]], join: Callable[[Domain, Domain], Domain]
    ) -> tuple[Domain, bool]:
        return reduce(join, [domain for domain, _ in parts]), all(is_exact for _, is_exact in parts)

    return fold(
        tree,
        leaf,
        lambda _, parts: joined(parts, Domain.intersection),
        lambda _, parts: joined(parts, Domain.union),
    )


def _text_pattern(leaf: TextLeaf, zone: SessionZone) -> Tree:
    """What stands in the texts that meet the leaf, their beginning also as a domain."""
    term = as_bound_term(leaf.term)
    is_text = term.type == STRING and not term.casts and not term.calls
    found = text_pattern_of(leaf) if is_text and not leaf.is_negated else None
    if found is None:
        return _unknown(leaf, zone)
    pattern, is_exact = found
    parts: list[Tree] = []
    if pattern.start:
        parts.append(Constraint(term.term, Domain.of([prefix_range(pattern.start)])))
    if pattern.pieces or pattern.end:
        parts.append(Constraint(term.term, pattern))
    return all_of(parts if is_exact else [*parts, _unknown(leaf, zone)])


def _value_domain(leaf: Leaf, zone: SessionZone) -> Domain | None:
    """The values of the leaf's term, all its calls applied, for which it is true."""
    term = as_bound_term(leaf.term)
    if not term.calls:
        found = domain_of(leaf, zone)
        if found is not None or not term.casts:
            return found
    steps = _steps(term, zone)
    if isinstance(steps, NoStep):
        return None
    plain = BoundTerm(term.term, steps[-1].target, term.casts if term.calls else ())
    return domain_of(replace(leaf, term=plain), zone)


def _steps(term: BoundTerm, zone: SessionZone) -> tuple[Step, ...] | NoStep:
    """The calls, or else the casts, as steps."""
    return steps_of(term.type, term.calls or [Call.cast(sql_type) for sql_type in term.casts], zone)


def _unknown(leaf: Leaf, zone: SessionZone) -> Unknown:
    term = as_bound_term(leaf.term)
    text = f"{term.text or term.term.text} {_describe_leaf(leaf)}"
    if term.calls:
        steps = _steps(term, zone)
        if isinstance(steps, NoStep):
            return Unknown(text, f"no index is over this expression, and {steps.reason}")
    sql_types = " as ".join(str(sql_type) for sql_type in (term.type, *term.casts))
    return Unknown(text, f"it is not certain which values of type {sql_types} meet it")


def _unknown_pair(pair: CompareTerms) -> Unknown:
    one, other = as_bound_term(pair.term).term.text, as_bound_term(pair.other).term.text
    return Unknown(f"{one} {pair.operator.value} {other}", "it compares two values of the row")


def _describe_leaf(leaf: Leaf) -> str:
    """What a leaf asks of its term, for people to read."""
    if isinstance(leaf, Compare):
        return f"{leaf.operator.value} {leaf.literal.value!r}"
    if isinstance(leaf, In):
        return f"{'NOT ' * leaf.is_negated}IN ({len(leaf.literals)} values)"
    if isinstance(leaf, (Like, StartsWith, Matches)):
        return f"{'NOT ' * leaf.is_negated}LIKE {_like_text(leaf)!r}"
    if isinstance(leaf, RLike):
        return f"{'NOT ' * leaf.is_negated}RLIKE {leaf.regex!r}"
    if isinstance(leaf, HasAny):
        return f"{'has none' if leaf.is_negated else 'has one'} of {len(leaf.literals)} values"
    if isinstance(leaf, Exists):
        return f"has {'no' if leaf.is_negated else 'an'} element that meets a condition"
    word = "NULL" if isinstance(leaf, IsNull) else "TRUE"
    return f"IS {'NOT ' * leaf.is_negated}{word}"


def _like_text(leaf: Like | StartsWith | Matches) -> str:
    if isinstance(leaf, Like):
        return leaf.pattern
    return f"{leaf.prefix}%" if isinstance(leaf, StartsWith) else str(leaf.pattern)[1:-1]


def _constraint(leaf: Leaf, domain: Domain, zone: SessionZone) -> Tree:
    """The constraint that the leaf's value is in a domain; where calls leave a doubt, with the doubt."""
    term = as_bound_term(leaf.term)
    if not term.calls and (not term.casts or domain_of(leaf, zone) is not None):
        return constraint_of(Constraint(term.term, domain))
    steps = _steps(term, zone)
    if isinstance(steps, NoStep):
        raise TypeError("without steps there is no domain")
    arguments, is_exact = preimage_of(steps, domain)
    found = constraint_of(Constraint(term.term, arguments))
    return found if is_exact else all_of([found, _unknown(leaf, zone)])
