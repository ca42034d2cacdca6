"""What a validation found: plain values, as JSON for machines and as text for people.

The JSON form is documented in docs/validation.md; `version` counts its incompatible changes.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from hudi_index.errors import ValidationFailedError
from hudi_index.jobs import timed

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

__all__ = ["ContentResult", "CoverageResult", "IndexResult", "QueryResult", "ValidationReport"]

VERSION = 1

SAME, DIFFERENT, FAILED, UNCHECKED = "same", "different", "failed", "unchecked"
UNKNOWN_CAUSE = "unknown"


@dataclass
class QueryResult:
    """One query, asked with indexes and without."""

    query: str
    form: str = "predicate"
    origin: str = "made"
    """`made`, or `given` by the user."""
    about: list[str] = field(default_factory=list)
    """The indexes that it was made for."""
    only: list[str] = field(default_factory=list)
    """The indexes that were asked, whatever that costs; none for those that any query would ask."""
    result: str = UNCHECKED
    """`same`, `different`, `failed` (it does not run, or proves nothing), `unchecked` (see reason)."""
    reason: str | None = None
    cause: str | None = None
    """Of a different answer: the indexes that there is evidence against, or `unknown`."""
    rows: int | None = None
    """Rows of the full scan."""
    rows_missing: int = 0
    rows_extra: int = 0
    missing: list[str] = field(default_factory=list)
    """Rows that only the full scan has, some of them."""
    extra: list[str] = field(default_factory=list)
    file_groups: int | None = None
    file_groups_read: int | None = None
    bytes: int | None = None
    bytes_read: int | None = None
    refuted: dict[str, int] = field(default_factory=dict)
    """File groups that each index refuted."""
    seconds: float = 0.0

    @property
    def is_wrong(self) -> bool:
        """Whether the two answers differ."""
        return self.result == DIFFERENT

    @property
    def skipped(self) -> float | None:
        """The part of the file groups that was not read."""
        if not self.file_groups or self.file_groups_read is None:
            return None
        return 1 - self.file_groups_read / self.file_groups


@dataclass
class ContentResult:
    """Stored entries against the rows."""

    is_checked: bool = False
    file_groups: int = 0
    """That the indexes describe."""
    file_groups_checked: int = 0
    sample: list[str] | None = None
    """The chosen file groups, as `<partition path>/<file id>`; None for all."""
    file_groups_gone: int = 0
    """Described slices whose files are gone: lag, which nobody can check."""
    rows_read: int = 0
    entries: int = 0
    differences: dict[str, int] = field(default_factory=dict)
    """By what: missing, extra, different, twice, unreadable."""
    examples: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class CoverageResult:
    """`files` against the table."""

    is_checked: bool = False
    file_groups: int = 0
    covered: int = 0
    uncovered: int = 0
    """Queries read these whatever the indexes say: lag, no fault."""
    differences: list[str] = field(default_factory=list)


@dataclass
class IndexResult:
    """One index."""

    name: str
    kind: str
    on: str
    bytes: int = 0
    queries: int = 0
    """Queries in which it was asked."""
    file_groups_refuted: int = 0
    """Over all queries."""
    is_checked: bool = True
    faults: list[str] = field(default_factory=list)
    state: str = "ready"
    """After the validation: `invalid` if it was taken out of service."""


@dataclass
class ValidationReport:
    """All of it."""

    table: str
    backend: str = "engine"
    version: int = VERSION
    verb: str = "validate"
    instant: str | None = None
    seed: int = 0
    indexes: list[IndexResult] = field(default_factory=list)
    queries: list[QueryResult] = field(default_factory=list)
    content: ContentResult = field(default_factory=ContentResult)
    coverage: CoverageResult = field(default_factory=CoverageResult)
    invalidated: list[str] = field(default_factory=list)
    """Indexes that were taken out of service."""
    advice: list[str] = field(default_factory=list)
    """What to do about the faults."""
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Counts the time spent inside as part of a phase."""
        return timed(self.seconds, name)

    @property
    def wrong_queries(self) -> list[QueryResult]:
        """Queries whose answers differ."""
        return [each for each in self.queries if each.is_wrong]

    @property
    def unanswered_queries(self) -> list[QueryResult]:
        """Queries that somebody wanted compared and that failed; of made ones the files may be cleaned."""
        return [each for each in self.queries if each.origin == "given" and each.result == FAILED]

    @property
    def passed(self) -> bool:
        """Whether nothing was found wrong, and all that was asked for was compared."""
        return not (
            self.wrong_queries
            or self.unanswered_queries
            or self.content.differences
            or self.coverage.differences
            or any(each.faults for each in self.indexes)
        )

    @property
    def exit_code(self) -> int:
        """3 if something was found wrong."""
        return 0 if self.passed else ValidationFailedError.exit_code

    @property
    def effect(self) -> dict[str, Any]:
        """How much was pruned."""
        known = [each for each in self.queries if each.file_groups and each.file_groups_read is not None]
        total, read = (sum(getattr(each, name) or 0 for each in known) for name in ("bytes", "bytes_read"))
        parts = [each.skipped or 0.0 for each in known]
        return {
            "queries": len(known),
            "queries_pruned": sum(part > 0 for part in parts),
            "file_groups_skipped": round(sum(parts) / len(parts), 4) if parts else None,
            "bytes_skipped": round(1 - read / total, 4) if total else None,
        }

    def raise_if_failed(self) -> None:
        """Raises ValidationFailedError, with this report, if something was found wrong."""
        if not self.passed:
            raise ValidationFailedError(table=self.table, reason=self.summary(), report=self)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "passed": self.passed, "effect": self.effect}

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.as_dict(), sort_keys=True)

    def summary(self) -> str:
        """What was found, in one line."""
        if self.passed:
            return "no difference found"
        found = [f"{len(self.wrong_queries)} of {len(self.queries)} queries lose or gain rows"]
        unexplained = [each for each in self.wrong_queries if each.cause == UNKNOWN_CAUSE]
        found += [f"{each.query!r} disagrees, cause unknown" for each in unexplained[:1]]
        entries = ", ".join(f"{count} {what}" for what, count in sorted(self.content.differences.items()))
        found += [f"entries: {entries}"] if entries else []
        found += [f"coverage: {self.coverage.differences[0]}"] if self.coverage.differences else []
        found += [f"{each.query!r} could not be asked: {each.reason}" for each in self.unanswered_queries[:1]]
        return "; ".join(found)

    def __str__(self) -> str:
        effect = self.effect
        facts = {
            "result": ("PASSED: " if self.passed else "FAILED: ") + self.summary(),
            "indexes": ", ".join(each.name for each in self.indexes) or "none",
            "data instant": self.instant or "none",
            "queries": f"{len(self.queries)} asked (seed {self.seed}), {len(self.wrong_queries)} wrong",
            "file groups": f"{self.coverage.covered} covered of {self.coverage.file_groups}, "
            f"{self.content.file_groups_checked} rebuilt",
            "entries": f"{self.content.entries} compared",
            "effect": f"{effect['queries_pruned']} of {effect['queries']} queries pruned, "
            f"{_percent(effect['file_groups_skipped'])} of file groups skipped on average",
            "seconds": ", ".join(f"{name} {spent}" for name, spent in self.seconds.items()),
        }
        lines = [f"  {name:<15} {value}" for name, value in facts.items()]
        lines += [f"  {'wrong':<15} {_about(each)}" for each in self.wrong_queries]
        lines += [f"  {'entry':<15} {_entry(each)}" for each in self.content.examples]
        lines += [f"  {'coverage':<15} {each}" for each in self.coverage.differences]
        lines += [f"  {'invalid':<15} {name}" for name in self.invalidated]
        lines += [f"  {'advice':<15} {each}" for each in self.advice]
        lines += [f"  {'note':<15} {each}" for each in self.notes]
        return "\n".join([f"{self.verb} {self.table} ({self.backend})", *lines])


def _percent(part: float | None) -> str:
    return "nothing" if part is None else f"{part:.0%}"


def _about(query: QueryResult) -> str:
    examples = "".join(f"\n{'':<20}missing {row}" for row in query.missing)
    examples += "".join(f"\n{'':<20}extra   {row}" for row in query.extra)
    found = f"{query.rows_missing} rows missing, {query.rows_extra} extra of {query.rows}"
    found += f"; cause: {query.cause}" if query.cause else ""
    return f"{query.query}: {found}{examples}"


def _entry(difference: dict[str, Any]) -> str:
    return f"{difference['what']} in {difference['partition']}: {difference['key']}"
