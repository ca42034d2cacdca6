"""What Airflow is told about the provider is there."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from airflow_hudi_index.get_provider_info import get_provider_info
from airflow_hudi_index.hooks.hudi_index import RUN_MODES, HudiIndexHook
from airflow_hudi_index.plugin import HudiIndexPlugin
from airflow_hudi_index.settings import SECTION
from tests.support.airflow import WITH_AIRFLOW

pytestmark = WITH_AIRFLOW


def attribute(path: str) -> Any:
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("group", ["hooks", "operators", "sensors", "triggers"])
def test_modules_are_there(group: str) -> None:
    for entry in get_provider_info()[group]:
        for name in entry["python-modules"]:
            assert importlib.import_module(name).__all__


def test_connection_type_is_the_hooks() -> None:
    (entry,) = get_provider_info()["connection-types"]
    hook = attribute(entry["hook-class-name"])
    assert hook is HudiIndexHook
    assert (entry["connection-type"], entry["hook-name"]) == (hook.conn_type, hook.hook_name)
    assert entry["conn-fields"]["run_mode"]["schema"]["enum"] == list(RUN_MODES)


def test_links_are_on_an_operator() -> None:
    from airflow_hudi_index.operators import HudiValidateIndexesOperator

    listed = {attribute(path) for path in get_provider_info()["extra-links"]}
    assert {type(link) for link in HudiValidateIndexesOperator.operator_extra_links} == listed


def test_airflow_lists_provider_form_and_settings() -> None:
    from airflow.providers_manager import ProvidersManager

    manager = ProvidersManager()
    assert "airflow-hudi-index" in manager.providers
    hook = manager.hooks["hudi_index"]
    assert hook is not None
    assert hook.hook_name == "Hudi Index"
    assert SECTION in dict(manager.provider_configs)["airflow-hudi-index"]


def test_plugin_serves_one_guarded_route() -> None:
    from fastapi.routing import APIRoute

    from airflow_hudi_index.plugin import reports_app

    (entry,) = HudiIndexPlugin.fastapi_apps
    assert entry["url_prefix"] == "/hudi-index"
    (route,) = reports_app().routes
    assert isinstance(route, APIRoute)
    assert len(route.dependencies) == 3
