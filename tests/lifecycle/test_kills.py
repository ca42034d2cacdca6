"""kill -9 at random moments of every verb: the next run succeeds, and all entries are right."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.errors import IndexExistsError
from tests.support.entries import check_indexes
from tests.support.tables import Fabricated

ROOT = Path(__file__).parents[2]
STATEMENTS = [
    "CREATE INDEX by_n ON t (n)",
    "CREATE INDEX stats ON t USING column_stats (n, region)",
    "CREATE INDEX keys ON t USING record_index (id)",
    "CREATE INDEX regions ON t USING bitmap (region)",
]
WORK = """
import sys
from hudi_index import IndexedTable
from hudi_index.errors import IndexExistsError

table = IndexedTable.open(sys.argv[1])
print("ready", flush=True)
while True:
    for statement in sys.argv[2:]:
        try:
            table.sql(statement)
        except IndexExistsError:
            table.sql("REBUILD INDEX " + statement.split()[2] + " ON t")
    table.maintain()
    table.compact(force=True)
    table.drop("regions")
"""


def _rows(chance: random.Random, count: int) -> list[dict[str, object]]:
    return [{"id": f"k{place}", "n": chance.randrange(50), "region": "eu"} for place in range(count)]


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_random_moments_the_next_run_makes_everything_right(kills: int, tmp_path: Path) -> None:
    chance = random.Random(11)
    table = Fabricated(tmp_path / "t", partition_fields="")
    for kill in range(kills):
        instant = f"202401{kill + 1:02d}000000000"
        table.commit(instant)
        for group in chance.sample("abcde", 2):
            table.base_file("", group, instant, _rows(chance, 300))
        process = subprocess.Popen(
            [sys.executable, "-c", WORK, str(table.path), *STATEMENTS], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(chance.random() * 0.7)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        # The dead process's lease is free at once: its number is gone from this host.
        indexed = IndexedTable.open(table.path)
        indexed.maintain()
        for statement in STATEMENTS:
            _create(indexed, statement)
        check_indexes(indexed.storage)
        assert {each.state for each in indexed.indexes()} == {IndexState.READY}
        assert len(indexed.indexes()) == len(STATEMENTS)


def _create(indexed: IndexedTable, statement: str) -> None:
    name = statement.split()[2]
    found = next((each for each in indexed.indexes() if each.name == name), None)
    if found is not None and found.state is IndexState.DROPPING:
        indexed.drop(name)
    try:
        indexed.sql(statement)
    except IndexExistsError:
        assert found is not None
