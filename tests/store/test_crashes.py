"""A crash before, within and after every file operation of every kind of commit."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.store import operations
from tests.store.support import (
    Change,
    Clock,
    Content,
    Work,
    agreed,
    applied,
    crash_and_recover,
    crash_points,
    open_table,
)

if TYPE_CHECKING:
    from pathlib import Path

CHANGES = {
    "files": Change({"a$1": "new", "b$1": "9"}, {"c$1", "d$1"}),
    "record_index": Change({"k$9": "in", "k$5": "again", "k$6": "back"}, {"k$1", "k$2"}),
}
NEW = Change({f"n${place}": str(place) for place in range(4)})


@pytest.fixture
def prepared(tmp_path: Path) -> tuple[Path, Clock, Content]:
    """Base files with logs, a partition of logs only, files to clean, all at once."""
    path, clock = tmp_path / "mdt", Clock()
    open_table(path, clock).create()
    content: Content = {"files": {}, "record_index": {}}
    first = Change({f"k${place}": str(place) for place in range(8)})
    operations.create_partition("record_index", 2, first, as_base=True)(path, clock)
    operations.create_partition("files", 2, Change({"a$1": "1", "c$1": "1"}), as_base=False)(path, clock)
    content = applied(content, {"record_index": first, "files": Change({"a$1": "1", "c$1": "1"})})
    second = {"record_index": Change({"k$3": "x"}, {"k$4"})}
    operations.maintain(second)(path, clock)
    operations.compact()(path, clock)
    third = {"record_index": Change({"k$5": "y"}, {"k$6"}), "files": Change({"d$1": "1"})}
    operations.maintain(third)(path, clock)
    content = applied(applied(content, second), third)
    assert agreed(path, clock) == content
    return path, clock, content


def _after(content: Content, **changed: dict[str, str | None] | None) -> Content:
    return {name: entries for name, entries in {**content, **changed}.items() if entries is not None}


OPERATIONS = {
    "maintain": (operations.maintain(CHANGES), lambda before: applied(before, CHANGES)),
    "create with base files": (
        operations.create_partition("column_stats", 2, NEW, as_base=True),
        lambda before: _after(before, column_stats=dict(NEW.upserts)),
    ),
    "create with logs": (
        operations.create_partition("column_stats", 2, NEW, as_base=False),
        lambda before: _after(before, column_stats=dict(NEW.upserts)),
    ),
    "rebuild": (
        operations.rebuild_partition("record_index", 3, NEW),
        lambda before: _after(before, record_index=dict(NEW.upserts)),
    ),
    "drop": (operations.drop_partition("record_index"), lambda before: _after(before, record_index=None)),
    "compact": (operations.compact(), lambda before: before),
    "compact, then maintain": (
        operations.compact_beside_maintain(CHANGES, compaction_first=False),
        lambda before: applied(before, CHANGES),
    ),
    "maintain inside compact": (
        operations.compact_beside_maintain(CHANGES, compaction_first=True),
        lambda before: applied(before, CHANGES),
    ),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_crash_at_every_point_leaves_old_or_new_content(
    name: str, prepared: tuple[Path, Clock, Content]
) -> None:
    path, clock, before = prepared
    work, expected = OPERATIONS[name]
    _check_all_points(path, clock, work, before, expected(before))


def test_crash_at_every_point_of_cleaning_changes_nothing(prepared: tuple[Path, Clock, Content]) -> None:
    path, clock, before = prepared
    clock.advance(minutes=40)
    _check_all_points(path, clock, operations.clean(), before, before)


def _check_all_points(path: Path, clock: Clock, work: Work, before: Content, after: Content) -> None:
    points = crash_points(path, clock, work)
    assert points > 5
    outcomes = []
    for point in range(points):
        copy = path.with_name(f"crash-{point}")
        shutil.copytree(path, copy)
        outcomes.append(
            crash_and_recover(copy, replace(clock), work, point=point, before=before, after=after)
        )
        shutil.rmtree(copy)
    # Once a crash comes late enough to leave the new content, every later one does.
    assert outcomes == sorted(outcomes, key=lambda outcome: outcome == after)
    assert after in outcomes
