"""What the planner sees of a predicate: constraints, joined by AND and OR.

    AllOf(children)  AnyOf(children)  Constraint(term, condition)  Unknown(text, reason)  Always  Never

Domains of one term are merged: AND intersects, OR unites. Invariant: a row for which the predicate is true is
admitted; without an Unknown in the tree, no other row is. `fold` is the only recursion over a tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from hudi_index.predicate.expression import Unknown
from hudi_index.predicate.values.condition import Constraint, Term
from hudi_index.predicate.values.domain import ColumnDomain, Domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

__all__ = [
    "AllOf",
    "Always",
    "AnyOf",
    "Leaf",
    "Never",
    "Tree",
    "admits",
    "all_of",
    "any_of",
    "constraint_of",
    "fold",
    "is_exact",
    "leaves_of",
    "tree_of_domains",
]

T = TypeVar("T")


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


Leaf: TypeAlias = Constraint | Unknown | Always | Never
Tree: TypeAlias = AllOf | AnyOf | Leaf


def fold(
    tree: Tree,
    leaf: Callable[[Leaf], T],
    all_of: Callable[[AllOf, list[T]], T],
    any_of: Callable[[AnyOf, list[T]], T],
) -> T:
    """What a tree comes to, from its leaves up.

    Args:
        tree: What is asked.
        leaf: What a leaf comes to.
        all_of: What a conjunction comes to, of what its children came to.
        any_of: The same for a disjunction.
    """
    if isinstance(tree, AllOf):
        return all_of(tree, [fold(child, leaf, all_of, any_of) for child in tree.children])
    if isinstance(tree, AnyOf):
        return any_of(tree, [fold(child, leaf, all_of, any_of) for child in tree.children])
    return leaf(tree)


def leaves_of(tree: Tree) -> Iterator[Leaf]:
    """The leaves from left to right."""
    found: list[Leaf] = fold(tree, lambda leaf: [leaf], _join, _join)
    return iter(found)


def _join(_: Tree, parts: list[list[Leaf]]) -> list[Leaf]:
    return [leaf for part in parts for leaf in part]


def constraint_of(constraint: Constraint) -> Tree:
    """A constraint, or what it comes to if every value meets it or none does."""
    domain = constraint.domain
    if domain is None:
        return constraint
    if domain.is_empty:
        return Never()
    return Always() if domain.is_all else constraint


def all_of(children: Iterable[Tree]) -> Tree:
    """What admits the rows that each child admits."""
    domains: dict[Term, Domain] = {}
    others: dict[Tree, None] = {}
    for child in _flat(children, AllOf):
        if isinstance(child, Constraint) and child.domain is not None:
            known = domains.get(child.term)
            domains[child.term] = child.domain if known is None else known.intersection(child.domain)
        else:
            others[child] = None
    merged = [constraint_of(Constraint(term, domain)) for term, domain in domains.items()]
    kept = tuple(child for child in (*merged, *others) if not isinstance(child, Always))
    if any(isinstance(child, Never) for child in kept):
        return Never()
    if not kept:
        return Always()
    return kept[0] if len(kept) == 1 else AllOf(kept)


def any_of(children: Iterable[Tree]) -> Tree:
    """What admits the rows that some child admits."""
    domains: dict[Term, list[Domain]] = {}
    others: dict[Tree, None] = {}
    for child in _flat(children, AnyOf):
        if isinstance(child, Constraint) and child.domain is not None:
            domains.setdefault(child.term, []).append(child.domain)
        else:
            others[child] = None
    merged = [constraint_of(Constraint(term, _unite(found))) for term, found in domains.items()]
    kept = tuple(child for child in (*merged, *others) if not isinstance(child, Never))
    for decisive in (Always, Unknown):
        # Beside an Unknown, no constraint can refute anything.
        if found := [child for child in kept if isinstance(child, decisive)]:
            return found[0]
    if not kept:
        return Never()
    return kept[0] if len(kept) == 1 else AnyOf(kept)


def _flat(children: Iterable[Tree], junction: type[AllOf | AnyOf]) -> Iterator[Tree]:
    """Children, those of a child of the same sort in its place."""
    pending = list(children)[::-1]
    while pending:
        child = pending.pop()
        if isinstance(child, (AllOf, AnyOf)) and isinstance(child, junction):
            pending.extend(reversed(child.children))
        else:
            yield child


def _unite(domains: list[Domain]) -> Domain:
    ranges = (one for domain in domains for one in domain.ranges)
    return Domain.of(ranges, has_null=any(domain.has_null for domain in domains))


def admits(tree: Tree, value_of: Callable[[Term], Any]) -> bool:
    """Whether a row may match, given its values by term (None is null)."""

    def leaf(each: Leaf) -> bool:
        if isinstance(each, Constraint):
            return each.contains(value_of(each.term))
        return not isinstance(each, Never)

    return fold(tree, leaf, lambda _, parts: all(parts), lambda _, parts: any(parts))


def is_exact(tree: Tree) -> bool:
    """Whether the tree admits no row for which the predicate is not true."""
    return not any(isinstance(leaf, Unknown) for leaf in leaves_of(tree))


def tree_of_domains(column_domain: ColumnDomain) -> Tree:
    """The tree of an engine that brings domains instead of a predicate (RFC-58)."""
    if column_domain.is_none:
        return Never()
    return all_of(Constraint(Term(column), domain) for column, domain in column_domain.domains.items())
