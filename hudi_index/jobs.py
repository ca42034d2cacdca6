"""What a lifecycle verb reports: plain values, the same as JSON for machines and as text for people.

While it runs, `progress` tells a person at a terminal how far it is, if the program asked for that. Where it
fails, `Failure` is what the program says of it: one line, and the exit code.
"""

from __future__ import annotations

import json
import logging
import re
import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from hudi_index.errors import HudiIndexError, shortened, storage_error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

__all__ = [
    "SETTINGS_VARIABLE",
    "STORAGE_OPTIONS",
    "Failure",
    "JobReport",
    "align",
    "progress",
    "progress_shown",
    "show_logs",
    "timed",
]

SETTINGS_VARIABLE = "HUDI_INDEX_SETTINGS"
"""Names a file, for its owner's eyes only, with a job's Spark settings as JSON; the job removes it."""

STORAGE_OPTIONS = "storage_options"
"""What stands for the storage options among those settings, as an object of its own."""

_is_shown: ContextVar[bool] = ContextVar("progress is shown", default=False)
_PAUSE = 0.2
_CLEAR = "\r\x1b[K"
# Spark brings an error of a Python worker as the text of its traceback.
_OF_A_WORKER = re.compile(r"^(hudi_index(?:\.\w+)*)\.(\w+Error): (.+)$", re.MULTILINE)
log = logging.getLogger(__name__)


@contextmanager
def progress_shown() -> Iterator[None]:
    """Lets the verbs inside show their progress, on stderr and only if that is a terminal."""
    token = _is_shown.set(True)
    try:
        yield
    finally:
        _is_shown.reset(token)


@contextmanager
def progress(phase: str, total: int, unit: str, done: Callable[[], int]) -> Iterator[None]:
    """Shows how much of a phase is done, as `done` counts it, until it ends."""
    started = time.perf_counter()

    def line() -> str:
        seconds = time.perf_counter() - started
        return f"{phase}: {min(done(), total):,} of {total:,} {unit}, {seconds:.0f} s"

    def show() -> None:
        while not is_over.wait(_PAUSE):
            sys.stderr.write(f"{_CLEAR}{line()}")
            sys.stderr.flush()

    is_over = Event()
    shown = Thread(target=show, daemon=True) if _is_shown.get() and sys.stderr.isatty() else None
    if shown:
        shown.start()
    try:
        yield
    finally:
        is_over.set()
        if shown:
            shown.join()
            sys.stderr.write(f"{_CLEAR}{line()}\n")
            sys.stderr.flush()
        else:
            log.info("%s", line())


@dataclass(frozen=True, slots=True)
class Failure:
    """What a program says of an error, whatever raised it."""

    message: str
    kind: str
    """The name of the error's class."""
    exit_code: int
    is_expected: bool
    """Whether the message says all there is to say; else the traceback says more."""

    @classmethod
    def of(cls, error: BaseException) -> Failure:
        """What to say of an error."""
        if isinstance(error, OSError) and not isinstance(error, HudiIndexError):
            location = error.filename or "a file that the system does not name"
            error = storage_error_of(error, path=str(location), operation="be used")
        if isinstance(error, HudiIndexError):
            return cls(str(error), type(error).__name__, error.exit_code, is_expected=True)
        if found := _OF_A_WORKER.search(str(error)):
            kind = getattr(sys.modules.get(found[1]), found[2], HudiIndexError)
            return cls(found[3], found[2], int(getattr(kind, "exit_code", 1)), is_expected=True)
        kind_name = type(error).__name__
        way_out = "nobody foresaw this: run it again with --debug to see where"
        message = f"{kind_name}: {shortened(str(error))}; {way_out}"
        return cls(message, kind_name, 1, is_expected=False)


def show_logs(*, verbose: bool = False, debug: bool = False) -> None:
    """Have this process write its log to standard error: warnings, with `verbose` what is done as well.

    With `debug` also what was decided and looked up, of our own parts only: other libraries, py4j for one,
    would put every call there, with its arguments.
    """
    form = "%(asctime)s %(levelname)s %(name)s: %(message)s" if debug else "%(message)s"
    logging.basicConfig(level=logging.INFO if verbose or debug else logging.WARNING, format=form)
    logging.getLogger("hudi_index").setLevel(logging.DEBUG if debug else logging.NOTSET)


def align(rows: Sequence[Sequence[object]], *, indent: str = "") -> str:
    """Rows of cells as text, with the columns below each other. None is an empty cell, a list its items."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        indent + "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    )


def _cell(value: object) -> str:
    if value is None:
        return ""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


@contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Adds the time spent inside to the seconds of a phase."""
    started = time.perf_counter()
    try:
        yield
    finally:
        seconds[phase] = round(seconds.get(phase, 0.0) + time.perf_counter() - started, 3)


@dataclass
class JobReport:
    """What one run of a verb did and what it cost."""

    verb: str
    table: str
    indexes: list[str] = field(default_factory=list)
    """The indexes that were worked on."""
    instant: str | None = None
    """The data table's instant that the indexes describe now."""
    commit: str | None = None
    """The commit made in the index metadata table, None if there was nothing to do."""
    file_groups: int = 0
    """File groups looked at."""
    file_groups_changed: int = 0
    rows_read: int = 0
    entries_added: int = 0
    entries_removed: int = 0
    bytes_written: int = 0
    notes: list[str] = field(default_factory=list)
    """What else the reader should know, such as an index that became invalid."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By phase."""

    @property
    def exit_code(self) -> int:
        """What a process exits with: a job that has a report and no error went well."""
        return 0

    def phase(self, name: str) -> AbstractContextManager[None]:
        """Counts the time spent inside as part of a phase."""
        return timed(self.seconds, name)

    def as_dict(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return asdict(self)

    def to_json(self) -> str:
        """One line of JSON."""
        return json.dumps(self.as_dict(), sort_keys=True)

    def __str__(self) -> str:
        facts = {
            "indexes": ", ".join(self.indexes) or "none",
            "data instant": self.instant or "none",
            "index commit": self.commit or "none needed",
            "file groups": f"{self.file_groups_changed} changed of {self.file_groups}",
            "rows read": self.rows_read,
            "entries": f"{self.entries_added} added, {self.entries_removed} removed",
            "bytes written": self.bytes_written,
            "seconds": ", ".join(f"{name} {spent}" for name, spent in self.seconds.items()),
        }
        lines = [f"  {name:<15} {value}" for name, value in facts.items()]
        notes = [f"  {'note':<15} {note}" for note in self.notes]
        return "\n".join([f"{self.verb} {self.table}", *lines, *notes])
