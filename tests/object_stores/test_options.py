"""Storage options: one dictionary for every store, in hudi-rs's words."""

from __future__ import annotations

import pickle
import sys
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from obstore.exceptions import BaseError

from hudi_index.credentials import MASK
from hudi_index.errors import (
    InvalidOptionError,
    StorageDeniedError,
    StorageRefusedError,
    UnsupportedStorageError,
)
from hudi_index.storage import Storage
from hudi_index.storage.locations import address_of
from hudi_index.storage.options import KNOWN_OPTIONS, StoreOptions, check_storage_options
from hudi_index.storage.profiles import _opened
from tests.support.faulty_store import Fault, FaultyStore, faulty_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SECRET = "c4n4ry-secret"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_PROFILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    _opened.cache_clear()


@pytest.fixture
def store() -> Iterator[FaultyStore]:
    with faulty_store() as found:
        found.objects["t/file"] = b"x"
        yield found


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("aws_regin", "did you mean aws_region?"),
        ("aws_acces_key_id", "did you mean aws_access_key_id?"),
        ("azure_storage_acount_name", "did you mean azure_storage_account_name?"),
        ("googel_service_account", "did you mean google_service_account?"),
        ("fs.s3a.secret.key", "such as aws_region"),
        ("anything", "such as aws_region"),
    ],
)
@pytest.mark.parametrize("uri", ["s3://bucket/t", "gs://bucket/t", "az://container/t"])
def test_unknown_word_is_refused_by_name_with_a_suggestion(name: str, hint: str, uri: str) -> None:
    storage = Storage.open(uri, {"aws_region": "x", name: SECRET})
    for use in (storage.list, storage.for_hudi_rs):
        with pytest.raises(
            InvalidOptionError, match=rf"option '{name}' = .*no storage option .*{hint}"
        ) as raised:
            use()
        assert SECRET not in str(raised.value) + repr(vars(raised.value))


def test_case_and_beginning_do_not_matter(store: FaultyStore) -> None:
    options = {
        "AWS_ACCESS_KEY_ID": "k",
        "secret_access_key": "s",
        "Endpoint": store.endpoint,
        "REGION": "eu-central-1",
        "allow_http": "true",
    }
    storage = Storage.open("s3a://bucket/t", options)
    assert storage.read("file") == b"x"
    uri, given = storage.for_hudi_rs()
    assert uri == "s3://bucket/t"
    assert given == {
        "aws_access_key_id": "k",
        "aws_secret_access_key": "s",
        "aws_endpoint": store.endpoint,
        "aws_region": "eu-central-1",
        "aws_allow_http": "true",
    }


def test_words_of_other_stores_are_passed_over(store: FaultyStore) -> None:
    others = {"azure_storage_account_name": "a", "google_service_account": "/nowhere", "azure_timeout": "1s"}
    storage = store.storage(**others)
    assert storage.read("file") == b"x"
    assert not others.keys() & storage.for_hudi_rs()[1].keys()


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("aws_virtual_hosted_style_request", "maybe", "as boolean"),
        ("aws_timeout", "soon", "as Duration"),
        ("aws_allow_http", "maybe", "as boolean"),
    ],
)
def test_value_that_means_nothing_is_refused(store: FaultyStore, name: str, value: str, reason: str) -> None:
    with pytest.raises(UnsupportedStorageError, match=f"can't be opened: .*{value}.*{reason}"):
        store.storage(**{name: value}).list()


@pytest.mark.parametrize("name", sorted(KNOWN_OPTIONS))
def test_every_word_is_known_to_obstore(name: str) -> None:
    """Whatever it thinks of the value."""
    beginning = name.partition("_")[0]
    uri = {"aws": "s3://bucket/t", "google": "gs://bucket/t", "azure": "az://container/t"}[beginning]
    address = address_of(uri)
    if name == "aws_profile":
        return
    chosen, said = StoreOptions.of(address, {name: "1"}), ""
    try:
        chosen.open_with_obstore(address.url, {})
    except (BaseError, ValueError) as error:
        said = str(error)
    assert "not valid for store" not in said


def test_environment_is_read(store: FaultyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_ENDPOINT_URL": store.endpoint,
        "AWS_ALLOW_HTTP": "true",
        "AWS_REGION": "eu-central-1",
    }.items():
        monkeypatch.setenv(name, value)
    assert Storage.open("s3://bucket/t").read("file") == b"x"
    assert Storage.open("s3://bucket/t", {"aws_timeout": "60s"}).read("file") == b"x"
    monkeypatch.delenv("AWS_ALLOW_HTTP")
    with pytest.raises(StorageRefusedError, match="http:// needs the option allow_http"):
        Storage.open("s3://bucket/t").read("file")


