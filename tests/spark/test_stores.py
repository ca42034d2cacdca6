"""Storage options as Spark's settings. No session is started here."""

from __future__ import annotations

import os

import pytest

from hudi_index.credentials import is_secret
from hudi_index.errors import UnsupportedStorageError
from hudi_index.spark import storage_settings
from hudi_index.spark.runtime.stores import PACKAGES, REDACTION, hadoop_version, merged_packages, unsaid

S3A = "spark.hadoop.fs.s3a."
KEYS = {"aws_access_key_id": "key", "aws_secret_access_key": "secret"}


@pytest.fixture(autouse=True)
def nothing_around(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(("AWS_", "GOOGLE_", "AZURE_")):
            monkeypatch.delenv(name)


def test_local_tables_need_nothing() -> None:
    assert storage_settings("/data/t", KEYS) == {}
    assert storage_settings("file:///data/t", KEYS) == {}


def test_connector_is_of_sparks_own_hadoop() -> None:
    assert hadoop_version() == "3.3.4"
    assert storage_settings("s3a://b/t") == {PACKAGES: "org.apache.hadoop:hadoop-aws:3.3.4"}


def test_store_of_ones_own() -> None:
    options = {"aws_endpoint": "http://127.0.0.1:9000", "aws_region": "eu", "aws_allow_http": "true", **KEYS}
    found = storage_settings("s3://b/t", options)
    assert found.pop(PACKAGES) == "org.apache.hadoop:hadoop-aws:3.3.4"
    assert found == {
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        f"{S3A}endpoint": "http://127.0.0.1:9000",
        f"{S3A}endpoint.region": "eu",
        f"{S3A}connection.ssl.enabled": "false",
        f"{S3A}path.style.access": "true",
        f"{S3A}access.key": "key",
        f"{S3A}secret.key": "secret",
        f"{S3A}aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }


def test_temporary_keys_go_with_their_token() -> None:
    found = storage_settings("s3a://b/t", {**KEYS, "AWS_SESSION_TOKEN": "token"})
    assert found[f"{S3A}session.token"] == "token"
    assert found[f"{S3A}aws.credentials.provider"].endswith(".TemporaryAWSCredentialsProvider")


def test_environment_says_what_options_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "https://store")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of another key")
    found = storage_settings("s3a://b/t", KEYS)
    assert found[f"{S3A}endpoint"] == "https://store"
    assert found[f"{S3A}connection.ssl.enabled"] == "true"
    assert f"{S3A}session.token" not in found
    found = storage_settings("s3a://b/t", {"aws_endpoint": "https://other"})
    assert found[f"{S3A}endpoint"] == "https://other"


def test_who_says_who_asks_says_all_of_it() -> None:
    derived = storage_settings("s3a://b/t", {**KEYS, "aws_session_token": "t", "aws_region": "eu"})
    left = unsaid(derived, [f"{S3A}access.key"])
    assert set(left) == {PACKAGES, f"{S3A}endpoint.region"}


def test_encryption_and_anonymous_reading() -> None:
    options = {"aws_server_side_encryption": "aws:kms", "aws_sse_kms_key_id": "arn"}
    found = storage_settings("s3a://b/t", options)
    assert (found[f"{S3A}encryption.algorithm"], found[f"{S3A}encryption.key"]) == ("SSE-KMS", "arn")
    found = storage_settings("s3a://b/t", {"aws_skip_signature": "true", **KEYS})
    assert found[f"{S3A}aws.credentials.provider"].endswith(".AnonymousAWSCredentialsProvider")
    assert f"{S3A}secret.key" not in found


def test_azure_by_account() -> None:
    host = "acc.dfs.core.windows.net"
    found = storage_settings(f"abfss://c@{host}/t", {"azure_storage_account_key": "k"})
    assert found[PACKAGES] == "org.apache.hadoop:hadoop-azure:3.3.4"
    assert found[f"spark.hadoop.fs.azure.account.key.{host}"] == "k"
    client = {
        "azure_storage_client_id": "i",
        "azure_storage_client_secret": "s",
        "azure_storage_tenant_id": "t",
    }
    found = storage_settings(f"abfss://c@{host}/t", client)
    assert found[f"spark.hadoop.fs.azure.account.auth.type.{host}"] == "OAuth"
    assert found[f"spark.hadoop.fs.azure.account.oauth2.client.secret.{host}"] == "s"
    host = "acc.blob.core.windows.net"
    found = storage_settings(f"wasbs://c@{host}/t", {"azure_storage_sas_token": "?sig"})
    assert found[f"spark.hadoop.fs.azure.sas.c.{host}"] == "sig"


def test_google_by_key_file() -> None:
    found = storage_settings("gs://b/t", {"google_service_account": "/key.json"})
    assert found["spark.hadoop.fs.gs.auth.service.account.json.keyfile"] == "/key.json"


@pytest.mark.parametrize("location", ["az://c/t", "azure://c/t", "gcs://b/t"])
def test_schemes_that_hadoop_lacks_are_refused_with_the_way_out(location: str) -> None:
    with pytest.raises(UnsupportedStorageError, match=r"name the table (abfss|gs)://"):
        storage_settings(location)


def test_secrets_are_known_as_such_to_us_and_to_spark() -> None:
    import re

    host = "acc.dfs.core.windows.net"
    client = {
        "azure_storage_client_id": "i",
        "azure_storage_client_secret": "SECRET",
        "azure_storage_tenant_id": "t",
    }
    tried = [
        storage_settings("s3a://b/t", dict.fromkeys([*KEYS, "aws_session_token"], "SECRET")),
        storage_settings(f"abfss://c@{host}/t", {"azure_storage_account_key": "SECRET"}),
        storage_settings(f"abfss://c@{host}/t", client),
        storage_settings("wasbs://c@a.blob.core.windows.net/t", {"azure_storage_sas_token": "SECRET"}),
    ]
    hidden = [name for each in tried for name, value in each.items() if value == "SECRET"]
    assert len(hidden) == 6
    for name in hidden:
        assert is_secret(name), name
        assert re.search(REDACTION["spark.redaction.regex"], name), name


def test_packages_are_named_once() -> None:
    assert merged_packages("a:b:1,c:d:2", "a:b:3, e:f:4,") == "a:b:1,c:d:2,e:f:4"
    assert merged_packages("", "") == ""
