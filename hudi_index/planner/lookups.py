"""Questions to indexes: which look-up answers a constraint, whether it pays, and what it said.

A constraint may reach an index in three ways: as it is; over the column that its expression follows from; or
as what it means for the expression that the index is over. In each case everything that matches the
constraint matches what is asked, so what is refuted is refuted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_index.entries.schema import KEY
from hudi_index.kinds import Bitmap, BloomFilters, ColumnStats, PartitionStats, RecordIndex, SecondaryIndex
from hudi_index.kinds._numbers import numbers_in
from hudi_index.planner.cost import look_up_cost, pays, reading_cost
from hudi_index.planner.scan_plan import Answer, condition_text
from hudi_index.planner.usable import FIRST_WEIGHED_TIER, READ_ERRORS
from hudi_index.predicate import AllOf, Constraint
from hudi_index.predicate.calendar import STORED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyroaring import BitMap

    from hudi_index.coverage.covered import Mask
    from hudi_index.kinds.protocol import IndexKind, Lookup
    from hudi_index.planner.usable import Coverage, UsableIndex
    from hudi_index.predicate import Calendar

__all__ = ["Asking"]

_MOST_TESTS = 5_000_000
"""Values times filters that a look-up of Bloom filters may test."""


class Asking:
    """Asks, and remembers what was said to which part of the predicate."""

    def __init__(self, coverage: Coverage, calendar: Calendar = STORED) -> None:
        self._coverage, self._calendar = coverage, calendar
        self._covered = coverage.covered
        self._count = len(self._covered.slices)
        self._masks: dict[AllOf | Constraint, Mask] = {}
        self._rows: dict[AllOf | Constraint, dict[int, BitMap]] = {}
        self._joint: set[tuple[str, Constraint]] = set()
        self.answers: list[Answer] = []

    @property
    def covered(self) -> int:
        """How many file groups the indexes describe."""
        return len(self._covered)

    def evidence(self, part: AllOf | Constraint) -> tuple[Mask, dict[int, BitMap]]:
        """The file groups proven to hold no row for a part of the predicate, and the rows that may match."""
        mask = self._masks.get(part)
        return np.zeros(self._count, np.bool_) if mask is None else mask, self._rows.get(part, {})

    def note(self, part: AllOf | Constraint, refuted: Mask) -> None:
        """Add to the evidence."""
        known = self._masks.get(part)
        self._masks[part] = refuted if known is None else known | refuted

    def ask(self, constraint: Constraint, left: Mask, tier: int) -> None:
        """Put a constraint to the indexes of a tier, for the file groups that are left."""
        for index in self._coverage.indexes:
            if index.tier == tier and (index.name, constraint) not in self._joint:
                self._ask(index, constraint, left & ~self.evidence(constraint)[0])

    def ask_together(self, part: AllOf, left: Mask, tier: int) -> None:
        """Put several constraints at once to an index over several columns."""
        given = [child for child in part.children if isinstance(child, Constraint)]
        for index in self._coverage.indexes:
            kind = index.kind
            if index.tier != tier or not isinstance(kind, SecondaryIndex) or len(kind.sources) < 2:
                continue
            terms = [source.term for source in kind.sources]
            fitting = [child for child in given if child.term in terms]
            lookup = kind.lookup_all(fitting) if len(fitting) > 1 else None
            if lookup is None:
                continue
            text = " AND ".join(child.term.text for child in fitting)
            answer = Answer(
                index.name, text, 0, wanted="; ".join(condition_text(c.condition) for c in fitting)
            )
            entries = self._read(index, lookup, left, answer)
            self._joint.update((index.name, child) for child in fitting)
            if entries is not None:
                self._said(part, answer, self._without_entry(entries) & left)

    def _ask(self, index: UsableIndex, constraint: Constraint, left: Mask) -> None:
        asked = self._form_for(index, constraint)
        if asked is None:
            return
        index_kind = index.kind
        if isinstance(index_kind, RecordIndex) and index_kind.is_partitioned:
            paths = {
                self._covered.slices[place].group.partition_path for place in np.flatnonzero(left).tolist()
            }
            index_kind = index_kind.within(paths)
        lookup = index_kind.lookup(asked)
        if lookup is None:
            return
        answer = Answer(index.name, constraint.term.text, 0, wanted=condition_text(asked.condition))
        values = len(asked.domain.ranges) if asked.domain else 0
        tests = values * int(left.sum()) if isinstance(index_kind, BloomFilters) else 0
        if tests > _MOST_TESTS:
            self._refuse(answer, f"{tests} tests of filters are too many")
            return
        entries = self._read(index, lookup, left, answer)
        if entries is None:
            return
        try:
            found = self._pruned(index_kind, asked, entries, left)
            if isinstance(index_kind, Bitmap):
                self._note_rows(index_kind, constraint, asked, entries, left & ~found)
        except READ_ERRORS as error:
            self.answers.append(_with_reason(answer, f"it can't be read: {error}"))
            return
        self._said(constraint, answer, found & left)

    def _pruned(
        self, kind: IndexKind | PartitionStats, asked: Constraint, entries: pa.Table, left: Mask
    ) -> Mask:
        if isinstance(kind, ColumnStats):
            return self._covered.mask(kind.refuted_rows(asked, entries, self._covered.owners))
        if isinstance(kind, SecondaryIndex):
            return self._without_entry(entries)
        if isinstance(kind, PartitionStats):
            # They speak of all file groups of a partition or of none.
            rows = kind.refuted_rows(asked, entries, self._covered.owners, self._covered.row_counts)
            return self._covered.mask(rows)
        found = kind.prune(asked, entries, self._covered.groups_in(left))
        return self._covered.mask_of(found, left)

    def _form_for(self, index: UsableIndex, constraint: Constraint) -> Constraint | None:
        """What an index is asked so that nothing which meets the constraint is refuted."""
        direct = Constraint(index.terms.get(constraint.term, constraint.term), constraint.condition)
        if index.kind.lookup(direct) is not None or isinstance(index.kind, RecordIndex):
            return direct
        domain = constraint.domain
        if domain is None:
            return None
        if index.derived is not None and index.derived.column == constraint.term:
            values = index.derived.of_column(domain)
            if values is not None:
                own = next(iter(index.terms.values()))
                return Constraint(own, values)
            reason = index.derived.reason_against or "its values may be any"
            self._refuse(Answer(index.name, constraint.term.text, 0), reason)
        elif constraint.term.is_expression and not index.terms:
            derived = self._coverage.derivations.get(constraint.term)
            found = derived.of_expression(domain) if derived else None
            if found is not None:
                found = self._calendar.widened_constraint(found)
            return found if found is not None and index.kind.lookup(found) is not None else None
        return None

    def _read(self, index: UsableIndex, lookup: Lookup, left: Mask, answer: Answer) -> pa.Table | None:
        """The entries, if reading them pays and works."""
        reader = self._coverage.reader
        places: Sequence[int] = self._covered.places[left[self._covered.places]].tolist()
        if reader is None or not places:
            self._refuse(answer, "no file group that it describes is left")
            return None
        is_weighed = index.tier >= FIRST_WEIGHED_TIER and self._coverage.only is None
        if is_weighed and (reason := self._reason_against(index, lookup, places)):
            self._refuse(answer, reason)
            return None
        try:
            sharded = [(part, wanted) for part, wanted in lookup.ranges if part is not None]
            anywhere = [wanted for part, wanted in lookup.ranges if part is None]
            entries = reader.lookup_sharded(index.kind.partition, sharded, columns=lookup.columns)
            if anywhere:
                more = reader.lookup(index.kind.partition, anywhere, columns=lookup.columns)
                entries = pa.concat_tables([entries, more])
        except READ_ERRORS as error:
            self.answers.append(_with_reason(answer, f"it can't be read: {error}"))
            return None
        return entries

    def _reason_against(self, index: UsableIndex, lookup: Lookup, places: Sequence[int]) -> str | None:
        """Why a look-up can't pay; None if it can."""
        reader = self._coverage.reader
        cost = look_up_cost(reader, index.kind.partition, lookup) if reader else 0
        saving = 0
        for place in places:
            saving += reading_cost([self._covered.slices[place]])
            if pays(cost, saving):
                # Enough: the others need not be added up.
                return None
        return f"it would cost {cost} bytes to ask, {saving} to read the {len(places)} file groups left"

    def _without_entry(self, entries: pa.Table) -> Mask:
        return self._covered.mask(~np.isin(self._covered.numbers, numbers_in(entries.column(KEY))))

    def _note_rows(
        self, kind: Bitmap, constraint: Constraint, asked: Constraint, entries: pa.Table, left: Mask
    ) -> None:
        found = kind.positions(asked, entries, self._covered.groups_in(left))
        places = {self._covered.slices[place].group: place for place in np.flatnonzero(left).tolist()}
        known = self._rows.setdefault(constraint, {})
        for group, rows in found.items():
            if rows is not None:
                place = places[group]
                known[place] = known[place] & rows if place in known else rows

    def _said(self, part: AllOf | Constraint, answer: Answer, refuted: Mask) -> None:
        self.note(part, refuted)
        self.answers.append(Answer(answer.index, answer.constraint, int(refuted.sum()), wanted=answer.wanted))

    def _refuse(self, answer: Answer, reason: str) -> None:
        self.answers.append(
            Answer(answer.index, answer.constraint, 0, reason, is_asked=False, wanted=answer.wanted)
        )


def _with_reason(answer: Answer, reason: str) -> Answer:
    return Answer(answer.index, answer.constraint, 0, reason, wanted=answer.wanted)