@pytest.mark.parametrize(
    ("location", "url", "options"),
    [
        ("s3://b/a b", "s3://b/a%20b", {}),
        ("s3a://b/a%20b", "s3://b/a%2520b", {}),
        ("s3n://b", "s3://b", {}),
        ("S3A://b//x//y/", "s3://b/x/y", {}),
        ("gcs://b/t", "gs://b/t", {}),
        ("gs://b/t", "gs://b/t", {}),
        ("az://c/t", "az://c/t", {}),
        ("abfss://c@acc.dfs.core.windows.net/t", "abfss://c@acc.dfs.core.windows.net/t", {}),
        ("wasbs://c@acc.blob.core.windows.net/a b", "az://c/a%20b", {"azure_storage_account_name": "acc"}),
        (
            "wasb://c@acc.blob.core.chinacloudapi.cn/t",
            "az://c/t",
            {
                "azure_storage_account_name": "acc",
                "azure_storage_endpoint": "https://acc.blob.core.chinacloudapi.cn",
            },
        ),
    ],
)
def test_location_in_the_words_of_hudi_rs(location: str, url: str, options: dict[str, str]) -> None:
    storage = Storage.open(location)
    assert storage.for_hudi_rs() == (url, options)
    assert storage.location == Storage.open(storage.location).location
    if "//" not in location.partition("://")[2]:
        assert storage.location == location.rstrip("/")


def test_options_are_checked_without_a_store() -> None:
    assert check_storage_options({"AWS_Region": "x"}) == {"aws_region": "x"}
    with pytest.raises(InvalidOptionError):
        check_storage_options({"region": "x"})


def test_no_text_of_a_store_or_its_errors_shows_a_secret(store: FaultyStore) -> None:
    storage = store.storage(aws_secret_access_key=SECRET, aws_session_token=f"{SECRET}-token")
    # A store that repeats what it was sent.
    store.fail_always("GET", fault=Fault(403, f"You said {SECRET}-token"))
    with pytest.raises(StorageDeniedError, match=r"You said \*\*\*") as raised:
        storage.read("file")
    shown = f"{raised.value!r} {raised.value} {vars(raised.value)} {storage!r} {storage._objects!r}"
    assert SECRET not in shown
    assert MASK in shown
    assert raised.value.__cause__ is None
    assert SECRET in str(dict(pickle.loads(pickle.dumps(storage)).options))


class _Boto:
    """What boto3 has of a profile. The real one does not fit beside the versions that tests run with."""

    class Error(Exception):
        pass

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keys = "key1"
        self.error: Exception | None = None
        boto = SimpleNamespace(Session=self._session)
        monkeypatch.setitem(sys.modules, "boto3", boto)
        errors = SimpleNamespace(BotoCoreError=self.Error)
        monkeypatch.setitem(sys.modules, "botocore.exceptions", errors)

    def _session(self, profile_name: str) -> Any:
        if profile_name == "unknown":
            raise self.Error("The config profile (unknown) could not be found")
        found = None if profile_name == "empty" else SimpleNamespace(get_frozen_credentials=self._keys)
        return SimpleNamespace(get_credentials=lambda: found, region_name="eu-west-1")

    def _keys(self) -> Any:
        if self.error:
            raise self.error
        return SimpleNamespace(access_key=self.keys, secret_key=SECRET, token=f"{self.keys}-token")


@pytest.fixture
def boto(monkeypatch: pytest.MonkeyPatch) -> _Boto:
    return _Boto(monkeypatch)


def by_profile(store: FaultyStore, name: str | None = None) -> Storage:
    options = {"aws_endpoint": store.endpoint, "aws_allow_http": "true"}
    return Storage.open("s3://bucket/t", {**options, **({"aws_profile": name} if name else {})})


@pytest.mark.parametrize("by_environment", [False, True])
def test_profile_signs_requests_and_goes_to_hudi_rs_as_keys(
    store: FaultyStore, boto: _Boto, monkeypatch: pytest.MonkeyPatch, by_environment: bool
) -> None:
    if by_environment:
        monkeypatch.setenv("AWS_PROFILE", "mine")
    storage = by_profile(store, None if by_environment else "mine")
    assert storage.read("file") == b"x"
    assert "Credential=key1/" in store.headers[-1]["authorization"]
    assert "/eu-west-1/" in store.headers[-1]["authorization"]
    assert store.headers[-1]["x-amz-security-token"] == "key1-token"
    boto.keys = "key2"
    given = storage.for_hudi_rs()[1]
    assert (given["aws_access_key_id"], given["aws_session_token"]) == ("key2", "key2-token")
    assert (given["aws_region"], "aws_profile" in given) == ("eu-west-1", False)


def test_keys_go_before_a_profile_of_the_environment(
    store: FaultyStore, boto: _Boto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_PROFILE", "mine")
    assert store.storage().read("file") == b"x"
    assert "Credential=testkey/" in store.headers[-1]["authorization"]


@pytest.mark.parametrize(
    ("name", "reason"), [("unknown", "could not be found"), ("empty", "it has no credentials")]
)
def test_profile_that_is_none_is_refused(store: FaultyStore, boto: _Boto, name: str, reason: str) -> None:
    with pytest.raises(InvalidOptionError, match=f"option 'aws_profile' = '{name}': .*{reason}"):
        by_profile(store, name).list()


def test_profile_whose_sign_in_is_over_says_so(store: FaultyStore, boto: _Boto) -> None:
    boto.error = boto.Error("The SSO session has expired; run aws sso login")
    storage = by_profile(store, "mine")
    with pytest.raises(StorageDeniedError, match="SSO session has expired"):
        storage.for_hudi_rs()
    with pytest.raises(StorageDeniedError, match="SSO session has expired"):
        storage.read("file")
    assert store.requests == []


def test_profile_without_boto3_says_what_to_do(store: FaultyStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "boto3", None)
    with pytest.raises(InvalidOptionError, match="boto3, which is not installed; install it, or give keys"):
        by_profile(store, "mine").list()
