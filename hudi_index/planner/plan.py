"""From a predicate to the file slices that have to be read, without a JVM.

Every constraint on a term is put to the indexes that answer it; each answer is a set of file groups proven to
hold no matching row. Sets compose in one place: AND is union, OR is intersection, what nobody answers is the
empty set. Bitmaps compose per row before that, so `a = 1 AND b = 2` refutes a file group that has both, on
different rows. Values of partition columns that the path says decide file groups that no index covers as
well.

Cheap evidence comes first: the whole tree is asked tier by tier, and a look-up that can't pay any more for
the file groups that are left is not made (`cost`). An index that can't be read refutes nothing; the plan says
why.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Protocol

import numpy as np

from hudi_index.arguments import check_list_of_texts
from hudi_index.catalog import Catalog
from hudi_index.errors import InvalidOptionError, UnknownColumnError, WrongTypeError
from hudi_index.jobs import timed
from hudi_index.kind_specs import Tier
from hudi_index.planner.lookups import Lookups
from hudi_index.planner.scan_plan import Answer, ScanPlan, condition_text
from hudi_index.planner.usable import IndexLook, UsableIndexes
from hudi_index.predicate import (
    AllOf,
    AnyOf,
    ColumnDomain,
    Constraint,
    Never,
    Session,
    Unknown,
    bind,
    fold,
    leaves_of,
    parse_predicate,
    tree_of,
    tree_of_domains,
    with_expressions,
)
from hudi_index.predicate.calendar import STORED
from hudi_index.side_by_side import side_by_side
from hudi_index.table import Snapshot, UnreadablePartitionValueError
from hudi_index.table.types import sql_schema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from pyroaring import BitMap

    from hudi_index.coverage.covered import Mask
    from hudi_index.metadata_table import MetadataTable
    from hudi_index.predicate import BoundTerm, Calendar, Leaf, Schema, Tree
    from hudi_index.predicate.expression import Expression
    from hudi_index.storage import Storage
    from hudi_index.table import TableConfig

__all__ = ["Answer", "Conditions", "ScanPlan", "files_to_query", "plan"]

Rows = dict[int, "BitMap"]
"""By place of a file group the rows that may match; all may in a file group that is not here."""


class Conditions(Protocol):
    """What a query asks that is no text: Catalyst's filters, or Arrow's."""

    @property
    def text(self) -> str:
        """For people."""

    @property
    def session(self) -> Session:
        """What gives it its meaning."""

    def bound(self, schema: Schema, expressions: Mapping[str, BoundTerm], /) -> Expression:
        """What it asks of a table's rows, and of indexed expressions by the keys of their trees."""


def plan(
    metadata_table: MetadataTable,
    storage: Storage,
    predicate: str | Conditions,
    *,
    as_of: str | None = None,
    time_zone: str = "UTC",
    session: Session | None = None,
    snapshot: Snapshot | None = None,
    known: Snapshot | None = None,
    expected: TableConfig | None = None,
    catalog: Catalog | None = None,
    only: Collection[str] | None = None,
    calendar: Calendar = STORED,
) -> ScanPlan:
    """The slices that may hold rows for which the predicate is true.

    Args:
        metadata_table: Of that table; kept between plans, it remembers what it read.
        storage: The table.
        predicate: Spark SQL, as Spark understands it with its default settings; or the filters of a scan,
            which bring their own session.
        as_of: The instant to read at, the latest if None.
        time_zone: That of the local times in a text.
        session: What else gives a text its meaning, instead of its time zone alone.
        snapshot: The table as it is read, if that is decided already.
        known: The table as it was seen before: used again if it is still so.
        expected: The table's properties as they were last seen, if there is no `known`.
        catalog: Of that table; kept between plans, it remembers what it read.
        only: The indexes to ask, by name, also where that costs more than it saves; all that pay if None.
        calendar: How whoever reads the slices takes old dates and timestamps.

    Raises:
        NoSuchIndexError: `only` names an index that there is not.
        PredicateSyntaxError: it does not parse.
        UnknownColumnError: it names a column that the table does not have.
    """
    seconds: dict[str, float] = {}
    if not isinstance(predicate, str):
        session = predicate.session
    session = session or Session.of_text(time_zone)
    with timed(seconds, "snapshot"):
        seen, look = side_by_side(
            lambda: snapshot or Snapshot.load(storage, as_of, known=known, expected=expected),
            lambda: IndexLook(catalog or Catalog(storage), metadata_table),
            is_local=storage.is_local,
        )
    with timed(seconds, "coverage"):
        schema = sql_schema(seen.schema_with_meta_columns)
        indexes = UsableIndexes.of(seen, look, schema, session=session, only=only, calendar=calendar)
    with timed(seconds, "predicate"):
        if isinstance(predicate, str):
            text = predicate
            schema = with_expressions(schema, indexes.expression_types, indexes.expression_names)
            parsed = parse_predicate(text, time_zone=session.zone)
            condition = bind(parsed, schema)
            rows = _of_columns(parsed, condition, schema)
        else:
            text, condition = predicate.text, predicate.bound(schema, indexes.expression_trees)
            rows = condition
        tree = calendar.widen(tree_of(condition, time_zone=session.zone))
    with timed(seconds, "indexes"):
        found = _plan_tree(text, tree, seen, Lookups(indexes, seen.slices, calendar))
    return replace(found, condition=rows, time_zone=session.zone, unusable=indexes.unusable, seconds=seconds)


