"""Sorted pieces of changes: in whatever order and size they come, entries are written by key."""

from __future__ import annotations

import random
from itertools import pairwise

import pyarrow as pa
import pytest

from hudi_index.lifecycle import runs
from hudi_index.lifecycle.runs import METRICS, Changes, Counts, merged, pieces_of, targets_of


def _changes(chance: random.Random, partition: str, targets: range, count: int) -> Changes:
    rows = [
        {
            runs.TARGET: chance.choice(targets),
            "key": chance.choice(["é", "a", "", "z"]) + str(chance.randrange(500)),
            "type": 7,
            "_hoodie_is_deleted": chance.random() < 0.1,
        }
        for _ in range(count)
    ]
    fields: list[tuple[str, pa.DataType]] = [
        (runs.TARGET, pa.int32()),
        ("key", pa.string()),
        ("type", pa.int32()),
        ("_hoodie_is_deleted", pa.bool_()),
    ]
    return Changes(partition, pa.Table.from_pylist(rows, schema=pa.schema(fields)))


@pytest.mark.parametrize("seed", range(20))
def test_entries_arrive_sorted_and_complete(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(seed)
    monkeypatch.setattr(runs, "_GATHERED_BYTES", chance.choice([1, 500, 10**9]))
    monkeypatch.setattr(runs, "_PIECE_ROWS", chance.choice([1, 7, 10_000]))
    monkeypatch.setattr(runs, "_MERGED_ROWS", chance.choice([1, 20, 10_000]))
    tasks = [
        [
            _changes(chance, name, targets, chance.randrange(1, 60))
            for name, targets in (("files", range(1)), ("x", range(1, 4)), ("y", range(70_000, 70_002)))
            for _ in range(chance.randrange(4))
        ]
        for _ in range(3)
    ]
    given = sorted(
        (row[runs.TARGET], row["key"], row["_hoodie_is_deleted"])
        for task in tasks
        for changes in task
        for row in changes.rows.to_pylist()
    )
    counted: list[list[Changes | Counts]] = [
        [*task, Counts({"rows_read": 5}), Counts({"rows_read": 6})] for task in tasks
    ]
    pieces = sorted(piece for task in counted for piece in pieces_of(task))
    arrived, counts = [], []
    for target, mine in targets_of(pieces):
        if target == METRICS:
            counts = [piece.data for piece in mine]
            continue
        rows = [row for table in merged(mine) for row in table.to_pylist()]
        assert all(one["key"] <= other["key"] for one, other in pairwise(rows))
        arrived += [(target, row["key"], row["_hoodie_is_deleted"]) for row in rows]
    assert sorted(arrived) == given
    assert counts == [b'{"rows_read": 11}'] * 3
