"""Numbers, existence and extremes of the rows that meet a predicate, from indexes where those can tell.

A plan proves of file groups, and by bitmaps of rows, that they don't meet a predicate. A second plan for what
the first leaves out proves of which they don't fail it. Both are supersets, so for each file group

    rows  -  those that may fail the predicate   <=   matching rows   <=   those that may meet it

and where both sides are one number, it is the answer; rows are read only elsewhere. That asks nothing of a
kind of index but what planning asks anyway.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow.compute as pc

from hudi_index.errors import UnknownColumnError, UnsupportedTypeError
from hudi_index.predicate import BoundTerm, Session, Term, Unknown, bind, parse_predicate
from hudi_index.predicate.expression import And, Compare, IsNull, IsTrue, Operator
from hudi_index.predicate.values.casts import Literal
from hudi_index.scan import ScanReport, scan
from hudi_index.table.types import sql_schema, type_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hudi_index.planner import ScanPlan
    from hudi_index.predicate import Schema
    from hudi_index.predicate.expression import Expression
    from hudi_index.table import Snapshot

__all__ = ["Both", "Change", "TextConditions", "count_rows", "extreme_of", "not_true"]

_SEED = 0

Change: TypeAlias = "Callable[[Expression, Schema], Expression]"
"""What is made of a predicate before it is asked."""


@dataclass(frozen=True)
class TextConditions:
    """A predicate that a text gives, changed in some way."""

    text: str
    time_zone: str
    change: Change
    has_known_names: bool = False
    """Whether a plan before this one knew all names, those of indexes by which expressions are called too."""

    @property
    def session(self) -> Session:
        """That of texts."""
        return Session.of_text(self.time_zone)

    def bound(self, schema: Schema, _: Mapping[str, BoundTerm]) -> Expression:
        """What it asks of a table's columns."""
        parsed = parse_predicate(self.text, time_zone=self.session.zone)
        try:
            found = bind(parsed, schema)
        except UnknownColumnError as error:
            if not self.has_known_names:
                raise
            found = Unknown(error.column, "it is no column")
        return self.change(found, schema)


def not_true(predicate: str, time_zone: str) -> TextConditions:
    """The rows for which a predicate is false or null."""
    return TextConditions(
        predicate,
        time_zone,
        lambda expression, _: IsTrue(expression, is_negated=True),
        has_known_names=True,
    )


@dataclass(frozen=True)
class Both:
    """A plan for what meets a predicate and one for what does not, of one snapshot."""

    meeting: ScanPlan
    failing: ScanPlan

    def decided(self) -> tuple[int, list[int]]:
        """How many rows match where that is certain, and the file groups, by position, where it is not."""
        total = self.meeting.total
        rows = np.full(total, -1, np.int64)
        for plan in (self.meeting, self.failing):
            rows[plan.coverage.positions] = plan.coverage.row_counts
        most, fails = _most(self.meeting, rows), _most(self.failing, rows)
        # Where the number of rows is not known, only a file group without a matching row is decided.
        is_certain = (most == 0) | ((rows >= 0) & (rows - fails == most))
        return int(most[is_certain].sum()), np.flatnonzero(~is_certain).tolist()

    def has_certain_row(self) -> bool:
        """Whether some file group is certain to have a matching row."""
        rows = np.full(self.meeting.total, -1, np.int64)
        rows[self.failing.coverage.positions] = self.failing.coverage.row_counts
        return bool(((rows >= 0) & (rows > _most(self.failing, rows))).any())


def _most(plan: ScanPlan, rows: Any) -> Any:
    """Of each file group, how many rows may match: all, unless it is refuted or bitmaps leave fewer."""
    found = np.zeros(plan.total, np.int64)
    for position, file_slice in zip(plan.positions.tolist(), plan.slices, strict=True):
        left, own = plan.rows.get(file_slice.group), int(rows[position])
        if own < 0:
            # At least one of an unknown number.
            found[position] = 1
        else:
            found[position] = own if left is None else min(own, len(left))
    return found


