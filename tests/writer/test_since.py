"""Whether a table is still as it was looked at, by timelines of all kinds. No Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_index.storage import Storage
from hudi_index.table import TableConfig, Timeline
from hudi_index.writer.since import Seen

if TYPE_CHECKING:
    from pathlib import Path


def test_what_completed_or_was_undone_since_is_noticed(tmp_path: Path) -> None:
    timeline = tmp_path / "t" / ".hoodie" / "timeline"
    timeline.mkdir(parents=True)
    (timeline.parent / "hoodie.properties").write_text("hoodie.table.name=t\nhoodie.table.version=9\n")
    storage = Storage.open(tmp_path / "t")
    config = TableConfig.load(storage)

    def put(*names: str) -> Timeline:
        for name in names:
            (timeline / name).touch()
        return Timeline.load(storage, config)

    seen = Seen.of(put("1_2.commit", "3_4.deltacommit", "5.deltacommit.requested", "5.deltacommit.inflight"))
    assert seen.changed_by(put("6_7.clean", "8_9.savepoint", "9.compaction.requested")) == []
    # What a writer left that died was no commit.
    assert seen.changed_by(put("10_11.rollback")) == []
    seen = Seen.of(Timeline.load(storage, config))
    (timeline / "1_2.commit").unlink()
    assert seen.changed_by(Timeline.load(storage, config)) == [], "archived"
    assert seen.changed_by(put("12.restore.requested")) == ["1"]
    # One that began before and is completed later.
    assert seen.changed_by(put("5_20.deltacommit")) == ["1", "5"]
