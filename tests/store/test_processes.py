"""Eight processes commit at once: every commit is in the history once, no entry is lost, losers are told."""

from __future__ import annotations

import json
import random
import time
from datetime import timedelta
from pathlib import Path

import pyarrow as pa

from hudi_index.errors import ConflictError
from hudi_index.metadata_table.compaction import compact_slice
from hudi_index.metadata_table.ledger import WriterId
from hudi_index.metadata_table.table import MetadataTable, Settings
from hudi_index.storage import Storage
from tests.store.support import by_hudi_rs, entries_of
from tests.support.own_processes import OWN_PROCESSES
from tests.support.storage import IS_FAR

WRITERS = 7
# A lease shorter than some commits; over HTTP these take longer.
LEASE, SECONDS = (timedelta(seconds=1.2), 24.0) if IS_FAR else (timedelta(milliseconds=40), 4.0)


def _open(path: str, name: str, lease: timedelta = LEASE) -> MetadataTable:
    # Leases that are shorter than some commits, so that writers are fenced while they write.
    settings = Settings(lease=lease, retention=timedelta(seconds=2))
    return MetadataTable(
        Storage.open(path), settings, owner=WriterId(name, "elsewhere", 1, ""), renews_lease=False
    )


def _write(path: str, number: int, report: str) -> None:
    table, chance = _open(path, f"writer-{number}"), random.Random(number)
    committed, lost, turn = {}, 0, 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        turn += 1
        key = f"w{number}${turn:05d}"
        try:
            with table.begin() as transaction:
                if chance.random() < 0.3:
                    time.sleep(1.5 * LEASE.total_seconds())
                # Each commit counts itself in: a lost update would show as a gap.
                count = int(transaction.view.state.data_snapshot.get("count", "0"))
                entries = entries_of({key: transaction.requested_time})
                transaction.add([transaction.writer.write_log("files", 0, upserts=entries)])
                transaction.commit({"count": str(count + 1)})
            committed[key] = transaction.requested_time
        except ConflictError:
            lost += 1
            time.sleep(chance.random() * 0.02)
    Path(report).write_text(json.dumps({"committed": committed, "lost": lost}))


def _compact(path: str, report: str) -> None:
    table, done, lost = _open(path, "compactor", timedelta(seconds=20)), 0, 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            begun = table.begin_compaction(force=True)
            if begun:
                compaction, slices = begun
                with compaction:
                    compaction.add([compact_slice(compaction.writer, shard_slice) for shard_slice in slices])
                    compaction.commit()
                done += 1
            table.clean()
        except ConflictError:
            lost += 1
        time.sleep(0.1)
    Path(report).write_text(json.dumps({"committed": {}, "compactions": done, "lost": lost}))


def test_eight_processes_committing_at_once_lose_nothing(tmp_path: Path) -> None:
    path = str(tmp_path / "mdt")
    table = _open(path, "main")
    table.create()
    with table.begin(shards={"files": 1}) as transaction:
        empty = pa.table({"key": pa.array([], pa.string())})
        transaction.add([transaction.writer.write_base("files", 0, [empty])])
        transaction.commit()
    reports = [str(tmp_path / f"{number}.json") for number in range(WRITERS + 1)]
    processes = [
        OWN_PROCESSES.Process(target=_write, args=(path, number, reports[number]))
        for number in range(WRITERS)
    ]
    processes.append(OWN_PROCESSES.Process(target=_compact, args=(path, reports[WRITERS])))
    for process in processes:
        process.start()
    for process in processes:
        process.join(600)
        assert process.exitcode == 0
    results = [json.loads(Path(report).read_text()) for report in reports]
    committed = {key: instant for result in results for key, instant in result["committed"].items()}
    found = by_hudi_rs(Path(path))["files"]
    scanned = _open(path, "main").reader().scan("files").read_all().column("key").to_pylist()
    assert set(scanned) == set(found)
    assert found == committed
    # A chain without forks: as many counts as commits.
    assert _open(path, "main").view().state.data_snapshot == {"count": str(len(committed))}
    assert len(set(committed.values())) == len(committed) > WRITERS
    assert results[WRITERS]["compactions"] > 0
    assert sum(result["lost"] for result in results) > 0
