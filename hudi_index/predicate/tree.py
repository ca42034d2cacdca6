"""What the planner sees of a predicate: constraints, joined by AND and OR.

    AllOf(children)  AnyOf(children)  Constraint(term, domain)  Unknown(text, reason)  Always  Never

Constraints on one term are merged: AND intersects, OR unites. Invariant: a row for which the predicate is
true is admitted; without an Unknown in the tree, no other row is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from hudi_index.predicate.binding import bind
from hudi_index.predicate.domain import ColumnDomain, Constraint, Domain, Term
from hudi_index.predicate.domains import all_but, bound_term, domain_of, prefix_of, prefix_range
from hudi_index.predicate.expression import (
    And,
    BoundTerm,
    Call,
    Compare,
    CompareTerms,
    Constant,
    Expression,
    In,
    IsNull,
    IsTrue,
    Like,
    Not,
    Or,
    StartsWith,
    Unknown,
)
from hudi_index.predicate.functions import steps_of
from hudi_index.predicate.normalize import without_negations
from hudi_index.predicate.parser import parse_predicate
from hudi_index.predicate.steps import preimage_of
from hudi_index.predicate.times import SessionZone
from hudi_index.predicate.types import STRING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hudi_index.predicate.domains import Leaf
    from hudi_index.predicate.steps import Step
    from hudi_index.predicate.types import Schema

__all__ = [
    "AllOf",
    "Always",
    "AnyOf",
    "Never",
    "Tree",
    "admits",
    "column_domain_of",
    "constraints_of",
    "is_exact",
    "tree_of",
    "tree_of_domains",
]


@dataclass(frozen=True, slots=True)
class AllOf:
    """A row must be admitted by each child."""

    children: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A row must be admitted by some child."""

    children: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Always:
    """Every row is admitted: nothing is asked."""


@dataclass(frozen=True, slots=True)
class Never:
    """No row is admitted: the predicate is never true."""


Tree: TypeAlias = AllOf | AnyOf | Constraint | Unknown | Always | Never


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
        return _all_of(_tree(child, zone) for child in expression.children)
    if isinstance(expression, Or):
        return _any_of(_tree(child, zone) for child in expression.children)
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
    term = bound_term(leaf.term)
    is_text = term.type == STRING and not term.casts and not term.calls
    if isinstance(leaf, Like) and not leaf.is_negated and is_text:
        prefix, rest = prefix_of(leaf.pattern, leaf.escape)
        if rest is not None and prefix:
            # More is asked than the prefix, but never less.
            return AllOf((Constraint(term.term, Domain.of([prefix_range(prefix)])), _unknown(leaf, zone)))
    return _unknown(leaf, zone)


def _value_domain(leaf: Leaf, zone: SessionZone) -> Domain | None:
    """The values of the leaf's term, all its calls applied, for which it is true."""
    term = bound_term(leaf.term)
    if not term.calls:
        found = domain_of(leaf, zone)
        if found is not None or not term.casts:
            return found
    steps = _steps(term, zone)
    if isinstance(steps, str):
        return None
    plain = BoundTerm(term.term, steps[-1].target, term.casts if term.calls else ())
    return domain_of(replace(leaf, term=plain), zone)


def _steps(term: BoundTerm, zone: SessionZone) -> tuple[Step, ...] | str:
    """The calls, or for want of them the casts, as steps; else why they are of no use."""
    return steps_of(term.type, term.calls or [Call.cast(kind) for kind in term.casts], zone)


def _unknown(leaf: Leaf, zone: SessionZone) -> Unknown:
    term = bound_term(leaf.term)
    text = f"{term.text or term.term.text} {_asked(leaf)}"
    if term.calls:
        steps = _steps(term, zone)
        if isinstance(steps, str):
            return Unknown(text, f"no index is over this expression, and {steps}")
    kinds = " as ".join(str(kind) for kind in (term.type, *term.casts))
    return Unknown(text, f"it is not certain which values of type {kinds} meet it")


def _unknown_pair(pair: CompareTerms) -> Unknown:
    one, other = bound_term(pair.term).term.text, bound_term(pair.other).term.text
    return Unknown(f"{one} {pair.operator.value} {other}", "it compares two values of the row")


def _asked(leaf: Leaf) -> str:
    """What a leaf asks of its term, for people to read."""
    if isinstance(leaf, Compare):
        return f"{leaf.operator.value} {leaf.literal.value!r}"
    if isinstance(leaf, In):
        return f"{'NOT ' * leaf.is_negated}IN ({len(leaf.literals)} values)"
    if isinstance(leaf, (Like, StartsWith)):
        wanted = leaf.pattern if isinstance(leaf, Like) else f"{leaf.prefix}%"
        return f"{'NOT ' * leaf.is_negated}LIKE {wanted!r}"
    word = "NULL" if isinstance(leaf, IsNull) else "TRUE"
    return f"IS {'NOT ' * leaf.is_negated}{word}"


