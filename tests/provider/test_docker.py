"""The container set-up names only what exists: no Docker engine is needed to find a wrong path in it."""

from __future__ import annotations

import json
import os
import re
from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml  # type: ignore[import-untyped]  # comes with Airflow, untyped

from airflow_hudi_index.get_provider_info import get_provider_info
from airflow_hudi_index.hooks.hudi_index import RUN_MODES
from airflow_hudi_index.storage_connection import TYPES
from tests.support.airflow import WITH_AIRFLOW
from tests.support.airflow_home import ROOT

pytestmark = WITH_AIRFLOW

DOCKER = ROOT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yaml").read_text(encoding="utf-8"))
    return loaded


def test_services_are_whole(compose: dict[str, Any]) -> None:
    services = compose["services"]
    wanted = {"postgres", "api-server", "scheduler", "dag-processor", "triggerer", "spark-master", "store"}
    assert wanted <= set(services)
    for service in services.values():
        assert "image" in service or "build" in service
        assert set(service.get("depends_on", ())) <= set(services)
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in compose["volumes"] or (DOCKER / source).exists(), volume
        for port in service.get("ports", ()):
            assert port.startswith("127.0.0.1:"), port


def test_image_is_built_of_what_is_here(compose: dict[str, Any]) -> None:
    build = compose["services"]["scheduler"]["build"]
    context = (DOCKER / build["context"]).resolve()
    assert context == ROOT
    assert (context / build["dockerfile"]).is_file()
    assert set(build["args"]) == set(re.findall(r"^ARG (\w+)", DOCKERFILE, re.MULTILINE))
    for line in re.findall(r"^COPY (.*)$", DOCKERFILE, re.MULTILINE):
        *sources, _ = [word for word in line.split() if not word.startswith("--")]
        assert [source for source in sources if not (context / source).exists()] == []
    copied = re.findall(r" (/opt/\S+\.sh)$", DOCKERFILE, re.MULTILINE)
    for node in ("spark-master", "spark-worker"):
        script, role = compose["services"][node]["entrypoint"]
        assert script in copied
        assert f"    {role})" in (DOCKER / "spark-node.sh").read_text(encoding="utf-8")
    assert os.access(DOCKER / "spark-node.sh", os.X_OK)


def test_image_has_the_version_that_is_tested(compose: dict[str, Any]) -> None:
    pinned = re.search(r"^apache-airflow==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned
    assert f"ARG AIRFLOW_VERSION={pinned[1]}" in DOCKERFILE
    assert pinned[1] in compose["services"]["scheduler"]["build"]["args"]["AIRFLOW_VERSION"]


def test_settings_are_airflows_and_ours(compose: dict[str, Any]) -> None:
    from airflow.configuration import retrieve_configuration_description

    known = {**retrieve_configuration_description(include_providers=False), **get_provider_info()["config"]}
    environment = compose["services"]["scheduler"]["environment"]
    for name in environment:
        if match := re.fullmatch(r"AIRFLOW__([A-Z_]+?)__([A-Z_]+)", name):
            section, option = (part.lower() for part in match.groups())
            assert option in known[section]["options"], name
        else:
            assert re.fullmatch(r"AIRFLOW_CONN_[A-Z_]+|HUDI_INDEX_TABLES?", name), name
    for dag, name in (("maintenance", "HUDI_INDEX_TABLE"), ("quickstart", "HUDI_INDEX_TABLES")):
        text = (ROOT / "dags" / f"hudi_index_{dag}.py").read_text(encoding="utf-8")
        assert f'"{name}"' in text
    assert environment["HUDI_INDEX_TABLE"].startswith(environment["HUDI_INDEX_TABLES"])


def test_connections_are_of_known_types(compose: dict[str, Any]) -> None:
    environment = compose["services"]["scheduler"]["environment"]
    (form,) = get_provider_info()["connection-types"]
    connection = json.loads(environment["AIRFLOW_CONN_HUDI_INDEX_DEFAULT"])
    assert connection["conn_type"] == form["connection-type"]
    assert set(connection["extra"]) <= set(form["conn-fields"])
    assert any(mode in connection["extra"]["run_mode"] for mode in RUN_MODES)
    assert connection["host"] == environment["HUDI_INDEX_TABLES"]
    store = json.loads(environment[f"AIRFLOW_CONN_{connection['extra']['storage_conn_id'].upper()}"])
    assert store["conn_type"] in TYPES
    address = urlsplit(store["extra"]["endpoint_url"])
    assert str(address.port) in [
        port.rpartition(":")[2] for port in compose["services"][address.hostname]["ports"]
    ]
    assert store["login"] == compose["services"][address.hostname]["environment"]["MINIO_ROOT_USER"]
    spark = json.loads(environment["AIRFLOW_CONN_SPARK_DEFAULT"])
    host = spark["host"].removeprefix("spark://").partition(":")[0]
    assert compose["services"][host]["hostname"] == host


def test_readme_names_the_variables_that_must_be_given(compose: dict[str, Any]) -> None:
    text = (DOCKER / "compose.yaml").read_text(encoding="utf-8")
    wanted = set(re.findall(r"\$\{(\w+)", text))
    readme = (DOCKER / "README.md").read_text(encoding="utf-8")
    assert [name for name in sorted(wanted) if name not in readme] == []
