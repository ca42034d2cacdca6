"""Jobs in processes of their own: followed, joined, stopped, lost."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from airflow_hudi_index.local_job import LocalJob
from airflow_hudi_index.triggers.jobs import LocalJobTrigger
from tests.support.airflow import WITH_AIRFLOW

pytestmark = WITH_AIRFLOW


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_for(file: Path) -> str:
    deadline = time.monotonic() + 60
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < deadline, f"{file} did not come"
        time.sleep(0.05)
    return file.read_text()


async def event_of(trigger: LocalJobTrigger) -> dict[str, Any]:
    async for event in trigger.run():
        payload: dict[str, Any] = event.payload
        return payload
    raise AssertionError("no event")


def sleeper(place: Path) -> list[str]:
    """A command that starts another and waits; both leave their pids."""
    return python(
        "import os, pathlib, subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        f"pathlib.Path({str(place)!r}).write_text(f'{{os.getpid()}} {{child.pid}}')\n"
        "child.wait()"
    )


def test_output_report_and_code(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    code = f"import pathlib; print('said'); pathlib.Path({str(job.report_file)!r}).write_text('{{\"a\": 1}}')"
    assert job.start([*python(code + "; raise SystemExit(4)")], {})
    assert list(job.lines()) == ["said"]
    assert (job.exit_code(), job.report()) == (4, {"a": 1})


def test_environment_reaches_the_command_and_nobody_else(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    job.start(
        python(
            "import json, os; print(os.environ['SECRET']); place = os.environ['HUDI_INDEX_SETTINGS']\n"
            "print(json.load(open(place))['spark.x'], oct(os.stat(place).st_mode & 0o777))"
        ),
        {"SECRET": "x y"},
        {"spark.x": "z"},
    )
    assert list(job.lines()) == ["x y", "z 0o600"]
    left = {file.name for file in job.folder.iterdir() if b"x y" in file.read_bytes()}
    assert left == {"job.log"}
    assert not (job.folder / "settings.json").exists()


def test_other_settings_are_another_job(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    command = sleeper(tmp_path / "pids")
    assert job.start(command, {}, {"spark.x": "1"})
    first = wait_for(tmp_path / "pids")
    assert not job.start(command, {}, {"spark.x": "1"})
    (tmp_path / "pids").unlink()
    assert job.start(command, {}, {"spark.x": "2"})
    assert wait_for(tmp_path / "pids") != first
    job.cancel()
    assert job.wait(60) is not None


def test_other_keys_to_the_store_are_the_same_job(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    command = sleeper(tmp_path / "pids")
    options = {"aws_region": "eu", "aws_session_token": "of this hour"}
    assert job.start(command, {}, {}, options)
    wait_for(tmp_path / "pids")
    assert not job.start(command, {}, {}, {**options, "aws_session_token": "of the next"})
    assert job.start(command, {}, {}, {**options, "aws_region": "us"})
    job.cancel()
    assert job.wait(60) is not None


def test_shell_characters_mean_nothing(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    hostile = f"$(touch {tmp_path}/x); `touch {tmp_path}/x` | > {tmp_path}/x"
    job.start([*python("import sys; print(sys.argv[1])"), hostile], {})
    assert list(job.lines()) == [hostile]
    assert not (tmp_path / "x").exists()


def test_cancel_stops_all_that_was_started(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    job.start(sleeper(tmp_path / "pids"), {})
    pids = [int(pid) for pid in wait_for(tmp_path / "pids").split()]
    assert job.exit_code() is None
    job.cancel()
    job.wait(30)
    assert job.was_cancelled
    assert [is_alive(pid) for pid in pids] == [False, False]


def test_same_command_is_joined_another_replaces_it(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    command = sleeper(tmp_path / "pids")
    assert job.start(command, {})
    pids = [int(pid) for pid in wait_for(tmp_path / "pids").split()]
    assert not job.start(command, {})
    assert is_alive(pids[0])
    assert job.start(python("print('second')"), {})
    assert list(job.lines()) == ["second"]
    assert not is_alive(pids[0])
    assert job.exit_code() == 0


def test_job_whose_supervisor_died_is_lost_not_running(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    job.start(sleeper(tmp_path / "pids"), {})
    pids = [int(pid) for pid in wait_for(tmp_path / "pids").split()]
    supervisor = int(Path(f"/proc/{pids[0]}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGKILL)
    assert job.wait(30) == 1
    os.killpg(pids[0], signal.SIGKILL)


def test_command_that_does_not_exist_fails(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    job.start([str(tmp_path / "absent")], {})
    assert job.wait(30) == 1
    assert "absent" in job.last_lines()


def test_trigger_that_is_restarted_finds_the_job(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    go = tmp_path / "go"
    job.start(
        python(
            f"import os, time\nwhile not os.path.exists({str(go)!r}): time.sleep(0.05)\nraise SystemExit(4)"
        ),
        {},
    )
    first = LocalJobTrigger(folder=str(job.folder), poll_interval=0.05)

    async def stopped_meanwhile() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(event_of(first), 0.5)

    asyncio.run(stopped_meanwhile())
    path, arguments = first.serialize()
    assert path == "airflow_hudi_index.triggers.jobs.LocalJobTrigger"
    go.touch()
    second = LocalJobTrigger(**json.loads(json.dumps(arguments)))
    assert asyncio.run(event_of(second)) == {"folder": str(job.folder), "code": 4}


def test_killing_a_deferred_task_stops_the_job(tmp_path: Path) -> None:
    job = LocalJob(tmp_path / "job")
    job.start(sleeper(tmp_path / "pids"), {})
    pids = [int(pid) for pid in wait_for(tmp_path / "pids").split()]
    asyncio.run(LocalJobTrigger(folder=str(job.folder)).on_kill())
    job.wait(30)
    assert [is_alive(pid) for pid in pids] == [False, False]
