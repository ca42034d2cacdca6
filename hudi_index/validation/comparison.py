"""What a comparison of entries found, and how one is run in this process."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from hudi_index.entries.schema import KEY
from hudi_index.errors import NeedsSparkError
from hudi_index.lifecycle.runs import TARGET
from hudi_index.table import FileGroupId
from hudi_index.validation.entries import (
    CONTENT,
    LABEL,
    NOTE,
    SIDE,
    read_stored_rows,
    rebuilt_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from hudi_index.validation.entries import ContentWork

__all__ = ["Comparison", "EntryDifference", "compare_entries"]

MISSING, EXTRA, DIFFERENT, TWICE = "missing", "extra", "different", "twice"

_LONGEST = 400


@dataclass(frozen=True, slots=True)
class EntryDifference:
    """One entry that is not what the rows say."""

    partition: str
    shard: int
    label: str
    key: str
    what: str
    """`missing`: the rows give it and nobody stored it. `extra`: stored, and no row gives it. `different`:
    both, not alike. `twice`: stored more than once."""
    stored: str | None = None
    rebuilt: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """For JSON, texts cut to what a person reads."""
        return {
            "partition": self.partition,
            "shard": self.shard,
            "what": self.what,
            "key": _cut(self.key),
            "stored": _cut(self.stored),
            "rebuilt": _cut(self.rebuilt),
        }


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"


@dataclass
class Comparison:
    """What was compared, and what differs."""

    entries: int = 0
    """Stored entries that were compared."""
    rows_read: int = 0
    counts: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """By partition, label and what."""
    examples: list[EntryDifference] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    """Partitions with files that can't be read, and why."""
    gone: dict[FileGroupId, str] = field(default_factory=dict)
    """File groups whose slice could not be read any more."""

    def note(self, text: str, *, count: int = 1) -> None:
        """Take in what a NOTE row says that came `count` times."""
        said: dict[str, Any] = json.loads(text)
        self.rows_read += said.get("rows_read", 0) * count
        self.entries += said.get("entries", 0) * count
        if "unreadable" in said:
            self.unreadable[said["unreadable"]] = said["reason"]
        if "gone" in said:
            self.gone[FileGroupId(*said["gone"])] = said["reason"]

    def add(self, difference: EntryDifference, *, limit: int, count: int = 1) -> None:
        """Take in a difference that stands for `count`."""
        self.counts[difference.partition, difference.label, difference.what] += count
        if sum(each.partition == difference.partition for each in self.examples) < limit:
            self.examples.append(difference)


def compare_entries(work: ContentWork, *, limit: int) -> Comparison:
    """Compare in this process; holds all entries in memory, so it is for small tables and for samples.

    Raises:
        NeedsSparkError: an index over an expression, which Spark computes.
    """
    for expression in work.description.expressions:
        raise NeedsSparkError.of_expression(expression.sql)
    found = Comparison()
    stored: dict[tuple[int, str, str], list[str]] = {}
    rebuilt: dict[tuple[int, str, str], str] = {}
    for position, shard_slice in work.shards.items():
        for row in _list(read_stored_rows(work, position, shard_slice), found):
            stored.setdefault((row[TARGET], row[LABEL], row[KEY]), []).append(row[CONTENT])
    for item in work.description.items:
        for row in _list(rebuilt_rows(work, item), found):
            rebuilt[row[TARGET], row[LABEL], row[KEY]] = row[CONTENT]
    for target, label, key in sorted({*stored, *rebuilt}):
        one, other = stored.get((target, label, key), []), rebuilt.get((target, label, key))
        what = difference_of(len(one), one[0] if one else None, other)
        if what is not None:
            shard = work.description.targets[target]
            difference = EntryDifference(
                shard.partition, shard.shard, label, key, what, one[0] if one else None, other
            )
            found.add(difference, limit=limit)
    return found


def difference_of(count: int, stored: str | None, rebuilt: str | None) -> str | None:
    """What is wrong with an entry that is stored `count` times; None if nothing is."""
    if rebuilt is None:
        return EXTRA
    if count == 0:
        return MISSING
    if stored != rebuilt:
        return DIFFERENT
    return TWICE if count > 1 else None


def _list(batches: Iterable[Any], found: Comparison) -> Iterable[Mapping[str, Any]]:
    for batch in batches:
        for row in batch.to_pylist():
            if row[SIDE] == NOTE:
                found.note(row[KEY])
            else:
                yield row