def _constraint(leaf: Leaf, domain: Domain, zone: SessionZone) -> Tree:
    """The constraint that the leaf's value is in a domain; where calls leave a doubt, with the doubt."""
    term = bound_term(leaf.term)
    if not term.calls and (not term.casts or domain_of(leaf, zone) is not None):
        return _simple(Constraint(term.term, domain))
    steps = _steps(term, zone)
    if isinstance(steps, str):
        raise TypeError("without steps there is no domain")
    arguments, is_exact = preimage_of(steps, domain)
    found = _simple(Constraint(term.term, arguments))
    return found if is_exact else _all_of([found, _unknown(leaf, zone)])


def _simple(constraint: Constraint) -> Tree:
    if constraint.domain.is_empty:
        return Never()
    return Always() if constraint.domain.is_all else constraint


def _all_of(children: Iterable[Tree]) -> Tree:
    domains: dict[Term, Domain] = {}
    others: dict[Tree, None] = {}
    pending = list(children)[::-1]
    while pending:
        child = pending.pop()
        if isinstance(child, AllOf):
            pending.extend(reversed(child.children))
        elif isinstance(child, Constraint):
            known = domains.get(child.term)
            domains[child.term] = child.domain if known is None else known.intersection(child.domain)
        else:
            others[child] = None
    merged = [_simple(Constraint(term, domain)) for term, domain in domains.items()]
    kept = tuple(child for child in (*merged, *others) if not isinstance(child, Always))
    if any(isinstance(child, Never) for child in kept):
        return Never()
    if not kept:
        return Always()
    return kept[0] if len(kept) == 1 else AllOf(kept)


def _any_of(children: Iterable[Tree]) -> Tree:
    domains: dict[Term, list[Domain]] = {}
    others: dict[Tree, None] = {}
    pending = list(children)[::-1]
    while pending:
        child = pending.pop()
        if isinstance(child, AnyOf):
            pending.extend(reversed(child.children))
        elif isinstance(child, Constraint):
            domains.setdefault(child.term, []).append(child.domain)
        else:
            others[child] = None
    merged = [_simple(Constraint(term, _united(found))) for term, found in domains.items()]
    kept = tuple(child for child in (*merged, *others) if not isinstance(child, Never))
    for decisive in (Always, Unknown):
        # Beside an Unknown, no constraint can refute anything.
        if found := [child for child in kept if isinstance(child, decisive)]:
            return found[0]
    if not kept:
        return Never()
    return kept[0] if len(kept) == 1 else AnyOf(kept)


def _united(domains: list[Domain]) -> Domain:
    ranges = (one for domain in domains for one in domain.ranges)
    return Domain.of(ranges, has_null=any(domain.has_null for domain in domains))


def admits(tree: Tree, value_of: Callable[[Term], Any]) -> bool:
    """Whether a row may match, given its values by term (None is null)."""
    if isinstance(tree, AllOf):
        return all(admits(child, value_of) for child in tree.children)
    if isinstance(tree, AnyOf):
        return any(admits(child, value_of) for child in tree.children)
    if isinstance(tree, Constraint):
        return tree.domain.contains(value_of(tree.term))
    return not isinstance(tree, Never)


def is_exact(tree: Tree) -> bool:
    """Whether the tree admits no row for which the predicate is not true."""
    if isinstance(tree, (AllOf, AnyOf)):
        return all(is_exact(child) for child in tree.children)
    return not isinstance(tree, Unknown)


def column_domain_of(tree: Tree) -> ColumnDomain:
    """The tree as RFC-58's domains by column: every row it admits meets them, perhaps others do too."""
    if isinstance(tree, Never):
        return ColumnDomain.none()
    if isinstance(tree, Constraint) and not tree.term.is_expression:
        return ColumnDomain({tree.term.text: tree.domain})
    if isinstance(tree, AllOf):
        met: dict[str, Domain] = {}
        for child in tree.children:
            for column, domain in column_domain_of(child).domains.items():
                met[column] = met[column].intersection(domain) if column in met else domain
        return ColumnDomain.none() if any(domain.is_empty for domain in met.values()) else ColumnDomain(met)
    if isinstance(tree, AnyOf):
        branches = [column_domain_of(child).domains for child in tree.children]
        shared = [column for column in branches[0] if all(column in branch for branch in branches)]
        return ColumnDomain({column: _united([branch[column] for branch in branches]) for column in shared})
    return ColumnDomain()


def tree_of_domains(column_domain: ColumnDomain) -> Tree:
    """The tree of an engine that brings domains instead of a predicate (RFC-58)."""
    if column_domain.is_none:
        return Never()
    return _all_of(Constraint(Term(column), domain) for column, domain in column_domain.domains.items())
