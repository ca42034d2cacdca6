"""Progress is for a person at a terminal: on stderr, never on stdout, nothing where nobody looks."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from hudi_index.jobs import progress, progress_shown
from tests.parity.tables import COW, HudiTable, hostile_rows

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def _read_all(descriptor: int) -> str:
    found = b""
    while True:
        try:
            more = os.read(descriptor, 4096)
        except OSError:  # a terminal whose other end was closed
            break
        if not more:
            break
        found += more
    return found.decode()


def run(arguments: list[str], *, on_terminal: bool) -> tuple[str, str]:
    """Stdout and stderr of the CLI."""
    command = [sys.executable, "-m", "hudi_index.cli", *arguments]
    if not on_terminal:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        return done.stdout, done.stderr
    ours, theirs = pty.openpty()
    shown: list[str] = []
    reading = threading.Thread(target=lambda: shown.append(_read_all(ours)))
    reading.start()
    try:
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True, timeout=300
        )
    finally:
        os.close(theirs)
        reading.join()
        os.close(ours)
    return done.stdout, shown[0]


@pytest.mark.spark
def test_verbs_show_progress_on_a_terminal_only(spark: SparkSession, tmp_path: Path) -> None:
    hudi = HudiTable(spark, tmp_path / "t", COW)
    hudi.bulk_insert(hostile_rows(range(12)))
    table = ["--in-process", "--json", "--table", str(hudi.path)]
    out, shown = run(["create", *table, "CREATE INDEX by_name ON t (name)"], on_terminal=True)
    assert "build: 3 of 3 file groups, " in shown
    assert json.loads(out)["indexes"] == ["by_name"]
    out, shown = run(["compact", *table, "--force"], on_terminal=True)
    assert "file groups" not in shown
    hudi.upsert(hostile_rows(range(3), ts=2, salt=1))
    out, shown = run(["maintain", *table], on_terminal=False)
    assert json.loads(out)["file_groups_changed"] == 3
    assert shown == ""


def test_progress_counts_up_and_never_above_the_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress("build", 1000, "file groups", lambda: 12):
        pass
    assert capsys.readouterr().err == ""  # nobody asked for it
    # A task that Spark ran twice counts twice.
    with progress_shown(), progress("build", 1000, "file groups", lambda: 1007):
        pass
    shown = capsys.readouterr()
    assert shown.err.endswith("build: 1,000 of 1,000 file groups, 0 s\n")
    assert shown.out == ""
