"""What the documents show runs, and what they link to is there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, own_files

NOT_RUN = re.compile(r"<!-- not run: \S.* -->")
ON_A_TABLE = "<!-- run on a table -->"
COMMAND = re.compile(r"^ *(hudi-index .*)$", re.MULTILINE)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Block:
    """One ```python block."""

    code: str
    line: int
    runs: bool
    on_a_table: bool = False


def python_blocks(text: str) -> list[Block]:
    blocks, lines = [], text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.strip() == "```python"]
    for start in starts:
        end = next(number for number in range(start + 1, len(lines)) if lines[number].strip() == "```")
        above = next((line for line in reversed(lines[:start]) if line.strip()), "")
        code = "\n".join(lines[start + 1 : end]) + "\n"
        on_a_table = above.strip() == ON_A_TABLE
        runs = not on_a_table and not NOT_RUN.fullmatch(above.strip())
        blocks.append(Block(code, start + 2, runs, on_a_table))
    return blocks


def documents() -> list[Path]:
    return own_files(".md")


def test_block_runs_unless_the_line_above_says_why_not() -> None:
    text = (
        "a\n```python\none\n```\n<!-- not run: needs a cluster -->\n\n```python\ntwo\n```\n"
        "<!-- not run: -->\n```python\nthree\n```\n```sh\nfour\n```\n"
        "<!-- run on a table -->\n```python\nfive\n```\n"
    )

    assert python_blocks(text) == [
        Block("one\n", 3, runs=True),
        Block("two\n", 8, runs=False),
        Block("three\n", 12, runs=True),
        Block("five\n", 19, runs=False, on_a_table=True),
    ]


@pytest.mark.parametrize(
    "document",
    [
        pytest.param(document, id=str(document.relative_to(ROOT)))
        for document in documents()
        if any(block.runs for block in python_blocks(document.read_text(encoding="utf-8")))
    ],
)
def test_python_blocks_run(document: Path, tmp_path: Path) -> None:
    """One process per document: importing Airflow takes longer than all that its blocks do."""
    blocks = [block for block in python_blocks(document.read_text(encoding="utf-8")) if block.runs]
    runner = "import json, sys\nfor at, text in json.loads(sys.argv[1]): exec(compile(text, at, 'exec'), {})"
    named = [(f"{document.name}, block at line {block.line}", block.code) for block in blocks]
    done = subprocess.run(
        [sys.executable, "-c", runner, json.dumps(named)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_are_ones_that_there_are(document: Path) -> None:
    """Each line with `hudi-index` that is no grammar is taken by the command's parser."""
    from hudi_index.cli.command import _parser

    for line in COMMAND.findall(document.read_text(encoding="utf-8")):
        if not re.search(r"[…|\[]", line):
            _parser().parse_args(shlex.split(line)[1:])


def test_reference_is_what_the_code_says(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "reference.py")],
        env={**os.environ, "AIRFLOW_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    written = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    assert written == done.stdout, "run `make reference`"


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(document: Path) -> None:
    links = LINK.findall(document.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]

    assert missing == []
