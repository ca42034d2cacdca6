"""Random histories with crashes: our reader == a dict == hudi-rs, at every step and after recovery."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

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

PARTITIONS = ("files", "record_index", "secondary_index_a_b")
keys = st.builds("{}${}".format, st.sampled_from(["a", "c d", "é", "%24"]), st.integers(0, 2))
values = st.sampled_from(["1", "2", "", "ü"])
changes = st.builds(
    lambda upserts, deletes: Change(upserts, deletes - set(upserts)),
    st.dictionaries(keys, values, min_size=1, max_size=6),
    st.sets(keys, max_size=4),
)
inserts = changes.map(lambda change: Change(change.upserts))
crashes = st.one_of(st.none(), st.floats(0, 1, exclude_max=True))
"""Where in its work a process dies, None for nowhere."""


class Histories(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.path = Path(tempfile.mkdtemp(prefix="histories"))
        self.clock = Clock()
        self.content: Content = {}

    def teardown(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)

    @initialize(change=inserts, shards=st.integers(1, 2))
    def create(self, change: Change, shards: int) -> None:
        open_table(self.path, self.clock).create()
        work = operations.create_partition("files", shards, change, as_base=False)
        self._run(None, work, {"files": dict(change.upserts)})

    def _run(self, crash: float | None, work: Work, after: Content) -> None:
        points = 0 if crash is None else crash_points(self.path, self.clock, work)
        if crash is None or points == 0:
            work(self.path, self.clock)
            self.content = after
            return
        self.content = crash_and_recover(
            self.path, self.clock, work, point=int(crash * points), before=self.content, after=after
        )

    @rule(
        crash=crashes,
        name=st.sampled_from(PARTITIONS),
        shards=st.integers(1, 3),
        change=inserts,
        base=st.booleans(),
    )
    def create_or_rebuild_partition(
        self, crash: float | None, name: str, shards: int, change: Change, base: bool
    ) -> None:
        if name in self.content:
            work = operations.rebuild_partition(name, shards, change)
        else:
            work = operations.create_partition(name, shards, change, as_base=base)
        self._run(crash, work, {**self.content, name: dict(change.upserts)})

    @rule(crash=crashes, many=st.lists(changes, min_size=3, max_size=3))
    def maintain(self, crash: float | None, many: list[Change]) -> None:
        wanted = dict(zip(self.content, many, strict=False))
        self._run(crash, operations.maintain(wanted), applied(self.content, wanted))

    @rule(crash=crashes, many=st.lists(changes, min_size=3, max_size=3), compaction_first=st.booleans())
    def compact_beside_maintain(
        self, crash: float | None, many: list[Change], compaction_first: bool
    ) -> None:
        wanted = dict(zip(self.content, many, strict=False))
        work = operations.compact_beside_maintain(wanted, compaction_first=compaction_first)
        self._run(crash, work, applied(self.content, wanted))

    @rule(crash=crashes, data=st.data())
    def drop_partition(self, crash: float | None, data: st.DataObject) -> None:
        if len(self.content) > 1:
            name = data.draw(st.sampled_from(sorted(self.content)))
            rest = {other: entries for other, entries in self.content.items() if other != name}
            self._run(crash, operations.drop_partition(name), rest)

    @rule(crash=crashes)
    def compact(self, crash: float | None) -> None:
        self._run(crash, operations.compact(), self.content)

    @rule(crash=crashes, minutes=st.sampled_from([1, 40]))
    def clean(self, crash: float | None, minutes: int) -> None:
        self.clock.advance(minutes=minutes)
        self._run(crash, operations.clean(), self.content)

    @invariant()
    def all_readers_agree(self) -> None:
        assert agreed(self.path, self.clock) == self.content


Histories.TestCase.settings = settings(max_examples=30, stateful_step_count=10)
TestHistories = Histories.TestCase


@pytest.mark.slow
def test_long_histories_agree_at_every_step() -> None:
    run_state_machine_as_test(Histories, settings=settings(max_examples=400, stateful_step_count=30))
