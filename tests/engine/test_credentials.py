"""Secrets of URIs and options: taken off, and never shown."""

from __future__ import annotations

import copy
import dataclasses
import http.server
import os
import pickle
import subprocess
import sys
import threading
import traceback
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_index import IndexedTable
from hudi_index.credentials import Options, is_secret, scrub, split_uri, without_credentials
from hudi_index.errors import InvalidOptionError, UnsupportedStorageError
from hudi_index.storage import Storage
from tests.support.tables import fabricated

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CANARY = "c4n4ry"

OPTIONS = {
    name: f"{CANARY}-{name}"
    for name in (
        "aws_access_key_id",
        "aws_secret_access_key",
        "aws_session_token",
        "azure_storage_account_key",
        "azure_storage_sas_key",
        "azure_client_secret",
        "google_service_account_key",
        "fs.s3a.secret.key",
        "password",
        "anything",
    )
}

URIS = [
    f"s3://AKIA:{CANARY}@bucket/t",
    f"s3://AKIA:{CANARY}@bucket/t?region=eu&scheme=http",
    f"s3://AK{CANARY}:x@bucket/t/",
    f"s3://AKIA:ab/{CANARY}+x@bucket/t",
    f"s3://AKIA:ab%2F{CANARY}@bucket/t",
    f"s3://bucket/t?sig={CANARY}",
    f"https://account.blob.core.windows.net/c/t?sv=2024&sig={CANARY}%3D",
    f"https://{CANARY}@host/t",
    f"abfss://container:{CANARY}@account.dfs.core.windows.net/t",
    f"abfs://container@account.dfs.core.windows.net/t?sig={CANARY}",
    f"gs://{CANARY}@bucket/t",
    f"hdfs://user:{CANARY}@namenode:8020/t",
    f"unknown://u:{CANARY}@host:99/t?x={CANARY}#y",
    f"s3://u:{CANARY} [@bucket/t?{CANARY}",
]


@pytest.mark.parametrize("uri", URIS)
def test_nothing_that_is_made_of_a_uri_shows_its_credentials(uri: str) -> None:
    storage = Storage.open(uri, OPTIONS)
    told = [storage, storage.child("a b"), storage.child("x").child("y"), Storage(uri), IndexedTable(storage)]
    texts = [text for each in told for text in (repr(each), str(each), f"{each!r:>20}")]
    texts += [storage.uri, storage.uri_of("a/b"), storage.child("a").uri_of("b"), without_credentials(uri)]
    texts += [str(dataclasses.asdict(storage)), str(vars(storage)), repr(split_uri(uri))]
    # Nothing is asked of the network: what stands in a URI is no way in.
    with pytest.raises(UnsupportedStorageError, match="give them as storage options") as raised:
        storage.list()
    error = raised.value
    texts += [str(error), repr(error), str(vars(error)), "".join(traceback.format_exception(error))]
    assert [text for text in texts if CANARY in text] == []
    # It is still there for whoever opens it.
    assert storage.credentials.add_to(storage.uri).rstrip("/") == uri.rstrip("/")


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_copies_keep_the_way_in(copied: object) -> None:
    storage = Storage.open(URIS[1], OPTIONS).child("x")
    again = copied(storage)  # type: ignore[operator]
    assert again == storage
    assert dict(again.options) == OPTIONS
    assert again.credentials.secrets() == storage.credentials.secrets()
    assert CANARY in again.credentials.add_to(again.uri)


@pytest.mark.parametrize(
    "location",
    [
        "/a?b@c",
        "file:///a%3Fb",
        "/data/u:p@x/t",
        "abfss://container@account.dfs.core.windows.net/t",
        "s3://bucket/user@example/t",
        "hdfs://namenode:8020/t",
    ],
)
def test_places_without_credentials_stay_as_they_are(location: str) -> None:
    assert split_uri(location) == (location, split_uri("/")[1])


