"""Planted texts that must not come out anywhere, and where to look for them."""

from __future__ import annotations

import re
import sqlite3
import stat
import threading
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.airflow_home import HOME

if TYPE_CHECKING:
    from collections.abc import Iterator

MARK = "c4n4ry"
STARTED = ("local.py", "probe.py", "SparkSubmit", "hudi_index.spark.daemon")


def found_in(text: str | bytes, mark: str = MARK) -> list[str]:
    """The canaries in a text, each with what stands around it."""
    content = text.encode() if isinstance(text, str) else text
    return [
        content[max(0, at.start() - 60) : at.end() + 40].decode(errors="replace")
        for at in re.finditer(mark.encode(), content, re.IGNORECASE)
    ]


class Watch:
    """Looks at the command lines of all processes, again and again."""

    def __init__(self, mark: str = MARK) -> None:
        self._mark = mark
        self.found: set[str] = set()
        self.seen: set[str] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._is_over.wait(0.1):
            for file in Path("/proc").glob("[0-9]*/cmdline"):
                try:
                    line = file.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                except OSError:
                    continue
                self.seen.update(each for each in STARTED if each in line)
                self.found.update(found_in(line, self._mark))


def left_over(*folders: Path, mark: str = MARK) -> list[str]:
    """Files that hold a canary, and private ones that others can read."""
    found = []
    for folder in folders:
        for file in folder.rglob("*"):
            if not file.is_file() or file.is_symlink():
                continue
            found += [f"{file}: {each}" for each in found_in(file.read_bytes(), mark)]
            if file.name in ("asked", "command.json", "settings.json"):
                found += [str(file)] if stat.S_IMODE(file.stat().st_mode) != 0o600 else []
    return found


def database_texts() -> Iterator[tuple[str, str]]:
    """All that Airflow has stored, by table and column, but for what it was told in so many words."""
    with closing(sqlite3.connect(HOME / "airflow.db")) as database:
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in names:
            for row in database.execute(f'SELECT * FROM "{table}"'):
                for value in row:
                    yield table, value if isinstance(value, str) else str(value)
