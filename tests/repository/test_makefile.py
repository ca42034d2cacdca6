"""`make` explains itself, and says what is missing."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.repository.tree import ROOT

pytestmark = pytest.mark.skipif(not shutil.which("make"), reason="there is no make")


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


def test_make_alone_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony

    listed = [line.split()[0] for line in make().stdout.splitlines()]

    assert listed == phony[1].split()
    assert set(re.findall(r"^([a-z0-9-]+):", makefile, re.MULTILINE)) == set(listed)


def test_setup_without_a_fitting_python_says_which_would_fit(tmp_path: Path) -> None:
    old = tmp_path / "python3"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    absent = tmp_path / "absent"

    done = make("setup", f"PYTHON={old} {absent}", f"VENV={tmp_path / 'venv'}")

    assert done.returncode != 0
    assert f"No Python 3.10, 3.11 or 3.12 with venv and pip among: {old} {absent}" in done.stderr
    assert "make PYTHON=" in done.stderr
    assert not (tmp_path / "venv").exists()


@pytest.mark.parametrize("target", ["check", "test"])
def test_ci_runs_what_developers_run(target: str) -> None:
    assert f"\nmake {target}\n" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
