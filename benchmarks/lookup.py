"""Look-ups in an index of three million entries: how long cold (a new process's first) and warm ones take.

    python benchmarks/lookup.py [entries]

Builds a secondary index partition once under .bench/ and keeps it.
Goals: cold at most 150 ms, warm at most 20 ms.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa

from hudi_index.catalog import IndexDefinition
from hudi_index.entries import encode_array, shards_of
from hudi_index.entries.ranges import KeyRange
from hudi_index.kinds import SliceContext, describe, kind_of
from hudi_index.metadata_table.table import MetadataTable
from hudi_index.storage import Storage
from hudi_index.table import RECORD_KEY, FileGroupId

PARTITION = "secondary_index_bench"
SHARDS = 8
GROUPS = 1000
VALUES_PER_ENTRY = 10


def build(path: Path, entries: int) -> float:
    """Write entries of a tenth as many values from 1,000 file groups, then three small commits of logs."""
    started = time.perf_counter()
    table = MetadataTable(Storage.open(path))
    table.create()
    chance = np.random.default_rng(1)
    values = pa.array(chance.integers(0, entries // VALUES_PER_ENTRY, entries))
    records = pa.array(chance.permutation(entries)).cast(pa.string())
    kind = kind_of(IndexDefinition("bench", "secondary_index", ("value",)), {"value": pa.int64()})
    size = entries // GROUPS
    described = [
        describe(
            kind,
            SliceContext(
                FileGroupId(f"2026-{group % 12:02d}", f"{group:08x}-0000-4000-8000-000000000000-0"), group
            ),
            [pa.record_batch({RECORD_KEY: records.slice(at, size), "value": values.slice(at, size)})],
        )
        for group, at in enumerate(range(0, GROUPS * size, size))
    ]
    keys = pa.concat_tables(described).column("key").combine_chunks()
    shards = shards_of(keys, SHARDS, kind.key_tail)
    with table.begin(shards={PARTITION: SHARDS}) as transaction:
        for shard in range(SHARDS):
            mine = pa.table({"key": keys.filter(pa.array(shards == shard))}).sort_by("key")
            transaction.add([transaction.writer.write_base(PARTITION, shard, [mine])])
        transaction.commit()
    for round_ in range(3):
        with table.begin() as transaction:
            picked = keys.take(pa.array(chance.choice(len(keys), 2000, replace=False)))
            where = shards_of(picked, SHARDS, kind.key_tail)
            for shard in range(SHARDS):
                mine = picked.filter(pa.array(where == shard))
                half = len(mine) // 2
                transaction.add(
                    [
                        transaction.writer.write_log(
                            PARTITION,
                            shard,
                            upserts=pa.table({"key": mine.slice(half)}),
                            deletes=mine.slice(0, half),
                        )
                    ]
                )
            transaction.commit({"round": str(round_)})
    return time.perf_counter() - started


def look(path: Path, entries: int) -> dict[str, float]:
    """One cold look-up (imports are not counted), then warm ones at other values."""
    chance = np.random.default_rng()
    wanted = encode_array(pa.array(chance.integers(0, entries // VALUES_PER_ENTRY, 201))).to_pylist()
    started = time.perf_counter()
    table = MetadataTable(Storage.open(path))
    found = _find(table, wanted[0])
    cold = time.perf_counter() - started
    warm = []
    for value in wanted[1:]:
        started = time.perf_counter()
        found += _find(table, value)
        warm.append(time.perf_counter() - started)
    assert found > len(wanted)
    started = time.perf_counter()
    many = [(value, KeyRange.prefix(f"{value}$")) for value in _values(chance, entries, 10_000)]
    table.reader().lookup_sharded(PARTITION, many, columns=[])
    return {
        "cold": cold,
        "warm median": statistics.median(warm),
        "warm worst": max(warm),
        "10,000 values": time.perf_counter() - started,
    }


def _values(chance: np.random.Generator, entries: int, count: int) -> list[str]:
    values: list[str] = encode_array(
        pa.array(chance.integers(0, entries // VALUES_PER_ENTRY, count))
    ).to_pylist()
    return values


def _find(table: MetadataTable, value: str) -> int:
    found = table.reader().lookup(PARTITION, [KeyRange.prefix(f"{value}$")], columns=[], within=value)
    return int(found.num_rows)


def main() -> None:
    """Build if need be, then look from five new processes."""
    if sys.argv[1:2] == ["--look"]:
        print(json.dumps(look(Path(sys.argv[2]), int(sys.argv[3]))))
        return
    entries = int(sys.argv[1]) if sys.argv[1:] else 3_000_000
    path = Path(".bench") / f"lookup-{entries}"
    if not path.exists():
        print(f"built {entries:,} entries in {build(path, entries):.1f} s")
    size = sum(file.stat().st_size for file in path.rglob("*.parquet"))
    print(f"base files: {size / 1e6:.1f} MB, {size / entries:.1f} bytes an entry")
    runs = [
        json.loads(
            subprocess.run(
                [sys.executable, __file__, "--look", str(path), str(entries)],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
        )
        for _ in range(5)
    ]
    for name in runs[0]:
        times = sorted(1000 * run[name] for run in runs)
        print(f"{name:>15}: median {statistics.median(times):7.1f} ms, worst {times[-1]:7.1f} ms")


if __name__ == "__main__":
    main()
