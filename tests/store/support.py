"""What store tests share: a clock to turn, processes that die, two independent readers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pyarrow as pa
from hudi import HudiTableBuilder

from hudi_index.entries.keys import shard_of
from hudi_index.metadata_table.commit import Transaction
from hudi_index.metadata_table.layout import parse_data_file
from hudi_index.metadata_table.ledger import WriterId
from hudi_index.metadata_table.table import MetadataTable, Settings
from hudi_index.storage import Storage
from tests.support.storage import CrashingStorage, dying_at, points_counted

Content = dict[str, dict[str, str | None]]
"""Partition -> key -> ordering value of the payload: enough to tell one version of an entry from another."""

SETTINGS = Settings(lease=timedelta(seconds=60), retention=timedelta(minutes=30))


@dataclass
class Clock:
    now: datetime = datetime(2026, 11, 1, tzinfo=timezone.utc)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def advance(self, **amount: float) -> None:
        self.now += timedelta(**amount)


def open_table(path: Path, clock: Clock, *, owner: str = "one", crashing: bool = False) -> MetadataTable:
    kind = CrashingStorage if crashing else Storage
    # Another host: whether its process lives can't be asked, so only the lease counts.
    who = WriterId(owner, "elsewhere", 1, "")
    return MetadataTable(kind.open(path), SETTINGS, clock=clock, owner=who, renews_lease=False)


@dataclass
class Change:
    """What one commit does to one partition."""

    upserts: dict[str, str] = field(default_factory=dict)
    deletes: set[str] = field(default_factory=set)


def entries_of(values: dict[str, str]) -> pa.Table:
    payload = [{"orderingValue": value, "instantTime": None} for value in values.values()]
    struct = pa.struct([pa.field("orderingValue", pa.string()), pa.field("instantTime", pa.string())])
    return pa.table(
        {
            "key": pa.array(list(values), pa.string()),
            "type": pa.array([5] * len(values), pa.int32()),
            "recordIndexMetadata": pa.array(payload, struct),
        }
    )


def lookup_of(key: str) -> str:
    """Test keys look like `<lookup part>$<rest>`."""
    return key.partition("$")[0]


def write_changes(
    transaction: Transaction, changes: dict[str, Change], *, as_base: frozenset[str] = frozenset()
) -> None:
    """Write logs (or sorted base files for new partitions) for every shard that changes."""
    writer = transaction.writer
    for partition, change in changes.items():
        shards = transaction.shards_of(partition)
        for shard in range(shards):
            upserts = {
                key: value
                for key, value in change.upserts.items()
                if shard_of(lookup_of(key), shards) == shard
            }
            deletes = sorted(key for key in change.deletes if shard_of(lookup_of(key), shards) == shard)
            if partition in as_base:
                table = entries_of(dict(sorted(upserts.items())))
                transaction.add([writer.write_base(partition, shard, [table] if upserts else [])])
            elif upserts or deletes:
                gone = pa.array(deletes, pa.string())
                transaction.add(
                    [writer.write_log(partition, shard, upserts=entries_of(upserts), deletes=gone)]
                )


def applied(content: Content, changes: dict[str, Change]) -> Content:
    result = {name: dict(entries) for name, entries in content.items()}
    for name, change in changes.items():
        for key in change.deletes:
            result[name].pop(key, None)
        result[name].update(change.upserts)
    return result


def ours(table: MetadataTable) -> Content:
    reader = table.reader()
    return {
        name: _as_content(reader.scan(name, columns=["recordIndexMetadata"]).read_all())
        for name in reader.view.state.shards
    }


def _as_content(entries: pa.Table) -> dict[str, str | None]:
    rows = entries.to_pylist()
    content = {row["key"]: _value_of(row) for row in rows}
    assert len(content) == len(rows), "a key came twice"
    return content


def _value_of(row: dict[str, dict[str, str] | None]) -> str | None:
    payload = row["recordIndexMetadata"]
    return payload["orderingValue"] if payload else None


def by_hudi_rs(path: Path) -> Content:
    """The same table as hudi-rs reads it; partitions without entries don't show."""
    batches = HudiTableBuilder.from_base_uri(str(path)).build().read()
    content: Content = {}
    for batch in batches:
        for row in batch.to_pylist():
            partition = content.setdefault(row["partition"], {})
            assert row["key"] not in partition, "a key came twice"
            partition[row["key"]] = _value_of(row)
    return content


def without_empty(content: Content) -> Content:
    return {name: entries for name, entries in content.items() if entries}


def agreed(path: Path, clock: Clock) -> Content:
    """What our reader and hudi-rs both say the table holds."""
    table = open_table(path, clock)
    content = ours(table)
    if table.view().commits:
        assert by_hudi_rs(path) == without_empty(content)
    return content


def leftovers(path: Path, clock: Clock) -> set[str]:
    """Data files that no completed commit names."""
    named = {stat.path for commit in open_table(path, clock).view().commits for stat in commit.metadata.stats}
    files = {
        f"{file.parent.name}/{file.name}"
        for file in path.glob("*/*")
        if file.parent.name != ".hoodie" and parse_data_file(file.name)
    }
    return files - named


def newest_decision(path: Path) -> Path | None:
    """The ledger's last file."""
    return max((path / ".hoodie/ledger").glob("*.json"), default=None)


def is_last_decision_a_commit_of(path: Path, clock: Clock, owner: str) -> bool:
    """Whether the last thing that happened is that this writer's commit was decided."""
    newest = newest_decision(path)
    decision = json.loads(newest.read_text()) if newest else {}
    begins = {
        grant["requested_time"]
        for file in (path / ".hoodie/ledger").glob("*.json")
        for grant in json.loads(file.read_text())["open"]
        if grant["owner"]["user"] == owner
    }
    return decision.get("step") == "commit" and decision["completes"].split("/")[-1].split("_")[0] in begins


Work = Callable[[Path, Clock], object]
"""What a process does to the table at a path."""


def crash_points(path: Path, clock: Clock, work: Work) -> int:
    """At how many points `work` can die, found by doing it on a copy."""
    copy = path.with_name(path.name + "-copy")
    shutil.copytree(path, copy)
    try:
        with points_counted() as bomb:
            work(copy, replace(clock))
        return bomb.passed
    finally:
        shutil.rmtree(copy)


def crash_and_recover(
    path: Path, clock: Clock, work: Work, *, point: int, before: Content, after: Content
) -> Content:
    """Let `work` die at a point; then the table holds `before` or `after`, whatever comes. Returns which."""
    earlier = newest_decision(path)
    with dying_at(point):
        work(path, clock)
    clock.advance(minutes=2)
    seen = agreed(path, clock)
    assert seen in (before, after)
    # One that dies before its first decision leaves an earlier commit as the last thing decided.
    is_decided = newest_decision(path) != earlier and is_last_decision_a_commit_of(path, clock, "one")
    # The next writers finish what was decided and clear what was not; they change nothing else.
    table = open_table(path, clock, owner="next")
    with table.begin() as transaction:
        transaction.commit()
    found = agreed(path, clock)
    assert found == after or (seen == before and found == before and not is_decided)
    assert not leftovers(path, clock)
    table.compact(force=True)
    assert agreed(path, clock) == found
    return found
