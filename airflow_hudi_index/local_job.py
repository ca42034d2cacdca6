"""A job in a process of its own on this machine, followed through files: see `supervise.py` for which.

The process outlives the one that started it, so a deferred task's worker is free meanwhile, a trigger that is
restarted finds the job again, and a task that is tried again after its worker died joins the job it left.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_hudi_index.supervise import CANCELLED
from hudi_index.credentials import Options
from hudi_index.jobs import SETTINGS_VARIABLE, STORAGE_OPTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = ["LocalJob"]

_FILES_OF_A_RUN = (
    *("exit", "cancel", "job.log", "report.json", "validation.html"),
    *("asked", "command.json", "settings.json"),
)


@dataclass(frozen=True)
class LocalJob:
    """The job of one folder."""

    folder: Path

    @property
    def report_file(self) -> Path:
        """Where the job writes its report."""
        return self.folder / "report.json"

    @property
    def html_file(self) -> Path:
        """Where a validation writes its report for people."""
        return self.folder / "validation.html"

    @property
    def log_file(self) -> Path:
        """What the job prints."""
        return self.folder / "job.log"

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        settings: Mapping[str, str] | None = None,
        storage_options: Mapping[str, str] | None = None,
    ) -> bool:
        """Start the command, unless the same is running here already; returns whether it was started.

        Another one that is still running is stopped first. Environment, settings and storage options may
        hold secrets: they get to the command by files that only their owner can read and that are gone once
        read. Anybody can read the command itself.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        settings_file = self.folder / "settings.json"
        options = Options(storage_options)
        private = {**(settings or {}), **({STORAGE_OPTIONS: dict(options)} if options else {})}
        given = {**environment, **({SETTINGS_VARIABLE: str(settings_file)} if private else {})}
        asked = json.dumps({"command": list(command), "environment": given}, sort_keys=True)
        # Temporary keys are others at each try.
        same_options = json.dumps([dict(settings or {}), options.harmless()], sort_keys=True)
        digest = hashlib.sha256(f"{asked}\n{same_options}".encode()).hexdigest()
        same = self.folder / "asked"
        lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            if not _try_lock(lock):
                if same.exists() and same.read_text(encoding="utf-8") == digest:
                    return False
                self.cancel()
                fcntl.flock(lock, fcntl.LOCK_EX)
            for name in _FILES_OF_A_RUN:
                (self.folder / name).unlink(missing_ok=True)
            _write_privately(same, digest)
            _write_privately(self.folder / "command.json", asked)
            if private:
                _write_privately(settings_file, json.dumps(private))
            self.log_file.touch()
            # The lock belongs to the open file, not to the process: it stays with the supervisor.
            subprocess.run(
                [sys.executable, "-m", "airflow_hudi_index.supervise", str(self.folder)],
                pass_fds=(lock,),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                start_new_session=True,
                check=True,
            )
            return True
        finally:
            os.close(lock)

    def exit_code(self) -> int | None:
        """None while it runs; 1 if it vanished without a word, as after a crash of the machine."""
        if (code := self._read_code()) is not None:
            return code
        try:
            lock = os.open(self.folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError:
            return 1
        try:
            if not _try_lock(lock):
                return None
        finally:
            os.close(lock)
        code = self._read_code()
        return 1 if code is None else code

    def _read_code(self) -> int | None:
        try:
            return int((self.folder / "exit").read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None

    @property
    def was_cancelled(self) -> bool:
        """Whether it ended because it was told to."""
        return self._read_code() == CANCELLED

    def cancel(self) -> None:
        """Have it stopped, with all it started; does not wait."""
        (self.folder / "cancel").touch()

    def wait(self, seconds: float) -> int | None:
        """The exit code, or None if it runs for longer than that."""
        deadline = time.monotonic() + seconds
        while (code := self.exit_code()) is None and time.monotonic() < deadline:
            time.sleep(0.2)
        return code

    def lines(self) -> Iterator[str]:
        """What it prints, as it prints it, until it ends."""
        with self.log_file.open(encoding="utf-8", errors="replace") as log:
            while True:
                code = self.exit_code()
                yield from (line.rstrip("\n") for line in log)
                if code is not None:
                    return
                time.sleep(0.5)

    def report(self) -> dict[str, Any] | None:
        """What it reported, None if it came to nothing."""
        with contextlib.suppress(FileNotFoundError, ValueError):
            report: dict[str, Any] = json.loads(self.report_file.read_text(encoding="utf-8"))
            return report
        return None

    def last_lines(self, count: int = 30) -> str:
        """The end of what it printed."""
        with contextlib.suppress(FileNotFoundError):
            return "\n".join(
                self.log_file.read_text(encoding="utf-8", errors="replace").splitlines()[-count:]
            )
        return ""


def _write_privately(file: Path, text: str) -> None:
    """A new file that only its owner can read, from its first moment on."""
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as sink:
        sink.write(text)


def _try_lock(descriptor: int) -> bool:
    """Whether the lock could be taken."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
