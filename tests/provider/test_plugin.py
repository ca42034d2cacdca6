"""The plugin in Airflow's own API server: who may read a job's log, and what is not found."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from airflow.api_fastapi.auth.managers.models.resource_details import DagAccessEntity
from airflow.api_fastapi.auth.managers.simple.simple_auth_manager import SimpleAuthManager
from airflow.api_fastapi.auth.managers.simple.user import SimpleAuthManagerUser

from airflow_hudi_index.settings import task_folder, task_key
from tests.support.airflow import WITH_AIRFLOW, dags_of, run_dag
from tests.support.airflow_home import ROOT
from tests.support.tables import fabricated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fastapi.testclient import TestClient

pytestmark = WITH_AIRFLOW


class NoLogs(SimpleAuthManager):
    """Airflow's simple one, but that the user `nolog` may see everything of a task except its log."""

    def is_authorized_dag(self, *, user: Any, access_entity: Any = None, **asked: Any) -> bool:
        if user.username == "nolog" and access_entity == DagAccessEntity.TASK_LOGS:
            return False
        return super().is_authorized_dag(user=user, access_entity=access_entity, **asked)


class Server:
    """Airflow's API server without a socket, and a run whose task has files."""

    def __init__(self, client: TestClient, place: tuple[str, str, str, str]) -> None:
        self.client, self.place = client, place
        self.folder = task_folder(place)

    def ask(self, *parts: str, user: str | None = "reader", role: str | None = "viewer") -> Any:
        """The answer for a path below `reports`, as its parts are when they are undone."""
        path = "/".join(quote(part, safe="") for part in parts)
        return self.get(f"/hudi-index/reports/{path}", user=user, role=role)

    def get(self, path: str, *, user: str | None = "reader", role: str | None = "viewer") -> Any:
        from airflow.api_fastapi.app import get_auth_manager

        headers = {}
        if user is not None:
            token = get_auth_manager().generate_jwt(SimpleAuthManagerUser(username=user, role=role))
            headers = {"Authorization": f"Bearer {token}"}
        return self.client.get(path, headers=headers)


@pytest.fixture(scope="module")
def server(airflow_home: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    from airflow.api_fastapi.app import create_app, purge_cached_app
    from fastapi.testclient import TestClient

    os.environ["AIRFLOW__CORE__AUTH_MANAGER"] = f"{NoLogs.__module__}.{NoLogs.__qualname__}"
    described = {"conn_type": "hudi_index", "host": str(tmp_path_factory.mktemp("plugin") / "wh")}
    os.environ["AIRFLOW_CONN_WAREHOUSE"] = json.dumps(described)
    try:
        fabricated(tmp_path_factory.getbasetemp() / "unused", indexed=False)
        run = run_dag(dags_of(ROOT / "tests" / "provider" / "dags")["within"], table="absent")
        (instance,) = [each for each in run.dag_run.get_task_instances() if each.task_id == "drop"]
        place = task_key(instance)
        folder = task_folder(place)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "job.log").write_text("what the job said\n", encoding="utf-8")
        (folder / "report.json").write_text('{"verb": "drop"}', encoding="utf-8")
        purge_cached_app()
        # A fault of ours is an answer, as it would be over a socket.
        yield Server(TestClient(create_app(apps="core"), raise_server_exceptions=False), place)
    finally:
        purge_cached_app()
        del os.environ["AIRFLOW__CORE__AUTH_MANAGER"], os.environ["AIRFLOW_CONN_WAREHOUSE"]


def test_those_who_may_read_the_log_may_read_the_jobs(server: Server) -> None:
    answer = server.ask(*server.place, "job.log")
    assert (answer.status_code, answer.text) == (200, "what the job said\n")
    assert answer.headers["content-type"].startswith("text/plain")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert server.ask(*server.place, "report.json").json() == {"verb": "drop"}
    assert server.ask(*server.place, "validation.html").status_code == 404


@pytest.mark.parametrize("name", ["job.log", "report.json", "validation.html"])
def test_others_may_not(server: Server, name: str) -> None:
    assert server.ask(*server.place, name, user=None).status_code == 401
    assert server.ask(*server.place, name, user="nobody", role=None).status_code == 403
    # Airflow's own log of the task is as closed to this one.
    log = "/api/v2/dags/{}/dagRuns/{}/taskInstances/{}/logs/1".format(
        *(quote(part, safe="") for part in server.place[:3])
    )
    assert server.get(log, user="nolog").status_code == 403
    assert server.ask(*server.place, name, user="nolog").status_code == 403


def test_strangers_learn_nothing_from_what_is_not_there(server: Server) -> None:
    asked = ("x" * 999, "r", "t", "-1", "job.log")
    assert server.ask(*asked, user=None).status_code == 401
    assert server.get("/hudi-index/reports/a/b/c/-1/job.log", user=None).status_code == 401


INDEXES = ["-2", "-0", "+1", "1e3", "0x1", "٣", "nan", "1.0", " 1", "", "2147483648", "9" * 30, "9" * 5000]


@pytest.mark.parametrize("index", INDEXES)
def test_map_indexes_are_bounded(server: Server, index: str) -> None:
    assert server.ask(*server.place[:3], index, "job.log").status_code == 404


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize(
    "hostile",
    [
        "unknown",
        "~",
        "..",
        "../..",
        "a/../../b",
        "\x00",
        "a\x00b",
        "a\nb",
        "x" * 251,
        "ä" * 250,
        "x" * 20_000,
        "%2e%2e",
        "%00",
        "*",
        "' OR 1=1 --",
        "\U0001f600",
    ],
)
def test_ids_that_cannot_be_are_not_found(server: Server, position: int, hostile: str) -> None:
    place = [*server.place]
    place[position] = hostile
    assert server.ask(*place, "job.log").status_code == 404


@pytest.mark.parametrize(
    "name", ["lock", "asked", "command.json", "settings.json", "../-1/job.log", "job.log\x00", "", "JOB.LOG"]
)
def test_other_files_are_not_shown(server: Server, name: str) -> None:
    (server.folder / "command.json").write_text("{}", encoding="utf-8")
    assert server.ask(*server.place, name).status_code == 404


def test_links_and_pipes_are_not_followed(server: Server, tmp_path: Any) -> None:
    (tmp_path / "elsewhere").write_text("private", encoding="utf-8")
    link = server.folder / "validation.html"
    link.symlink_to(tmp_path / "elsewhere")
    try:
        assert server.ask(*server.place, "validation.html").status_code == 404
        link.unlink()
        os.mkfifo(link)
        assert server.ask(*server.place, "validation.html").status_code == 404
    finally:
        link.unlink()


def test_files_without_a_task_are_not_shown(server: Server) -> None:
    place = (*server.place[:3], "7")
    task_folder(place).mkdir(parents=True)
    (task_folder(place) / "job.log").write_text("left over", encoding="utf-8")
    assert server.ask(*place, "job.log").status_code == 404
