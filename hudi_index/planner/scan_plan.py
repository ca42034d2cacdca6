"""What a plan found, and why not more: for people and as JSON."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hudi_index.coverage.covered import Covered
from hudi_index.predicate import tree_of
from hudi_index.predicate.expression import TRUE
from hudi_index.predicate.values.condition import HasElement, TextPattern

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pyroaring import BitMap

    from hudi_index.predicate import Domain, Tree
    from hudi_index.predicate.expression import Expression
    from hudi_index.predicate.values.condition import Condition
    from hudi_index.predicate.values.times import SessionZone
    from hudi_index.table import FileGroupId, FileSlice, Snapshot

__all__ = ["Answer", "ScanPlan", "condition_text"]

_SHOWN = 3


@dataclass(frozen=True)
class Answer:
    """What one index said to one constraint."""

    index: str
    constraint: str
    refuted: int
    reason: str | None = None
    """Why it said nothing."""
    is_asked: bool = True
    """Whether it was read; if not, the reason says why."""
    wanted: str = ""
    """The values that were asked for."""
    is_summary: bool = False
    """Whether its summary by partition said it."""

    @property
    def name(self) -> str:
        """The index, or its summary."""
        return f"{self.index} by partition" if self.is_summary else self.index


@dataclass
class ScanPlan:
    """Which slices a query reads, and why not fewer."""

    snapshot: Snapshot
    predicate: str
    slices: list[FileSlice]
    """What is read."""
    positions: npt.NDArray[np.int64] = field(repr=False, compare=False)
    """Where those stand among the snapshot's slices."""
    covered: int
    """File groups that the indexes describe as they are."""
    coverage: Covered = field(default_factory=lambda: Covered.none(0), repr=False, compare=False)
    """Those file groups, with the number of rows of each."""
    answers: list[Answer] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)
    """Parts of the predicate that no index could be asked about."""
    condition: Expression = TRUE
    """The predicate over the table's own columns."""
    time_zone: str | SessionZone = "UTC"
    """That of the predicate's local times."""
    rows: dict[FileGroupId, BitMap] = field(default_factory=dict)
    """Of slices that are read, where bitmaps know them: the positions of the rows that may match."""
    seconds: dict[str, float] = field(default_factory=dict)
    """How long each phase took."""

    @cached_property
    def tree(self) -> Tree:
        """What the predicate asks of the table's own columns."""
        return tree_of(self.condition, time_zone=self.time_zone)

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
        return [path for file_slice in self.slices for path in file_slice.paths]

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {
            "predicate": self.predicate,
            "file_groups": self.total,
            "file_groups_covered": self.covered,
            "file_groups_read": self.kept,
            "files_before": sum(_files_of(file_slice) for file_slice in self.snapshot.slices),
            "files_read": sum(_files_of(file_slice) for file_slice in self.slices),
            "bytes": self.snapshot.size,
            "bytes_read": sum(file_slice.size for file_slice in self.slices),
            "files": self.files,
            "answers": [
                {
                    "index": each.name,
                    "constraint": each.constraint,
                    "wanted": each.wanted,
                    "asked": each.is_asked,
                    "refuted": each.refuted,
                    "reason": each.reason,
                }
                for each in self.answers
            ],
            "unusable": self.unusable,
            "unknown": self.unknown,
            "seconds": self.seconds,
        }

    def explain(self) -> str:
        """The plan for people."""
        facts = self.as_dict()
        lines = [f"predicate     {self.predicate}"]
        lines += [f"file groups   {self.kept} read of {self.total}, {self.covered} covered by indexes"]
        lines += [f"files         {facts['files_read']} read of {facts['files_before']}"]
        lines += [f"bytes         {facts['bytes_read']} read of {facts['bytes']}"]
        for answer in self.answers:
            said = answer.reason or f"refuted {answer.refuted} file groups"
            word = "asked    " if answer.is_asked else "not asked"
            lines.append(f"{word}     {answer.name}: {answer.constraint}: {said}")
        lines += [f"not asked     {name}: {reason}" for name, reason in self.unusable.items()]
        lines += [f"not used      {text}" for text in self.unknown]
        spent = ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in self.seconds.items())
        return "\n".join([*lines, f"seconds       {spent}"])


def _files_of(file_slice: FileSlice) -> int:
    return (file_slice.base_file is not None) + len(file_slice.log_files)


def condition_text(condition: Condition) -> str:
    """A condition in a few words."""
    if isinstance(condition, TextPattern):
        return f"LIKE {condition}"
    if isinstance(condition, HasElement):
        return f"an element of {_domain_text(condition.domain)}"
    return _domain_text(condition)


def _domain_text(domain: Domain) -> str:
    parts = ["NULL"] if domain.has_null else []
    for each in domain.ranges[:_SHOWN]:
        if each.is_point:
            parts.append(repr(each.low.value))
            continue
        low = "(" if each.low.value is None or each.low.bound > 0 else "["
        high = ")" if each.high.value is None or each.high.bound < 0 else "]"
        ends = ["…" if marker.value is None else repr(marker.value) for marker in (each.low, each.high)]
        parts.append(f"{low}{ends[0]}, {ends[1]}{high}")
    rest = len(domain.ranges) - _SHOWN
    return ", ".join([*parts, f"{rest} more"] if rest > 0 else parts)