def count_rows(both: Both, *, threads: int, report: ScanReport) -> int:
    """How many rows match, with the rows of undecided file groups read."""
    known, undecided = both.decided()
    plan = both.meeting
    slices = [plan.snapshot.slices[position] for position in undecided]
    if not slices:
        report.count(file_groups=plan.total, bytes_total=plan.snapshot.size)
        return known
    column = plan.snapshot.schema.names[0]
    reader = scan(replace(plan, slices=slices), columns=[column], threads=threads, report=report)
    return known + sum(batch.num_rows for batch in reader)


def extreme_of(
    column: str,
    plan: Callable[[Change, Snapshot | None], ScanPlan],
    *,
    is_highest: bool,
    report: ScanReport,
) -> Any:
    """The lowest or highest value of a column among the rows of a plan, None if there is none.

    Each value that is found rules out the file groups that can't have a better one. They come in a random
    order, so that of n few have a better one than all before, about the logarithm of n, whatever the order
    of the table is.

    Args:
        column: Its name.
        plan: Plans a changed predicate, at a snapshot.
        is_highest: Which of both.
        report: Counts what is read.
    """
    operator = Operator.GREATER if is_highest else Operator.LESS

    def valued(expression: Expression, schema: Schema) -> Expression:
        return And.of([expression, IsNull(_term_of(schema, column), is_negated=True)])

    first = plan(valued, None)
    term = _term_of(sql_schema(first.snapshot.schema_with_meta_columns), column)
    if not term.type.is_ordered:
        raise UnsupportedTypeError(column=column, type_name=str(term.type), reason="its values have no order")
    report.count(file_groups=first.total, bytes_total=first.snapshot.size)
    left = list(first.slices)
    random.Random(_SEED).shuffle(left)
    best: Any = None
    while left:
        found = _extreme(replace(first, slices=[left.pop()]), term.term.text, is_highest, report)
        if found is None or not _is_better(found, best, is_highest=is_highest):
            continue
        best = found
        if left:
            literal = Literal(best, term.type)
            better = plan(lambda own, _: And.of([own, Compare(operator, term, literal)]), first.snapshot)  # noqa: B023 - called at once
            kept = {each.group for each in better.slices}
            left = [each for each in left if each.group in kept]
    return best


def _term_of(schema: Schema, column: str) -> BoundTerm:
    found = schema.look_up((column,)) or schema.look_up(tuple(column.split(".")))
    if found is None:
        raise UnknownColumnError(column=column, known=schema.paths())
    return BoundTerm(Term(found.path), found.type)


def _extreme(plan: ScanPlan, path: str, is_highest: bool, report: ScanReport) -> Any:  # noqa: FBT001
    """That of the rows of a plan, by Spark's order: NaN is above everything."""
    counted = ScanReport()
    best: Any = None
    data_type = type_of(plan.snapshot.schema_with_meta_columns, path)
    for batch in scan(plan, columns=[path], report=counted):
        values: Any = batch.column(0)
        is_nan = pc.is_nan(values) if str(data_type) in ("float", "double") else None
        if is_nan is not None and pc.any(is_nan).as_py():
            if is_highest:
                best = math.nan
                break
            best = math.nan if best is None else best
            values = values.filter(pc.invert(is_nan))
        found = pc.min_max(values)["max" if is_highest else "min"].as_py()
        if found is not None and _is_better(found, best, is_highest=is_highest):
            best = found
    parts = counted.as_dict()
    report.count(
        **{name: value for name, value in parts.items() if name not in ("file_groups", "bytes_total")}
    )
    return best


def _is_better(value: Any, best: Any, *, is_highest: bool) -> bool:
    if best is None:
        return True
    one, other = ((isinstance(each, float) and math.isnan(each), each) for each in (value, best))
    if one[0] or other[0]:
        return one[0] > other[0] if is_highest else one[0] < other[0]
    return bool(value > best if is_highest else value < best)
