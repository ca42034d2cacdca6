"""What the documents show runs, and what they link to is there."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, own_files

NOT_RUN = re.compile(r"<!-- not run: \S.* -->")
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


@dataclass(frozen=True)
class Block:
    """One ```python block."""

    code: str
    line: int
    runs: bool


def python_blocks(text: str) -> list[Block]:
    blocks, lines = [], text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.strip() == "```python"]
    for start in starts:
        end = next(number for number in range(start + 1, len(lines)) if lines[number].strip() == "```")
        above = next((line for line in reversed(lines[:start]) if line.strip()), "")
        code = "\n".join(lines[start + 1 : end]) + "\n"
        blocks.append(Block(code, start + 2, runs=not NOT_RUN.fullmatch(above.strip())))
    return blocks


def documents() -> list[Path]:
    return own_files(".md")


def test_block_runs_unless_the_line_above_says_why_not() -> None:
    text = (
        "a\n```python\none\n```\n<!-- not run: needs a cluster -->\n\n```python\ntwo\n```\n"
        "<!-- not run: -->\n```python\nthree\n```\n```sh\nfour\n```\n"
    )

    assert python_blocks(text) == [
        Block("one\n", 3, runs=True),
        Block("two\n", 8, runs=False),
        Block("three\n", 12, runs=True),
    ]


@pytest.mark.parametrize(
    ("document", "block"),
    [
        pytest.param(document, block, id=f"{document.relative_to(ROOT)}:{block.line}")
        for document in documents()
        for block in python_blocks(document.read_text(encoding="utf-8"))
        if block.runs
    ],
)
def test_python_block_runs(document: Path, block: Block, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block.code], cwd=tmp_path, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, f"{document.relative_to(ROOT)}, line {block.line}:\n{done.stderr}"


@pytest.mark.parametrize("document", documents(), ids=lambda path: str(path.relative_to(ROOT)))
def test_relative_links_lead_somewhere(document: Path) -> None:
    links = LINK.findall(document.read_text(encoding="utf-8"))
    missing = [link for link in links if "://" not in link and not (document.parent / link).exists()]

    assert missing == []
