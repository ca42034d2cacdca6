"""`make ui`: Airflow's web pages with the example DAGs, on loopback, until Ctrl-C.

What its four services print goes to `.demo/ui/`.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from demo import HOME, airflow_environment

PORT = os.environ.get("PORT", "8080")
ADDRESS = f"http://127.0.0.1:{PORT}"
LOGS = HOME / "ui"
# Without their log servers: those listen on all addresses, and the API server sees the files.
SERVICES = {
    "api-server": ["api-server"],
    "scheduler": ["scheduler", "--skip-serve-logs"],
    "dag-processor": ["dag-processor"],
    "triggerer": ["triggerer", "--skip-serve-logs"],
}
PARTS = ("metadatabase", "scheduler", "triggerer", "dag_processor")


def environment() -> dict[str, str]:
    """The demo's Airflow, with web pages."""
    return {
        **airflow_environment(),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": PORT,
        "AIRFLOW__API__BASE_URL": ADDRESS,
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{ADDRESS}/execution/",
        # 32 worker processes otherwise.
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "10",
    }


def password() -> str:
    """Of admin. Airflow makes one up and prints it among much else; one that is there already it takes."""
    file = HOME / "simple_auth_manager_passwords.json.generated"
    if not file.exists():
        file.touch(mode=0o600)
        file.write_text(json.dumps({"admin": os.urandom(8).hex()}), encoding="utf-8")
    return str(json.loads(file.read_text(encoding="utf-8"))["admin"])


def is_healthy() -> bool:
    """Whether all services answer."""
    try:
        with urllib.request.urlopen(f"{ADDRESS}/api/v2/monitor/health", timeout=10) as answer:
            health = json.load(answer)
    except (OSError, ValueError):
        return False
    return all(health[part]["status"] == "healthy" for part in PARTS)


def start(name: str, command: list[str]) -> subprocess.Popen[bytes]:
    """Start a service in a session of its own, so that Ctrl-C reaches it through us, once."""
    with (LOGS / f"{name}.log").open("wb") as log:
        return subprocess.Popen(
            ["airflow", *command],
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def stop(services: dict[str, subprocess.Popen[bytes]]) -> None:
    """End them and what they started: politely, then not."""
    for process in services.values():
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    for process in services.values():
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def main() -> int:
    """Start it, say where and how, wait."""
    LOGS.mkdir(parents=True, exist_ok=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    secret = password()
    print(f"Starting Airflow; it takes about a minute. What it prints goes to {LOGS} …", flush=True)
    if start("migrate", ["db", "migrate"]).wait():
        print((LOGS / "migrate.log").read_text(errors="replace")[-2000:], file=sys.stderr)
        return 1
    services: dict[str, subprocess.Popen[bytes]] = {}
    is_told = False
    try:
        services.update((name, start(name, command)) for name, command in SERVICES.items())
        while all(process.poll() is None for process in services.values()):
            if not is_told and is_healthy():
                print(f"\n  Open {ADDRESS} and log in as admin with the password {secret}\n")
                print("The DAGs are paused: switch hudi_index_quickstart on and press Trigger.")
                print("The pages are for this machine only. Ctrl-C ends it all.", flush=True)
                is_told = True
            time.sleep(1)
        for name, process in services.items():
            if process.poll() is not None:
                print(f"{name} ended; the end of {LOGS / name}.log:\n", file=sys.stderr)
                print((LOGS / f"{name}.log").read_text(errors="replace")[-2000:], file=sys.stderr)
    except KeyboardInterrupt:
        print("\nEnding Airflow …", flush=True)
        return 0
    finally:
        stop(services)
    return 1


if __name__ == "__main__":
    sys.exit(main())
