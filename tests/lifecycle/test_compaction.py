"""Compaction of the index metadata table: what is due, what is named, and beside maintenance."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hudi_index import IndexedTable
from hudi_index.errors import UnknownPartitionError
from tests.support.entries import check_indexes
from tests.support.tables import Fabricated

ROOT = Path(__file__).parents[2]
COMPACT = """
import sys
from hudi_index import IndexedTable

table, done = IndexedTable.open(sys.argv[1]), 0
print("ready", flush=True)
for line in sys.stdin:
    done += table.compact(force=True).commit is not None
    print(done, flush=True)
"""


def _change(files: Fabricated, day: int) -> None:
    instant = f"202401{day:02d}000000000"
    files.commit(instant)
    for group in ("abcd"[day % 4], "abcd"[(day + 1) % 4]):
        rows = [{"id": f"{group}{place}", "n": place + day, "region": "eu"} for place in range(200)]
        files.base_file("", group, instant, rows)


@pytest.fixture
def files(tmp_path: Path) -> Fabricated:
    files = Fabricated(tmp_path / "t", partition_fields="")
    _change(files, 1)
    return files


@pytest.fixture
def table(files: Fabricated) -> IndexedTable:
    table = IndexedTable.open(files.path)
    table.sql("CREATE INDEX by_n ON t (n)")
    table.sql("CREATE INDEX stats ON t USING column_stats (n, region)")
    table.sql("CREATE INDEX keys ON t USING record_index (id)")
    return table


def _logs(table: IndexedTable) -> dict[str, int]:
    return {each.partition: each.log_files for each in table.status().indexes}


def test_compact_takes_what_is_due_and_with_force_what_is_named(
    files: Fabricated, table: IndexedTable
) -> None:
    _change(files, 2)
    table.maintain()
    before = _logs(table)
    assert set(before.values()) == {1}
    assert table.compact().notes == ["nothing is due"]
    assert _logs(table) == before
    report = table.compact(partitions=["column_stats"], force=True)
    assert report.indexes == ["column_stats"]
    assert _logs(table) == before | {"column_stats": 0}
    with pytest.raises(UnknownPartitionError, match="no partition 'nope'"):
        table.compact(partitions=["nope"], force=True)
    check_indexes(table.storage)


def test_compact_in_one_process_beside_maintain_in_another(files: Fabricated, table: IndexedTable) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", COMPACT, str(files.path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    with process:
        assert process.stdout.readline() == "ready\n"
        for day in range(2, 12):
            _change(files, day)
            process.stdin.write("again\n")
            process.stdin.flush()
            assert table.maintain().commit
            check_indexes(table.storage)
        process.stdin.close()
        answers = process.stdout.read().split()
        assert process.wait() == 0
    assert len(answers) == 10, "one compaction failed"
    assert int(answers[-1]) > 0, "nothing was ever compacted"
    check_indexes(table.storage)