@given(st.text(st.characters(codec="ascii", exclude_characters="/?#@:"), min_size=1, max_size=20))
def test_whatever_is_before_the_at_sign_is_taken_off(secret: str) -> None:
    clean, credentials = split_uri(f"s3://user:{secret}@bucket/t")
    assert clean == "s3://bucket/t"
    assert credentials.add_to(clean) == f"s3://user:{secret}@bucket/t"


def test_options_show_names_only() -> None:
    options = Options(OPTIONS)
    shown = f"{options} {options!r} {[options]} {dataclasses.asdict(Storage('/t', options))}"
    assert CANARY not in shown
    assert all(name in shown for name in OPTIONS)
    assert options == OPTIONS
    assert hash(options) == hash(Options(dict(OPTIONS)))


def test_tables_and_plans_opened_with_secrets_show_none(tmp_path: Path) -> None:
    table = IndexedTable.open(fabricated(tmp_path / "t").path, OPTIONS)
    plan = table.plan("n = 5")
    report = table.maintain()
    shown = [table, plan, plan.snapshot, plan.explain(), table.status(), table.indexes(), report]
    shown += [report.to_json(), table.timeline(), table.storage.child("x")]
    # A validation in this process reads rows with hudi-rs, which is given the options.
    shown += [table.validate(), table.validate().to_json()]
    assert [each for each in map(repr, shown) if CANARY in each] == []
    assert [each for each in map(str, shown) if CANARY in each] == []


@pytest.mark.parametrize(
    "name",
    [
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.access.key",
        "fs.azure.account.key.x.dfs.core.windows.net",
        "fs.s3a.server-side-encryption.key",
        "spark.ssl.keyPassword",
        "hoodie.datasource.hive_sync.password",
        "spark.my.token",
        "AWS_SESSION_TOKEN",
        "AWS_ACCESS_KEY_ID",
        "AZURE_STORAGE_KEY",
        "apiKey",
        "sas",
        "kafka.sasl.jaas.config",
        "AZURE_STORAGE_CONNECTION_STRING",
    ],
)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)
    assert CANARY not in str(InvalidOptionError(option=name, value=CANARY, reason="it is too long"))


@pytest.mark.parametrize(
    "name",
    [
        "hoodie.datasource.write.recordkey.field",
        "hoodie.datasource.write.keygenerator.class",
        "spark.sql.shuffle.partitions",
        "spark.yarn.keytab",
        "spark.driver.extraJavaOptions",
        "PYSPARK_PYTHON",
        "table",
    ],
)
def test_names_of_what_anybody_may_see(name: str) -> None:
    assert not is_secret(name, "https://host:80/x")


def test_values_with_a_password_are_secret_whatever_their_name() -> None:
    assert is_secret("hoodie.datasource.hive_sync.jdbcurl", f"jdbc:hive2://u:{CANARY}@h:10000")


def test_scrubbed_takes_the_longest_first_and_leaves_what_is_too_short() -> None:
    assert scrub("abcdef abcd a", ["abcd", "abcdef", "a", ""]) == "*** *** a"


class _Refusing(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_HEAD = do_GET  # noqa: N815  the standard library's

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the standard library's
        pass


@pytest.fixture
def store() -> Iterator[str]:
    """An object store that refuses everybody."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_command_line_shows_no_secret_of_a_store_that_refuses(store: str) -> None:
    code = (
        "import logging; logging.basicConfig(level=0)\n"
        "from hudi_index.cli import main; raise SystemExit(main())"
    )
    for uri in (
        f"s3://AKIA:{CANARY}@bucket/t?region=eu&scheme=http&endpoint_override={store}",
        f"s3://AKIA:x@bucket/t?sig={CANARY}",
    ):
        done = subprocess.run(
            [sys.executable, "-c", code, "status", "--table", uri, "--verbose"],
            capture_output=True,
            text=True,
            env={**os.environ, "AWS_EC2_METADATA_DISABLED": "true"},
            check=False,
        )
        assert done.returncode != 0
        assert "bucket" in done.stderr
        assert CANARY not in done.stdout + done.stderr
