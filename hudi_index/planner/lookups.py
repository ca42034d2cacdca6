"""Look-ups in indexes: which question answers a constraint, whether it pays, and what was answered.

A constraint may reach an index in three ways: as it is; over the column that its expression follows from; or
as what it means for the expression that the index is over. In each case everything that matches the
constraint matches what is asked, so what is refuted is refuted.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from pyroaring import BitMap

from hudi_index.coverage.covered import Candidates
from hudi_index.kind_parts.foreign import failure_text
from hudi_index.kind_parts.protocol import Question, RowQuestion
from hudi_index.planner.cost import look_up_cost, pays, reading_cost
from hudi_index.planner.scan_plan import Answer, condition_text
from hudi_index.planner.usable import READ_ERRORS
from hudi_index.predicate import AllOf, Constraint
from hudi_index.predicate.calendar import STORED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.coverage.covered import Covered, Mask
    from hudi_index.kind_parts.protocol import TogetherAnswering
    from hudi_index.kind_specs import Tier
    from hudi_index.planner.usable import UsableIndex, UsableIndexes
    from hudi_index.predicate import Calendar
    from hudi_index.table import FileSlice

__all__ = ["Lookups"]

log = logging.getLogger(__name__)

_MOST_TESTS = 5_000_000
"""Values that a look-up may test entry by entry."""


class Lookups:
    """Asks indexes, and remembers what they answered to which part of the predicate."""

    def __init__(
        self, indexes: UsableIndexes, slices: Sequence[FileSlice], calendar: Calendar = STORED
    ) -> None:
        self._indexes, self._slices, self._calendar = indexes, slices, calendar
        self._covered = indexes.covered
        self._masks: dict[AllOf | Constraint, Mask] = {}
        self._rows: dict[AllOf | Constraint, dict[int, BitMap]] = {}
        self._joint: set[tuple[str, Constraint]] = set()
        self._asked: set[Constraint] = set()
        self.answers: list[Answer] = []

    @property
    def covered(self) -> int:
        """How many file groups the indexes describe."""
        return len(self._covered)

    @property
    def coverage(self) -> Covered:
        """Those file groups."""
        return self._covered

    def evidence(self, part: AllOf | Constraint) -> tuple[Mask, dict[int, BitMap]]:
        """The file groups proven to hold no row for a part of the predicate, and the rows that may match."""
        mask = self._masks.get(part)
        return np.zeros(len(self._slices), np.bool_) if mask is None else mask, self._rows.get(part, {})

    def record(self, part: AllOf | Constraint, refuted: Mask) -> None:
        """Add to the evidence."""
        known = self._masks.get(part)
        self._masks[part] = refuted if known is None else known | refuted

    def is_for_no_index(self, constraint: Constraint) -> bool:
        """Whether there was no index to put a constraint to."""
        return constraint not in self._asked

    def ask(self, constraint: Constraint, left: Mask, tier: Tier) -> None:
        """Put a constraint to the indexes of a tier, for the file groups that are left."""
        for index in self._indexes.of_tier(tier):
            if (index.name, constraint) not in self._joint:
                self._ask(index, constraint, left & ~self.evidence(constraint)[0])

    def ask_together(self, part: AllOf, left: Mask, tier: Tier) -> None:
        """Put several constraints at once to the indexes that take them so."""
        given = [child for child in part.children if isinstance(child, Constraint)]
        for index in self._indexes.of_tier(tier):
            if not index.kind.spec.asks_together:
                continue
            kind = cast("TogetherAnswering", index.kind)
            try:
                asked = kind.ask_together(given, self._candidates(left))
                if asked is None:
                    continue
                question, constraints = asked
                _check_question(question)
            except _faults_of(index) as error:
                texts = " AND ".join(child.term.text for child in given)
                self._give_up(index, _answer(index, texts), failure_text(error))
                continue
            text = " AND ".join(child.term.text for child in constraints)
            wanted = "; ".join(condition_text(child.condition) for child in constraints)
            self._joint.update((index.name, child) for child in constraints)
            self._asked.update(constraints)
            self._look_up(index, question, part, _answer(index, text, wanted), left)

    def _ask(self, index: UsableIndex, constraint: Constraint, left: Mask) -> None:
        try:
            question, asked = self._question(index, constraint, self._candidates(left))
            if question is None or asked is None:
                return
            _check_question(question)
        except _faults_of(index) as error:
            self._give_up(index, _answer(index, constraint.term.text), failure_text(error))
            return
        self._asked.add(constraint)
        answer = _answer(index, constraint.term.text, condition_text(asked.condition))
        self._look_up(index, question, constraint, answer, left)

    def _candidates(self, left: Mask) -> Candidates:
        return Candidates(self._covered, left[self._covered.positions])

    def _question(
        self, index: UsableIndex, constraint: Constraint, candidates: Candidates
    ) -> tuple[Question | None, Constraint | None]:
        """What an index is asked so that nothing which meets the constraint is refuted."""
        direct = Constraint(index.terms.get(constraint.term, constraint.term), constraint.condition)
        question, domain = index.kind.ask(direct, candidates), constraint.domain
        if question is not None or domain is None:
            return question, direct
        asked: Constraint | None = None
        if index.derived is not None and index.derived.column == constraint.term:
            values = index.derived.of_column(domain)
            if values is None:
                reason = index.derived.reason_against or "its values may be any"
                self._refuse(_answer(index, constraint.term.text), reason)
            else:
                asked = Constraint(next(iter(index.terms.values())), values)
        elif constraint.term.is_expression and not index.terms:
            derived = self._indexes.derivations.get(constraint.term)
            found = derived.of_expression(domain) if derived else None
            asked = None if found is None else self._calendar.widen_constraint(found)
        return (None if asked is None else index.kind.ask(asked, candidates)), asked

    def _look_up(
        self, index: UsableIndex, question: Question, part: AllOf | Constraint, answer: Answer, left: Mask
    ) -> None:
        """Read what a question asks for, if that pays, and record what it proves."""
        try:
            if reason := self._reason_against(index, question):
                self._refuse(answer, reason)
                return
            entries = self._read(index, question)
            if isinstance(question, RowQuestion):
                refuted = self._record_rows(question, part, entries)
            else:
                refuted = self._covered.mask(question.refute(entries))
        except READ_ERRORS as error:
            self._give_up(index, answer, f"it can't be read: {error}")
            return
        except _faults_of(index) as error:
            self._give_up(index, answer, failure_text(error))
            return
        refuted &= left
        self.record(part, refuted)
        count = int(refuted.sum())
        log.debug("index %s refuted %d file groups by %s %s", index.name, count, *_texts(answer))
        self.answers.append(replace(answer, refuted=count))

    def _read(self, index: UsableIndex, question: Question) -> pa.Table:
        reader, partition = self._indexes.reader, index.kind.partition
        if reader is None:
            raise TypeError("without a reader nothing is covered")
        sharded = [(part, wanted) for part, wanted in question.ranges if part is not None]
        anywhere = [wanted for part, wanted in question.ranges if part is None]
        entries = reader.lookup_sharded(partition, sharded, columns=question.payloads)
        if anywhere:
            more = reader.lookup(partition, anywhere, columns=question.payloads)
            entries = pa.concat_tables([entries, more])
        return entries

    def _reason_against(self, index: UsableIndex, question: Question) -> str | None:
        """Why a look-up is not made; None if it is."""
        left = self._covered.positions[question.candidates.left].tolist()
        if self._indexes.reader is None or not left:
            return "no file group that it describes is left"
        if question.tests > _MOST_TESTS:
            return f"{question.tests} tests of values are too many"
        if not index.kind.spec.tier.is_weighed or self._indexes.only is not None:
            return None
        cost, saving = look_up_cost(self._indexes.reader, index.kind.partition, question), 0
        for position in left:
            saving += reading_cost([self._slices[position]])
            if pays(cost, saving):
                # Enough: the others need not be added up.
                return None
        return f"it would cost {cost} bytes to ask, {saving} to read the {len(left)} file groups left"

    def _record_rows(self, question: RowQuestion, part: AllOf | Constraint, entries: pa.Table) -> Mask:
        """Note the rows that may match; returns the file groups without one."""
        refuted = np.zeros(len(self._slices), np.bool_)
        # Nothing is noted before all of it is seen to be rows: of a kind that fails no part counts.
        found: dict[int, Any] = {self._position_of(row): rows for row, rows in question.rows(entries).items()}
        told = {position: rows for position, rows in found.items() if rows is not None}
        if strange := [rows for rows in told.values() if not isinstance(rows, BitMap)]:
            raise TypeError(f"its rows are {strange[0]!r}, which is no BitMap")
        known = self._rows.setdefault(part, {})
        for position, rows in told.items():
            if not rows:
                refuted[position] = True
            else:
                known[position] = known[position] & rows if position in known else rows
        return refuted

    def _position_of(self, row: int) -> int:
        """Where the slice of a row of `covered` stands."""
        if not 0 <= row < len(self._covered):
            raise IndexError(f"there is no file group {row} among {len(self._covered)}")
        return int(self._covered.positions[row])

    def _give_up(self, index: UsableIndex, answer: Answer, reason: str) -> None:
        """Go on without an answer, and tell so."""
        self.answers.append(replace(answer, reason=reason))
        self._indexes.report_unusable(f"index {index.name}", reason)

    def _refuse(self, answer: Answer, reason: str) -> None:
        log.debug("index %s is not asked for %s %s: %s", answer.index, *_texts(answer), reason)
        self.answers.append(replace(answer, reason=reason, is_asked=False))


def _faults_of(index: UsableIndex) -> tuple[type[Exception], ...]:
    """What a kind may raise without failing the query: of this package nothing, of others anything."""
    return () if index.kind.spec.is_built_in else (Exception,)


def _check_question(question: object) -> None:
    if not isinstance(question, Question):
        raise TypeError(f"it asks {question!r}, which is no Question")


def _answer(index: UsableIndex, constraint: str, wanted: str = "") -> Answer:
    return Answer(index.name, constraint, 0, wanted=wanted, is_summary=index.is_summary)


def _texts(answer: Answer) -> tuple[str, str]:
    return answer.constraint, answer.wanted
