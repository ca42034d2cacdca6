"""What the log tells: what was decided and what is read, to those who want to know."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from hudi_index import IndexedTable
from tests.support.tables import Fabricated

INSTANT = "20240101000000000"


@pytest.fixture
def files(tmp_path: Path) -> Fabricated:
    files = Fabricated(tmp_path / "t", partition_fields="")
    files.commit(INSTANT)
    for group in "abc":
        files.base_file("", group, INSTANT, [{"id": f"{group}{n}", "n": n, "region": "eu"} for n in range(3)])
    return files


@pytest.fixture
def told(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.DEBUG, logger="hudi_index")
    return caplog


def test_decisions_of_a_build_are_told(files: Fabricated, told: pytest.LogCaptureFixture) -> None:
    table = IndexedTable.open(files.path)
    table.sql("CREATE INDEX by_n ON t (n)")

    uri = table.storage.uri
    assert (
        f"{uri}: 3 of 3 file groups changed; kept []; built ['by_n']; replaced partitions []" in told.messages
    )
    assert any("has the maintenance lease" in message for message in told.messages)
    assert any("completes .hoodie/timeline/" in message for message in told.messages)

    told.clear()
    table.maintain()
    assert [each for each in told.messages if "changed; kept" in each] == []

    files.commit("20240102000000000")
    files.base_file("", "d", "20240102000000000", [{"id": "d0", "n": 9, "region": "eu"}])
    table.maintain()
    assert (
        f"{uri}: 1 of 4 file groups changed; kept ['by_n']; built []; replaced partitions []" in told.messages
    )


def test_what_a_scan_reads_is_told(files: Fabricated, told: pytest.LogCaptureFixture) -> None:
    table = IndexedTable.open(files.path)
    assert told.messages == []

    table.scan("n = 1", threads=2).read_all()

    assert f"a scan of {table.storage.uri} reads 3 of 3 file groups, 2 at a time" in told.messages
    assert sum("is read by its row groups" in message for message in told.messages) == 3


@pytest.mark.parametrize(
    ("option", "expected", "absent"),
    [(None, "", "committed"), ("--verbose", "committed", "lease"), ("--debug", "lease", " DEBUG py4j")],
)
def test_command_tells_as_much_as_it_is_asked_to(
    files: Fabricated, option: str | None, expected: str, absent: str
) -> None:
    command = [sys.executable, "-m", "hudi_index.cli", "create", "--in-process", "--table", str(files.path)]
    done = subprocess.run(
        [*command, *([option] if option else []), "CREATE INDEX by_n ON t (n)"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert expected in done.stderr
    assert absent not in done.stderr
    assert ("DEBUG hudi_index." in done.stderr) is (option == "--debug")
    assert {line.split()[3].partition(".")[0] for line in done.stderr.splitlines() if " DEBUG " in line} <= {
        "hudi_index"
    }
