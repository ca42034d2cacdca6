"""Sessions that shift old dates and timestamps as they read, and what indexes may still say there.

With `spark.sql.parquet.datetimeRebaseModeInRead=LEGACY`, or the settings of its kind for INT96 and for Avro,
Spark takes values of files that don't say otherwise for the calendar of Spark 2. The index holds them as they
are stored. Both agree from a moment on, and what is shifted stays before it. So:

- a constraint that admits anything before that moment is asked for everything before it;
- an index over an expression of dates or timestamps, whose old values may have become any others, is not
  asked. Nor is anything said of a file group whose log records were chosen by such a value.

`spark.sql.parquet.int96TimestampConversion` shifts INT96 timestamps of any time, so that nothing is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timezone
from typing import TYPE_CHECKING, Any

from hudi_index.predicate.tree import AllOf, AnyOf, fold
from hudi_index.predicate.values.condition import Constraint, HasElement, TextPattern
from hudi_index.predicate.values.domain import Domain, Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hudi_index.predicate.tree import Tree

__all__ = ["CALENDAR_SETTINGS", "STORED", "Calendar"]

_LEGACY = "LEGACY"
_MODES = (
    "spark.sql.parquet.datetimeRebaseModeInRead",
    "spark.sql.parquet.int96RebaseModeInRead",
    "spark.sql.avro.datetimeRebaseModeInRead",
)
_CONVERSION = "spark.sql.parquet.int96TimestampConversion"
CALENDAR_SETTINGS = (*_MODES, _CONVERSION)
"""What a session is asked for."""
_OPTIONS = ("datetimerebasemode", "int96rebasemode")
"""What a reader may be told instead, in any case."""

_FIRST_DATE = date(1582, 10, 15)
# Timestamps agree from 1900-01-01 on. What is shifted from before lands up to 88,160 seconds behind it, in
# Pacific/Kiritimati (Spark's own table of 602 zones).
_FIRST_TIMESTAMP = datetime(1900, 1, 3, tzinfo=timezone.utc)


@dataclass(frozen=True, slots=True)
class Calendar:
    """How a query's reader takes dates and timestamps."""

    shifts: bool = False
    """Whether values before the moment that both calendars agree from may be others to it."""
    converts: bool = False
    """Whether any timestamp may be another to it."""

    @classmethod
    def of_session(cls, settings: Mapping[str, str], options: Mapping[str, str] | None = None) -> Calendar:
        """The calendar of a Spark session's settings, and of the options of its reader.

        What is not set is Spark's default, which shifts nothing.
        """
        told = [settings.get(name, "") for name in _MODES]
        told += [value for name, value in (options or {}).items() if name.lower() in _OPTIONS]
        shifts = any(value.upper() == _LEGACY for value in told)
        return cls(shifts=shifts, converts=settings.get(_CONVERSION, "").lower() == "true")

    @property
    def is_other(self) -> bool:
        """Whether the reader may see another value than is stored, and indexed."""
        return self.shifts or self.converts

    @property
    def reason(self) -> str:
        """Why an index can't be asked."""
        if self.converts:
            return "the session converts the time zone of timestamps as it reads"
        return "the session shifts old dates and timestamps to another calendar as it reads"

    def widen(self, tree: Tree) -> Tree:
        """A tree that admits every row whose stored values may, to the reader, be admitted by this one."""
        if not self.is_other:
            return tree
        return fold(
            tree,
            lambda leaf: self.widen_constraint(leaf) if isinstance(leaf, Constraint) else leaf,
            lambda _, parts: AllOf(tuple(parts)),
            lambda _, parts: AnyOf(tuple(parts)),
        )

    def widen_constraint(self, constraint: Constraint) -> Constraint:
        """The same for one constraint; that it is about dates or timestamps, its values tell."""
        match constraint.condition:
            case Domain() as domain:
                return Constraint(constraint.term, self._widen_domain(domain))
            case HasElement(domain):
                return Constraint(constraint.term, HasElement(self._widen_domain(domain)))
            case TextPattern():
                return constraint

    def _widen_domain(self, domain: Domain) -> Domain:
        values = [marker.value for each in domain.ranges for marker in (each.low, each.high)]
        found = next((value for value in values if isinstance(value, date)), None)
        return domain if found is None or not self.is_other else self._with_old(domain, found)

    def _with_old(self, domain: Domain, value: date) -> Domain:
        first = _first_like(value)
        if isinstance(value, datetime) and self.converts:
            return Domain((Range.all(),), has_null=domain.has_null)
        old = Domain.of([Range.below(first)])
        return domain.union(old) if self.shifts and domain.overlaps(old) else domain


STORED = Calendar()
"""Values are read as they are stored."""


def _first_like(value: date) -> Any:
    """The moment from which both calendars agree, as a value that can be compared with this one."""
    if not isinstance(value, datetime):
        return _FIRST_DATE
    return _FIRST_TIMESTAMP if value.tzinfo else _FIRST_TIMESTAMP.replace(tzinfo=None)
