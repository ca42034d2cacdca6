"""Look-ups in an index of three million entries: how long cold (a new process's first) and warm ones take.

    python benchmarks/lookup.py [entries]

Builds a secondary index partition and a record index once under .bench/ and keeps them.
Goals: cold at most 150 ms, warm at most 20 ms; 100,000 random record keys with their ordering values at once:
cold at most 1.5 s, warm at least a million a second of one core.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from hudi_index.catalog import IndexDefinition
from hudi_index.entries import encode_array, shards_of
from hudi_index.entries.ranges import KeyRange
from hudi_index.kind_parts.record_keys import record_key_parts
from hudi_index.kinds import SliceContext, describe, kind_of
from hudi_index.metadata_table.bulk_lookup import BulkLookup
from hudi_index.metadata_table.table import MetadataTable
from hudi_index.storage import Storage
from hudi_index.table import RECORD_KEY, FileGroupId

if TYPE_CHECKING:
    from collections.abc import Iterator

PARTITION = "secondary_index_bench"
SHARDS = 8
GROUPS = 1000
VALUES_PER_ENTRY = 10
RECORDS = "record_index"
ASKED = 100_000


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


def build_records(path: Path, entries: int) -> float:
    """Write a record index of 1,000 file groups, then a commit that changes one entry of a thousand."""
    started = time.perf_counter()
    table = MetadataTable(Storage.open(path))
    table.create()
    chance = np.random.default_rng(1)
    kind = kind_of(IndexDefinition("records", RECORDS, ("id",)), {"id": pa.string()}, ("ts",))
    size = entries // GROUPS
    order = chance.permutation(GROUPS * size)
    described = [
        describe(
            kind,
            SliceContext(FileGroupId("p", f"{group:08x}-0000-4000-8000-000000000000-0"), group),
            [
                pa.record_batch(
                    {
                        RECORD_KEY: _record_keys(order[at : at + size]),
                        "ts": pa.array(chance.integers(0, 1 << 40, size)),
                        "_hoodie_commit_time": pa.array(["20261101000000000"] * size),
                    }
                )
            ],
        )
        for group, at in enumerate(range(0, GROUPS * size, size))
    ]
    found = pa.concat_tables(described).combine_chunks()
    changed = found.take(pa.array(chance.choice(found.num_rows, entries // 1000, replace=False)))
    with table.begin(shards={RECORDS: SHARDS}) as transaction:
        for shard, mine in _by_shard(found, kind.key_tail):
            transaction.add([transaction.writer.write_base(RECORDS, shard, [mine])])
        transaction.commit()
    with table.begin() as transaction:
        for shard, mine in _by_shard(changed, kind.key_tail):
            transaction.add([transaction.writer.write_log(RECORDS, shard, upserts=mine)])
        transaction.commit()
    return time.perf_counter() - started


def _record_keys(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array[Any]:
    return pa.array([f"order-{number:09d}" for number in numbers.tolist()])


def _by_shard(entries: pa.Table, tail: int) -> Iterator[tuple[int, pa.Table]]:
    keys: Any = entries.column("key").combine_chunks()
    where = shards_of(keys, SHARDS, tail)
    for shard in range(SHARDS):
        yield shard, entries.filter(pa.array(where == shard)).sort_by("key")


def look_up_records(path: Path, entries: int) -> dict[str, float]:
    """100,000 random record keys in a new process, then others, all by one thread."""
    chance = np.random.default_rng()
    known = entries // GROUPS * GROUPS
    asked = [_record_keys(chance.integers(0, known, ASKED)) for _ in range(11)]
    started = time.perf_counter()
    table = MetadataTable(Storage.open(path))
    times, used = [], []
    for each in asked:
        begun = time.process_time()
        lookup = BulkLookup(table.storage, table.view())
        parts = record_key_parts(each)
        found = lookup.find(RECORDS, parts, payload="recordIndexMetadata", field="orderingValue")
        assert len(found) == ASKED
        times.append(time.perf_counter() - started)
        used.append(time.process_time() - begun)
        started = time.perf_counter()
    return {
        "100,000 keys, cold": times[0],
        "… cold, processor": used[0],
        "100,000 keys, warm": statistics.median(times[1:]),
        "… warm, processor": statistics.median(used[1:]),
    }


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
        path, entries = Path(sys.argv[2]), int(sys.argv[3])
        print(json.dumps(look(path / "values", entries) | look_up_records(path / "records", entries)))
        return
    entries = int(sys.argv[1]) if sys.argv[1:] else 3_000_000
    path = Path(".bench") / f"lookup-{entries}"
    for name, make in (("values", build), ("records", build_records)):
        if not (path / name).exists():
            print(f"built {entries:,} entries of {name} in {make(path / name, entries):.1f} s")
        size = sum(file.stat().st_size for file in (path / name).rglob("*.parquet"))
        print(f"base files of {name}: {size / 1e6:.1f} MB, {size / entries:.1f} bytes an entry")
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
        middle = statistics.median(times)
        print(f"{name:>18}: best {times[0]:7.1f}, median {middle:7.1f}, worst {times[-1]:7.1f} ms")


if __name__ == "__main__":
    main()
