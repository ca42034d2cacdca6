"""A whole Airflow as processes: scheduler, triggerer, DAG processor, API server, on SQLite and loopback."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.support.airflow_home import PRISTINE, SETTINGS, bundles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path


# What `airflow standalone` starts, at once and without log servers, which would listen on all addresses.
SERVICES = (
    ("api-server",),
    ("scheduler", "--skip-serve-logs"),
    ("dag-processor",),
    ("triggerer", "--skip-serve-logs"),
)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Airflow:
    """A running Airflow and its REST interface."""

    home: Path
    address: str
    services: Mapping[str, subprocess.Popen[bytes]]
    token: str | None = None

    def until(self, what: str, look: Callable[[], Any], seconds: float = 400) -> Any:
        """The first true answer. One that does not come is asked for again: the machine may be busy."""
        deadline = time.monotonic() + seconds
        while True:
            with suppress(TimeoutError):
                if found := look():
                    return found
            ended = {name: each.returncode for name, each in self.services.items() if each.poll() is not None}
            assert not ended, f"{what} can't come: ended with {ended}"
            assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
            time.sleep(0.5)

    def ask(self, method: str, path: str, body: Any = None, *, anonymous: bool = False) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"}
        if self.token and not anonymous:
            headers["Authorization"] = f"Bearer {self.token}"
        request = urllib.request.Request(
            f"{self.address}{path}",
            method=method,
            headers=headers,
            data=None if body is None else json.dumps(body).encode(),
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                text, code = answer.read().decode(), answer.status
        except urllib.error.HTTPError as error:
            text, code = error.read().decode(), error.code
        try:
            return code, json.loads(text)
        except ValueError:
            return code, text

    def is_healthy(self) -> bool:
        try:
            _, answer = self.ask("GET", "/api/v2/monitor/health")
        except OSError:
            return False
        parts = ("metadatabase", "scheduler", "triggerer", "dag_processor")
        return isinstance(answer, dict) and all(answer[part]["status"] == "healthy" for part in parts)

    def log_in(self) -> None:
        (file,) = self.home.glob("simple_auth_manager_passwords*")
        password = json.loads(file.read_text())["admin"]
        _, answer = self.ask("POST", "/auth/token", {"username": "admin", "password": password})
        self.token = answer["access_token"]

    def runs_of(self, dag_id: str) -> list[dict[str, Any]]:
        _, answer = self.ask("GET", f"/api/v2/dags/{dag_id}/dagRuns?order_by=-run_after")
        runs: list[dict[str, Any]] = answer.get("dag_runs", [])
        return runs

    def ended_runs_of(self, dag_id: str) -> list[dict[str, Any]]:
        """Latest first."""
        return [run for run in self.runs_of(dag_id) if run["state"] in ("success", "failed")]


@contextmanager
def standalone(home: Path, dags: Sequence[Path], settings: Mapping[str, str]) -> Iterator[Airflow]:
    """Start it with these DAG files, wait until it is healthy; afterwards nothing of it is left."""
    (home / "dags").mkdir(parents=True)
    for file in dags:
        shutil.copy(file, home / "dags")
    web = free_port()
    address = f"http://127.0.0.1:{web}"
    environment = {
        **os.environ,
        **SETTINGS,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "True",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{address}/execution/",
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(web),
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API__BASE_URL": address,
        # What a DAG watches is known when it was parsed after it was switched on: half a minute otherwise.
        # Parsing over and over costs, so there are no more files than wanted.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "5",
        "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": bundles(tests=home / "dags"),
        **settings,
    }
    shutil.copy(PRISTINE, home / "airflow.db")
    log = home / "services.log"
    with log.open("wb") as sink:
        services = {
            service[0]: subprocess.Popen(
                ["airflow", *service],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,
            )
            for service in SERVICES
        }
    airflow = Airflow(home, address, services)
    try:
        airflow.until("Airflow", airflow.is_healthy, 300)
        airflow.log_in()
        yield airflow
    except BaseException:
        sys.stderr.write(log.read_text(errors="replace")[-8000:])
        raise
    finally:
        for process in services.values():
            os.killpg(process.pid, signal.SIGTERM)
        for process in services.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(5)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
