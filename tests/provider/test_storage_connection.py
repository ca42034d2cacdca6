"""Airflow's connections to object stores, as storage options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, AirflowNotFoundException, redact

from airflow_hudi_index import storage_connection
from airflow_hudi_index.assets import hudi_index_asset, hudi_table_asset
from airflow_hudi_index.hooks.hudi_index import HudiIndexHook
from airflow_hudi_index.operators import HudiMaintainIndexesOperator
from airflow_hudi_index.sensors import HudiCommitSensor, HudiIndexFreshSensor
from airflow_hudi_index.storage_connection import options_of_connection
from airflow_hudi_index.triggers.commits import HudiCommitTrigger
from tests.support.airflow import WITH_AIRFLOW

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = WITH_AIRFLOW


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    def make(conn_id: str = "store", **described: Any) -> str:
        monkeypatch.setenv(f"AIRFLOW_CONN_{conn_id.upper()}", json.dumps(described))
        return conn_id

    return make


KEYS = {"aws_access_key_id": "key-id", "aws_secret_access_key": "secret-key"}
KEY_FILE = {"type": "service_account", "private_key": "private-key"}
HOST = "account.blob.core.windows.net"
KNOWN: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "aws keys": ({"conn_type": "aws", "login": "key-id", "password": "secret-key"}, KEYS),
    "aws temporary keys": (
        {
            "conn_type": "aws",
            "login": "key-id",
            "password": "secret-key",
            "extra": {"aws_session_token": "session-token", "region_name": "eu-central-1"},
        },
        {**KEYS, "aws_session_token": "session-token", "aws_region": "eu-central-1"},
    ),
    "aws keys of the extra, a store of one's own": (
        {"conn_type": "aws", "extra": {**KEYS, "endpoint_url": "http://127.0.0.1:9000"}},
        {
            **KEYS,
            "aws_endpoint": "http://127.0.0.1:9000",
            "aws_allow_http": "true",
            "aws_virtual_hosted_style_request": "false",
        },
    ),
    "aws endpoint of the service, with a name per bucket": (
        {
            "conn_type": "aws",
            "login": "key-id",
            "password": "secret-key",
            "extra": {
                "endpoint_url": "https://all",
                "service_config": {"s3": {"endpoint_url": "https://s3"}},
                "config_kwargs": json.dumps({"s3": {"addressing_style": "virtual"}}),
            },
        },
        {**KEYS, "aws_endpoint": "https://s3", "aws_virtual_hosted_style_request": "true"},
    ),
    "google key file": (
        {"conn_type": "google_cloud_platform", "extra": {"key_path": "/key.json", "project": "p"}},
        {"google_service_account": "/key.json"},
    ),
    "google key": (
        {"conn_type": "google_cloud_platform", "extra": {"keyfile_dict": json.dumps(KEY_FILE)}},
        {"google_service_account_key": json.dumps(KEY_FILE)},
    ),
    "google, the machine's own": ({"conn_type": "google_cloud_platform"}, {}),
    "azure key": (
        {"conn_type": "wasb", "login": "account", "password": "account-key"},
        {"azure_storage_account_name": "account", "azure_storage_account_key": "account-key"},
    ),
    "azure address": (
        {"conn_type": "wasb", "host": f"https://{HOST}/", "password": "account-key"},
        {"azure_storage_account_name": "account", "azure_storage_account_key": "account-key"},
    ),
    "azure token": (
        {"conn_type": "wasb", "login": "account", "extra": {"sas_token": "?sv=1&sig=signature"}},
        {"azure_storage_account_name": "account", "azure_storage_sas_token": "sv=1&sig=signature"},
    ),
    "azure client": (
        {
            "conn_type": "adls",
            "host": "account",
            "login": "client",
            "password": "client-secret",
            "extra": {"tenant_id": "tenant"},
        },
        {
            "azure_storage_account_name": "account",
            "azure_storage_client_id": "client",
            "azure_storage_client_secret": "client-secret",
            "azure_storage_tenant_id": "tenant",
        },
    ),
    "azure connection string": (
        {
            "conn_type": "wasb",
            "extra": {
                "connection_string": "DefaultEndpointsProtocol=http;AccountName=account;"
                "AccountKey=account-key==;BlobEndpoint=http://127.0.0.1:10000/account;"
            },
        },
        {
            "azure_storage_account_name": "account",
            "azure_storage_account_key": "account-key==",
            "azure_storage_endpoint": "http://127.0.0.1:10000/account",
            "azure_allow_http": "true",
        },
    ),
}


@pytest.mark.parametrize("case", KNOWN)
def test_connections_as_options(connect: Callable[..., str], case: str) -> None:
    described, expected = KNOWN[case]
    found = options_of_connection(connect(**described))
    assert dict(found) == expected
    for name, value in expected.items():
        if name not in found.harmless():
            assert value not in str(redact(f"x {value} y"))


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "another type": ({"conn_type": "ftp", "password": "h1dden"}, "is of type 'ftp', none of aws, google"),
    "a role without the provider": (
        {"conn_type": "aws", "extra": {"role_arn": "arn", "aws_secret_access_key": "h1dden"}},
        "has role_arn: install apache-airflow-providers-amazon",
    ),
    "a secret of Google's": (
        {"conn_type": "google_cloud_platform", "extra": {"key_secret_name": "h1dden"}},
        "has key_secret_name, which can't be handed on",
    ),
    "no JSON": ({"conn_type": "aws", "extra": '{"x": "h1dden'}, "no JSON"),
    "no object": ({"conn_type": "aws", "extra": '["h1dden"]'}, "no JSON object"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_connections_that_cannot_be_are_refused_by_name(connect: Callable[..., str], case: str) -> None:
    described, reason = REFUSED[case]
    with pytest.raises(AirflowFailException, match=f"storage connection store .*{reason}") as raised:
        options_of_connection(connect(**described))
    assert "h1dden" not in f"{raised.value!r} {raised.value.__cause__!r}"
    with pytest.raises(AirflowNotFoundException):
        options_of_connection("absent")


def test_types_are_those_of_the_form() -> None:
    from airflow_hudi_index.get_provider_info import get_provider_info

    (form,) = get_provider_info()["connection-types"]
    described = form["conn-fields"]["storage_conn_id"]["description"]
    assert all(each in described for each in storage_connection.TYPES)


def hook_of(connect: Callable[..., str], extra: dict[str, Any], **arguments: Any) -> HudiIndexHook:
    connect("tried", conn_type="hudi_index", extra=extra)
    return HudiIndexHook("tried", **arguments)


def test_hook_takes_the_storage_connection_and_over_it_its_own_options(connect: Callable[..., str]) -> None:
    temporary = {"aws_session_token": "session-token", "region_name": "eu"}
    connect("one", conn_type="aws", login="key-id", password="secret-key", extra=temporary)
    connect("two", conn_type="aws", login="other-id", password="other-secret")
    hook = hook_of(connect, {"storage_conn_id": "one"})
    assert dict(hook.storage_options_of("s3://b/t")) == {
        **KEYS,
        "aws_session_token": "session-token",
        "aws_region": "eu",
    }
    # Nobody is asked for a table on a disk.
    assert dict(hook_of(connect, {"storage_conn_id": "absent"}).storage_options_of("/t")) == {}
    with pytest.raises(AirflowNotFoundException):
        hook_of(connect, {"storage_conn_id": "absent"}).storage_options_of("s3://b/t")
    assert dict(
        hook_of(connect, {"storage_conn_id": "one"}, storage_conn_id="two").storage_options_of("s3://b/t")
    ) == {
        "aws_access_key_id": "other-id",
        "aws_secret_access_key": "other-secret",
    }
    own = {"aws_access_key_id": "mine", "aws_secret_access_key": "my-secret", "aws_region": "us"}
    hook = hook_of(connect, {"storage_conn_id": "one", "storage_options": own})
    assert dict(hook.storage_options_of("s3://b/t")) == own


def test_keys_are_looked_up_anew(connect: Callable[..., str]) -> None:
    connect("one", conn_type="aws", login="key-id", password="secret-key")
    hook = hook_of(connect, {"storage_conn_id": "one"})
    assert hook.storage_options_of("s3://b/t")["aws_access_key_id"] == "key-id"
    connect("one", conn_type="aws", login="later", password="secret-key")
    assert hook.storage_options_of("s3://b/t")["aws_access_key_id"] == "later"


def test_everybody_is_told_of_the_connection_and_of_no_key(connect: Callable[..., str]) -> None:
    connect("one", conn_type="aws", login="key-id", password="secret-key")
    where: dict[str, Any] = {"table": "s3a://b/t", "storage_conn_id": "one"}
    for made in (
        HudiMaintainIndexesOperator(task_id="m", **where),
        HudiCommitSensor(task_id="s", **where),
        HudiIndexFreshSensor(task_id="f", **where),
    ):
        assert "storage_conn_id" in made.template_fields
        assert made.hook.storage_options_of("s3a://b/t")["aws_access_key_id"] == "key-id"
    _, arguments = HudiCommitTrigger(**where).serialize()
    assert arguments["storage_conn_id"] == "one"
    assert HudiCommitTrigger(**arguments).storage_conn_id == "one"
    (watcher,) = hudi_table_asset("s3a://b/t", storage_conn_id="one").watchers
    kind = watcher.trigger
    assert "secret-key" not in json.dumps(kind if isinstance(kind, dict) else vars(kind), default=str)


def test_assets_are_one_by_all_names_of_their_store() -> None:
    for name in ("s3", "s3a", "s3n"):
        assert hudi_table_asset(f"{name}://b/wh/t/").uri == "s3://b/wh/t"
        assert hudi_index_asset(f"{name}://b/t") == hudi_index_asset("s3://b/t")
    assert hudi_table_asset("gcs://b/t").uri == "gs://b/t"
    assert hudi_table_asset("s3a://b/a b%c/t").uri == "s3://b/a%20b%25c/t"
    operator = HudiMaintainIndexesOperator(task_id="m", table="s3a://b/t")
    assert operator.outlets == [hudi_index_asset("s3://b/t")]
