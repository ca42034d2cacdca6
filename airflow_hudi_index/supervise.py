"""Runs one command apart from the process that asked: python -m airflow_hudi_index.supervise FOLDER.

Files in the folder are the only ties, so that whoever sees the folder can follow, and nobody has to:

    command.json   what to run, with its environment; from the asker, removed once read
    settings.json  Spark settings and storage options for the command, which removes it; from the asker
    asked          a digest of both, to tell whether the same is asked again
    lock           held while this process lives; inherited from the asker, locked already
    job.log        stdout and stderr
    cancel         made by whoever wants the command stopped
    exit           its exit code, written last; -1 if it was stopped

Only the standard library: it starts for each job.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

__all__ = ["CANCELLED"]

CANCELLED = -1
_LOOK_SECONDS = 0.25
_GRACE_SECONDS = 10.0


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the command and all it started: politely, then not."""
    for wish, grace in ((signal.SIGTERM, _GRACE_SECONDS), (signal.SIGKILL, _GRACE_SECONDS)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, wish)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace)
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _run(folder: Path) -> int:
    file = folder / "command.json"
    asked: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    file.unlink()
    with (folder / "job.log").open("ab") as log:
        process = subprocess.Popen(
            asked["command"],
            env={**os.environ, **asked["environment"]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        signal.signal(signal.SIGTERM, lambda *_: (folder / "cancel").touch())
        while process.poll() is None:
            if (folder / "cancel").exists():
                _stop(process)
                return CANCELLED
            time.sleep(_LOOK_SECONDS)
    return process.returncode


def _main(folder: Path) -> None:
    try:
        code = _run(folder)
    except OSError as error:
        with (folder / "job.log").open("a", encoding="utf-8") as log:
            log.write(f"{error}\n")
        code = 1
    # The command may have ended before it came to that.
    (folder / "settings.json").unlink(missing_ok=True)
    written = folder / "exit.tmp"
    written.write_text(str(code), encoding="utf-8")
    written.replace(folder / "exit")


if __name__ == "__main__":
    # The asker waits for this process, and must not have to: the child goes on alone, and keeps the lock.
    if os.fork() == 0:
        os.setsid()
        _main(Path(sys.argv[1]))
        os._exit(0)