def _of_columns(parsed: Expression, bound: Expression, schema: Schema) -> Expression:
    """A predicate as whoever has the rows asks it: of columns, whatever expressions are indexed."""
    try:
        return bind(parsed, replace(schema, expressions={}, names={}))
    except UnknownColumnError:
        # It calls an expression by the name of its index.
        return bound


def files_to_query(
    metadata_table: MetadataTable,
    storage: Storage,
    columns: Sequence[str],
    column_domain: ColumnDomain,
    *,
    as_of: str | None = None,
) -> list[str]:
    """RFC-58: the files that may hold rows whose `columns` are all in their domains, relative to the table.

    Raises:
        UnknownColumnError: a column that the table does not have.
        InvalidOptionError: a domain whose values are not of the column's type.
    """
    if not isinstance(column_domain, ColumnDomain):
        raise WrongTypeError(option="column_domain", value=column_domain, expected="a ColumnDomain")
    if isinstance(columns, str):
        raise InvalidOptionError(option="columns", value=columns, reason="expected a list of column names")
    columns = check_list_of_texts("columns", columns)
    chosen = column_domain
    if not column_domain.is_none:
        domains = {name: column_domain.domains.get(name) for name in columns}
        chosen = ColumnDomain({name: domain for name, domain in domains.items() if domain is not None})
    snapshot, look = side_by_side(
        lambda: Snapshot.load(storage, as_of),
        lambda: IndexLook(Catalog(storage), metadata_table),
        is_local=storage.is_local,
    )
    schema = sql_schema(snapshot.schema_with_meta_columns)
    for name in columns:
        if schema.look_up(tuple(name.split("."))) is None:
            raise UnknownColumnError(column=name, known=schema.paths())
    _check_domains(chosen, schema)
    indexes = UsableIndexes.of(snapshot, look, schema, session=Session.of_text("UTC"))
    tree = tree_of_domains(chosen)
    return _plan_tree(_text_of(chosen), tree, snapshot, Lookups(indexes, snapshot.slices)).files


def _plan_tree(text: str, tree: Tree, snapshot: Snapshot, lookups: Lookups) -> ScanPlan:
    planner = _Planner(snapshot, lookups)
    refuted, rows = planner.decide(tree)
    positions = np.flatnonzero(~refuted)
    slices = [snapshot.slices[position] for position in positions.tolist()]
    matching = {snapshot.slices[each].group: found for each, found in rows.items() if not refuted[each]}
    return ScanPlan(
        snapshot,
        text,
        slices,
        positions,
        lookups.covered,
        lookups.coverage,
        lookups.answers,
        unknown=list(planner.unknown_parts(tree)),
        rows=matching,
    )


def _text_of(column_domain: ColumnDomain) -> str:
    if column_domain.is_none:
        return "no row"
    return " AND ".join(f"{name} in {condition_text(each)}" for name, each in column_domain.domains.items())


def _check_domains(column_domain: ColumnDomain, schema: Schema) -> None:
    for name, domain in column_domain.domains.items():
        column = schema.look_up(tuple(name.split(".")))
        if column is None or column.path != name:
            raise UnknownColumnError(column=name, known=schema.paths())
        for value in (marker.value for each in domain.ranges for marker in (each.low, each.high)):
            if value is not None and not column.type.holds(value):
                raise InvalidOptionError(
                    option=f"domain of {name}",
                    value=repr(value),
                    reason=f"the column is of type {column.type}",
                )


