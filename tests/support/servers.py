"""Servers that tests start, on a free port of 127.0.0.1, and programs that are fetched once for them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

__all__ = ["HOME", "PATIENCE", "WITHOUT", "fetch", "fetching", "served", "skip_if_unwanted"]

HOME = Path.home() / ".ivy2" / "hudi-index-tests"
"""Where programs are kept."""
PATIENCE = 300
WITHOUT = "HUDI_INDEX_TESTS_WITHOUT_OBJECT_STORE"
"""Set to a reason, it skips tests that need an object store; otherwise they fail where there is none."""


def skip_if_unwanted() -> None:
    """Skip the test if somebody said why there can be no object store."""
    if reason := os.environ.get(WITHOUT):
        pytest.skip(f"{WITHOUT}: {reason}")


@contextlib.contextmanager
def served(
    name: str,
    log: Path,
    command: Callable[[int], Sequence[str]],
    environment: Mapping[str, str] | None = None,
) -> Iterator[str]:
    """The address of a server that runs while this is open.

    Args:
        name: what it is called where it does not start.
        log: the file that gets what it says.
        command: what starts it on a port.
        environment: more variables for it.
    """
    for _ in range(5):
        port = _free_port()
        endpoint = f"http://127.0.0.1:{port}"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command(port),
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
            )
        try:
            if _answers(endpoint, process):
                yield endpoint
                return
        finally:
            process.terminate()
            process.wait()
    raise RuntimeError(f"{name} does not start:\n{log.read_text(errors='replace')[-4000:]}")


def _answers(endpoint: str, process: subprocess.Popen[bytes]) -> bool:
    """Whether the server came up; somebody else may have taken its port in between."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        try:
            urllib.request.urlopen(endpoint, timeout=PATIENCE).close()
        except urllib.error.HTTPError as error:
            error.close()
            return True  # it wants a signature
        except OSError:
            time.sleep(0.1)
        else:
            return True
    return False


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@contextlib.contextmanager
def fetching() -> Iterator[None]:
    """Nobody else fetches a program while this is open."""
    HOME.mkdir(parents=True, exist_ok=True)
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def fetch(
    name: str, command: Sequence[str], made: Path, environment: Mapping[str, str] | None = None
) -> None:
    """Run a command that brings a program.

    Args:
        name: what it is called where it can't be had.
        command: what brings it.
        made: the file that is there afterwards.
        environment: more variables for it.
    """
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=10 * PATIENCE,
        check=False,
        env={**os.environ, **(environment or {})},
    )
    if done.returncode or not made.exists():
        told = f"{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        raise RuntimeError(f"{name} can't be fetched; {WITHOUT}=<reason> runs the tests without:\n{told}")
