"""Planning over many file groups that exist in the index only: seconds, and memory at its highest.

    python benchmarks/planning.py [file groups] [entries of the secondary index]

Goals: 286,603 file groups with column_stats and secondary_index in at most 1 s and 1 GiB; `=` on 3 million
entries in at most 150 ms cold and 20 ms warm. A cold plan is a new process's first over a loaded snapshot.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from hudi_index import IndexedTable
from hudi_index.coverage import files
from hudi_index.entries import encode_array, join_keys, owner_suffix, shards_of
from hudi_index.entries.schema import PAYLOADS
from hudi_index.metadata_table import MetadataTable
from hudi_index.planner import plan
from hudi_index.storage import Storage
from hudi_index.table import FileGroupId, FileSlice, Snapshot

sys.path.insert(0, str(Path(__file__).parents[1]))

INSTANT = "20240101000000000"
SHARDS = 16


def slices_of(count: int) -> tuple[FileSlice, ...]:
    """Slices of 1,000 partitions, none of which has files."""
    found = []
    for number in range(count):
        group = FileGroupId(f"2024/{number % 1000:04d}", f"{number:08x}-0000-4000-8000-000000000000-0")
        name = f"{group.file_id}_0-1-2_{INSTANT}.parquet"
        found.append(
            FileSlice(group, name, base_size=100_000_000, base_instant=INSTANT, latest_instant=INSTANT)
        )
    return tuple(sorted(found, key=lambda piece: piece.group))


def build(path: Path, groups: int, entries: int) -> None:
    """One small table, whose index metadata is then written anew for many file groups."""
    from tests.support.tables import Fabricated

    table = Fabricated(path, partition_fields="")
    table.commit(INSTANT)
    table.base_file("", "a", INSTANT, [{"id": "1", "n": 1, "region": "eu"}])
    indexed = IndexedTable.open(path)
    indexed.sql("CREATE INDEX stats ON t USING column_stats (n)")
    indexed.sql("CREATE INDEX by_id ON t (id)")
    slices = slices_of(groups)
    owners = [owner_suffix(piece.group.partition_path, piece.group.file_id) for piece in slices]
    noted = [
        files.IndexedSlice.of(piece, number=number, row_count=10, schema_id="")
        for number, piece in enumerate(slices)
    ]
    low = encode_array(pa.array(np.arange(groups) * 10, pa.int32())).to_pylist()
    high = encode_array(pa.array(np.arange(groups) * 10 + 9, pa.int32())).to_pylist()
    stats = [
        {"columnName": "n", "minValue": a, "maxValue": b, "valueCount": 10, "nullCount": 0, "nanCount": 0}
        for a, b in zip(low, high, strict=True)
    ]
    column_stats = pa.table(
        {
            "key": [f"n${owner}" for owner in owners],
            "ColumnStatsMetadata": pa.array(stats, PAYLOADS["ColumnStatsMetadata"]),
        }
    )
    values = encode_array(pa.array([f"v{n:08d}" for n in range(entries)]))
    owner_numbers = pa.array(np.arange(entries) % groups).cast(pa.string())
    keys = join_keys([values, values, owner_numbers])
    shards = shards_of(values, SHARDS)
    store = MetadataTable.of(Storage.open(path))
    names = ["files", "column_stats", "secondary_index_by_id"]
    counts = dict(zip(names, (1, 1, SHARDS), strict=True))
    with store.begin(replaced=names, shards=counts) as transaction:
        write = transaction.writer.write_base
        transaction.add([write("files", 0, [files.entries_of(noted).sort_by("key")])])
        transaction.add([write("column_stats", 0, [column_stats.sort_by("key")])])
        for shard in range(SHARDS):
            mine = pa.table({"key": keys.filter(pa.array(shards == shard))}).sort_by("key")
            transaction.add([write("secondary_index_by_id", shard, [mine])])
        transaction.commit(store.view().state.data_snapshot)


def look(path: Path, groups: int, entries: int, first: str) -> dict[str, float]:
    """Plans of a new process, one predicate before the other."""
    storage = Storage.open(path)
    snapshot = replace(Snapshot.load(storage), slices=slices_of(groups))
    store = MetadataTable.of(storage)
    predicates = {
        "both indexes": f"n BETWEEN 100 AND 1000 AND id IN ('v{20:08d}', 'v{30:08d}')",
        "= on secondary_index": f"id = 'v{entries // 2:08d}'",
    }
    found = {}
    for name in sorted(predicates, key=lambda name: name != first):
        for manner in ("cold", "warm") if name == first else ("warm",):
            times = []
            for _ in range(1 if manner == "cold" else 5):
                started = time.perf_counter()
                made = plan(store, storage, predicates[name], snapshot=snapshot)
                times.append(time.perf_counter() - started)
            found[f"{name}, {manner}, ms"] = 1000 * statistics.median(times)
            assert 0 < made.kept <= 2, made.explain()
    # Not getrusage: a process inherits there what the one that started it once had.
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    found["MiB at most"] = int(status["VmHWM"].split()[0]) / 1024
    return found


def main() -> None:
    """Build if need be, then plan from three new processes for each predicate."""
    if sys.argv[1:2] == ["--look"]:
        print(json.dumps(look(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5])))
        return
    groups = int(sys.argv[1]) if sys.argv[1:] else 286_603
    entries = int(sys.argv[2]) if sys.argv[2:] else 3_000_000
    path = Path(".bench") / f"planning-{groups}-{entries}"
    if not path.exists():
        build(path, groups, entries)
    command = [sys.executable, __file__, "--look", str(path), str(groups), str(entries)]
    for first in ("both indexes", "= on secondary_index"):
        runs = [
            json.loads(subprocess.run([*command, first], capture_output=True, text=True, check=True).stdout)
            for _ in range(3)
        ]
        for name in runs[0]:
            values = sorted(run[name] for run in runs)
            if name.startswith((first, "MiB")):
                print(f"{name:>32}: median {statistics.median(values):8.1f}, worst {values[-1]:8.1f}")


if __name__ == "__main__":
    main()