class _Planner:
    """Puts constraints to indexes and composes what they answer."""

    def __init__(self, snapshot: Snapshot, lookups: Lookups) -> None:
        self._snapshot, self._lookups = snapshot, lookups
        self._count = len(snapshot.slices)

    def decide(self, tree: Tree) -> tuple[Mask, Rows]:
        """The file groups that hold no row for which the tree is true, and the rows that indexes leave."""
        for leaf in leaves_of(tree):
            if isinstance(leaf, Constraint):
                self._by_partition_values(leaf)
        left = ~self._refute(tree)[0]
        for tier in Tier:
            self._ask(tree, left, tier)
            left = ~self._refute(tree)[0]
        return self._refute(tree)

    def unknown_parts(self, tree: Tree) -> Iterator[str]:
        """The parts of a tree that no index could be asked about, with the reason."""
        for leaf in leaves_of(tree):
            if isinstance(leaf, Unknown):
                yield f"{leaf.text}: {leaf.reason}"
            elif isinstance(leaf, Constraint) and leaf.domain is None and self._lookups.is_for_no_index(leaf):
                wanted = f"{leaf.term.text} {condition_text(leaf.condition)}"
                yield f"{wanted}: no index answers such a condition on {leaf.term.text}"

    def _refute(self, tree: Tree) -> tuple[Mask, Rows]:
        """What the evidence so far refutes. A file group without a matching row counts as refuted."""
        return fold(tree, self._leaf, self._all_of, lambda _, parts: reduce(_either, parts))

    def _leaf(self, leaf: Leaf) -> tuple[Mask, Rows]:
        if isinstance(leaf, Constraint):
            return self._lookups.evidence(leaf)
        return np.full(self._count, isinstance(leaf, Never)), {}

    def _all_of(self, tree: AllOf, children: list[tuple[Mask, Rows]]) -> tuple[Mask, Rows]:
        parts = [self._lookups.evidence(tree), *children]
        refuted = reduce(np.logical_or, (mask for mask, _ in parts))
        rows = reduce(_both, (rows for _, rows in parts))
        return _without_rows(refuted, rows), rows

    def _ask(self, tree: Tree, left: Mask, tier: Tier) -> None:
        """Asks the indexes of a tier, for the file groups that an answer can still change.

        No fold: what a child is asked depends on what its elder siblings answered.
        """
        if isinstance(tree, Constraint):
            self._lookups.ask(tree, left, tier)
        elif isinstance(tree, AllOf):
            self._lookups.ask_together(tree, left, tier)
            for child in tree.children:
                self._ask(child, left, tier)
                left = left & ~self._refute(child)[0]
        elif isinstance(tree, AnyOf):
            for child in tree.children:
                self._ask(child, left, tier)
                if tier is max(Tier):
                    # What this side needs is read anyway. Not before: rows of bitmaps still meet others.
                    left = left & self._refute(child)[0]

    def _by_partition_values(self, constraint: Constraint) -> None:
        """File groups whose partition path says that the value is none that meets the constraint."""
        name, partitions = constraint.term.text, self._snapshot.shape.partitions
        if constraint.term.is_expression or name not in partitions.from_path:
            return
        paths, positions = self._snapshot.partition_positions
        refused = np.zeros(len(paths), np.bool_)
        for number, path in enumerate(paths):
            with suppress(UnreadablePartitionValueError):
                refused[number] = not constraint.contains(partitions.values_of(path)[name].as_py())
        self._lookups.record(constraint, refused[positions])


def _without_rows(refuted: Mask, rows: Rows) -> Mask:
    empty = [position for position, found in rows.items() if not found]
    if empty:
        refuted = refuted.copy()
        refuted[empty] = True
    return refuted


def _both(one: Rows, other: Rows) -> Rows:
    """Rows that may meet both: what one side can't tell, the other decides."""
    found = {**one, **other}
    for position in one.keys() & other.keys():
        found[position] = one[position] & other[position]
    return found


def _either(one: tuple[Mask, Rows], other: tuple[Mask, Rows]) -> tuple[Mask, Rows]:
    """Rows that may meet either: only where both sides can tell, or one has none."""
    (mask, rows), (more, others) = one, other
    found: Rows = {}
    for position in rows.keys() | others.keys():
        if position in rows and position in others:
            found[position] = rows[position] | others[position]
        elif position in rows and more[position]:
            found[position] = rows[position]
        elif position in others and mask[position]:
            found[position] = others[position]
    return mask & more, found
