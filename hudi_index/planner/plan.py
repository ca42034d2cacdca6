"""From a predicate to the file slices that have to be read, without a JVM.

Every constraint on a term is put to the indexes that answer it; each answer is a set of file groups proven to
hold no matching row. Sets compose in one place: AND is union, OR is intersection, what nobody answers is the
empty set. Bitmaps compose per row before that, so `a = 1 AND b = 2` refutes a file group that has both, on
different rows. Values of partition columns that the path says decide file groups that no index covers as
well.

An index that can't be read refutes nothing; the plan says why.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.errors import CorruptError
from hudi_index.kinds.bitmap import Bitmap
from hudi_index.planner.coverage import Coverage
from hudi_index.predicate import AllOf, Always, AnyOf, Constraint, Never, constraints_of, with_expressions
from hudi_index.table import Snapshot, UnreadablePartitionValueError
from hudi_index.table.terms import sql_schema

if TYPE_CHECKING:
    from pyroaring import BitMap

    from hudi_index.metadata_table import MetadataTable
    from hudi_index.planner.coverage import UsableIndex
    from hudi_index.predicate import Tree
    from hudi_index.storage import Storage
    from hudi_index.table import FileGroupId, FileSlice

__all__ = ["Answer", "ScanPlan", "plan"]

Groups = frozenset["FileGroupId"]
Rows = dict["FileGroupId", "BitMap | None"]
"""By covered file group the rows that may match, None where all may."""


@dataclass(frozen=True)
class Answer:
    """What one index said to one constraint."""

    index: str
    constraint: str
    refuted: int
    reason: str | None = None
    """Why it said nothing."""


@dataclass
class ScanPlan:
    """Which slices a query reads, and why not fewer."""

    snapshot: Snapshot
    predicate: str
    slices: list[FileSlice]
    """What is read."""
    covered: int
    """File groups that the indexes describe as they are."""
    answers: list[Answer] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    """Parts of the predicate that no index could be asked about."""

    @property
    def total(self) -> int:
        """File groups of the table."""
        return len(self.snapshot.slices)

    @property
    def kept(self) -> int:
        """File groups that are read."""
        return len(self.slices)

    @property
    def files(self) -> list[str]:
        """The files to read, relative to the table."""
        return [path for piece in self.slices for path in piece.paths]

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "predicate": self.predicate,
            "file_groups": self.total,
            "file_groups_covered": self.covered,
            "file_groups_read": self.kept,
            "bytes": sum(piece.size for piece in self.snapshot.slices),
            "bytes_read": sum(piece.size for piece in self.slices),
            "files": self.files,
            "answers": [vars(answer) for answer in self.answers],
            "unusable": self.unusable,
            "unknown": self.unknown,
        }

    def explain(self) -> str:
        """The plan for people."""
        facts = self.as_dict()
        lines = [f"predicate     {self.predicate}"]
        lines += [f"file groups   {self.kept} read of {self.total}, {self.covered} covered by indexes"]
        lines += [f"bytes         {facts['bytes_read']} read of {facts['bytes']}"]
        for answer in self.answers:
            said = answer.reason or f"refuted {answer.refuted} file groups"
            lines.append(f"asked         {answer.index}: {answer.constraint}: {said}")
        lines += [f"not asked     {name}: {reason}" for name, reason in self.unusable.items()]
        lines += [f"not used      {text}" for text in self.unknown]
        return "\n".join(lines)


def plan(
    metadata_table: MetadataTable,
    storage: Storage,
    predicate: str,
    *,
    as_of: str | None = None,
    time_zone: str = "UTC",
) -> ScanPlan:
    """The slices that may hold rows for which the predicate is true.

    Args:
        metadata_table: Of that table; kept between plans, it remembers what it read.
        storage: The table.
        predicate: Spark SQL.
        as_of: The instant to read at, the latest if None.
        time_zone: The session's, for timestamps in the predicate.

    Raises:
        PredicateSyntaxError: it does not parse.
        UnknownColumnError: it names a column that the table does not have.
    """
    snapshot = Snapshot.load(storage, as_of)
    schema = sql_schema(snapshot.schema_with_meta_columns)
    coverage = Coverage.of(snapshot, metadata_table, schema, time_zone=time_zone)
    schema = with_expressions(schema, coverage.expression_types, coverage.expression_names)
    tree = constraints_of(predicate, schema, time_zone=time_zone)
    planner = _Planner(snapshot, coverage)
    refuted = planner.refuted(tree)
    slices = [piece for piece in snapshot.slices if piece.group not in refuted]
    return ScanPlan(
        snapshot,
        predicate,
        slices,
        len(coverage.covered),
        planner.answers,
        coverage.unusable,
        planner.unknown,
    )


class _Planner:
    """Puts constraints to indexes and composes what they say."""

    def __init__(self, snapshot: Snapshot, coverage: Coverage) -> None:
        self._snapshot, self._coverage = snapshot, coverage
        self._all: Groups = frozenset(piece.group for piece in snapshot.slices)
        self.answers: list[Answer] = []
        self.unknown: list[str] = []

    def refuted(self, tree: Tree) -> Groups:
        """The file groups that hold no row for which the tree is true."""
        groups, rows = self._refuted(tree)
        return groups | _without_rows(rows)

    def _refuted(self, tree: Tree) -> tuple[Groups, Rows]:
        """What is refuted whatever rows match, and the rows that bitmaps leave."""
        if isinstance(tree, Never):
            return self._all, {}
        if isinstance(tree, Always):
            return frozenset(), {}
        if isinstance(tree, Constraint):
            return self._asked(tree)
        if isinstance(tree, AllOf):
            parts = [self._refuted(child) for child in tree.children]
            groups: Groups = frozenset().union(*(groups for groups, _ in parts))
            return groups, reduce(_both, (rows for _, rows in parts))
        if isinstance(tree, AnyOf):
            parts = [self._refuted(child) for child in tree.children]
            # A group that one side refutes by its rows counts as refuted there.
            sides = [groups | _without_rows(rows) for groups, rows in parts]
            return frozenset.intersection(*sides), reduce(_either, (rows for _, rows in parts))
        self.unknown.append(f"{tree.text}: {tree.reason}")
        return frozenset(), {}

    def _asked(self, constraint: Constraint) -> tuple[Groups, Rows]:
        refuted = self._by_partition_values(constraint)
        rows: Rows = {}
        for index in self._coverage.indexes:
            found, matching = self._answer(index, constraint)
            refuted |= found
            rows = _both(rows, matching)
        return refuted, rows

    def _by_partition_values(self, constraint: Constraint) -> Groups:
        """File groups whose partition path says that the value is none of the wanted."""
        name, partitions = constraint.term.text, self._snapshot.shape.partitions
        if constraint.term.is_expression or name not in partitions.from_path:
            return frozenset()
        refused = set()
        for path in {group.partition_path for group in self._all}:
            try:
                value = partitions.values_of(path)[name].as_py()
            except UnreadablePartitionValueError:
                continue
            if not constraint.domain.contains(value):
                refused.add(path)
        return frozenset(group for group in self._all if group.partition_path in refused)

    def _answer(self, index: UsableIndex, constraint: Constraint) -> tuple[Groups, Rows]:
        asked = Constraint(index.terms.get(constraint.term, constraint.term), constraint.domain)
        lookup = index.kind.lookup(asked)
        reader, covered = self._coverage.reader, list(self._coverage.covered.values())
        if lookup is None or reader is None:
            return frozenset(), {}
        text = str(constraint.term.text)
        try:
            sharded = [(part, wanted) for part, wanted in lookup.ranges if part is not None]
            anywhere = [wanted for part, wanted in lookup.ranges if part is None]
            entries = reader.lookup_sharded(index.kind.partition, sharded, columns=lookup.columns)
            if anywhere:
                more = reader.lookup(index.kind.partition, anywhere, columns=lookup.columns)
                entries = pa.concat_tables([entries, more])
            found = index.kind.prune(asked, entries, covered)
        except CorruptError as error:
            self.answers.append(Answer(index.name, text, 0, f"it can't be read: {error}"))
            return frozenset(), {}
        rows = index.kind.positions(asked, entries, covered) if isinstance(index.kind, Bitmap) else {}
        self.answers.append(Answer(index.name, text, len(found)))
        return found, rows


def _without_rows(rows: Rows) -> Groups:
    return frozenset(group for group, found in rows.items() if found is not None and not found)


def _both(one: Rows, other: Rows) -> Rows:
    """Rows that may meet both: what one side can't tell, the other decides."""
    found = dict(one)
    for group, rows in other.items():
        known = found.get(group)
        found[group] = rows if known is None else known if rows is None else known & rows
    return found


def _either(one: Rows, other: Rows) -> Rows:
    """Rows that may meet either: only where both sides can tell."""
    found: Rows = {}
    for group, rows in one.items():
        more = other.get(group)
        if rows is not None and more is not None:
            found[group] = rows | more
    return found
