"""All object stores that tests of storage and lifecycle run in.

S3Proxy is there wherever the tests are (`object_store`). The slow tests have two more opinions: versitygw,
built by Go, which keeps objects as plain files too, and Azurite, brought by npm, which speaks Azure's
protocol. And whoever has a bucket can run the same tests in it: `make test-bucket`.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import shutil
import urllib.request
import uuid
from dataclasses import dataclass, field
from email.utils import formatdate
from typing import TYPE_CHECKING

import pytest

from hudi_index.storage import Storage
from tests.support.object_store import BUCKET, ObjectStore
from tests.support.servers import HOME, fetch, fetching, served, skip_if_unwanted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

__all__ = [
    "FAR_STORES",
    "OWN_BUCKET",
    "StoreRoot",
    "root_in_own_bucket",
    "root_of_fixture",
    "started_azurite",
    "started_versitygw",
]

FAR_STORES = [
    "object_store",
    pytest.param("versitygw", marks=pytest.mark.slow),
    pytest.param("azurite", marks=pytest.mark.slow),
    pytest.param("own_bucket", marks=[pytest.mark.slow, pytest.mark.bucket]),
]
"""The fixtures of all stores."""

OWN_BUCKET = "HUDI_INDEX_TEST_BUCKET"
"""Names a location in a bucket of one's own, for which the environment has credentials."""

_VERSITYGW = "1.8.0"
_AZURITE = "3.35.0"
_ACCOUNT, _KEY = "testaccount", base64.b64encode(b"testsecret").decode()
_API = "2021-12-02"


@dataclass(frozen=True)
class StoreRoot:
    """What tests keep their files below, in a store or on a disk."""

    names: tuple[str, ...]
    """All that it has, without a slash at the end."""
    options: Mapping[str, str] = field(default_factory=dict)
    folder: Path | None = None
    """Where its files are plain files of this machine."""

    @property
    def is_far(self) -> bool:
        """Whether it is in an object store."""
        return "://" in self.names[0]

    def location(self, path: str, name: int = 0) -> str:
        """A path below it, by one of its names."""
        return f"{self.names[name]}/{path}"

    def storage(self, path: str, name: int = 0) -> Storage:
        """The storage at a path."""
        return Storage.open(self.location(path, name), self.options)


def root_of_fixture(name: str, request: pytest.FixtureRequest) -> StoreRoot:
    """The root in one of FAR_STORES."""
    found = request.getfixturevalue(name)
    return _root_of(found) if isinstance(found, ObjectStore) else found


def _root_of(store: ObjectStore) -> StoreRoot:
    """That of a store which speaks S3 and keeps plain files."""
    names = tuple(f"{scheme}://{BUCKET}" for scheme in ("s3a", "s3", "s3n"))
    return StoreRoot(names, store.options, store.bucket)


@contextlib.contextmanager
def started_versitygw(folder: Path) -> Iterator[StoreRoot]:
    """versitygw, with its objects below a folder."""
    skip_if_unwanted()
    go = shutil.which("go")
    if go is None:
        pytest.skip("versitygw is built by Go: install Go 1.24 or later, so that `go` is on the PATH")
    program = HOME / f"versitygw-{_VERSITYGW}" / "versitygw"
    with fetching():
        if not program.exists():
            command = [go, "install", f"github.com/versity/versitygw/cmd/versitygw@v{_VERSITYGW}"]
            fetch("versitygw", command, program, {"GOBIN": str(program.parent), "CGO_ENABLED": "0"})
    (folder / BUCKET).mkdir(parents=True)
    store = ObjectStore(folder, "")
    keys = {
        "ROOT_ACCESS_KEY": store.options["aws_access_key_id"],
        "ROOT_SECRET_KEY": store.options["aws_secret_access_key"],
    }

    def command_at(port: int) -> list[str]:
        return [str(program), "--port", f"127.0.0.1:{port}", "posix", str(folder)]

    with served("versitygw", folder.with_suffix(".log"), command_at, keys) as endpoint:
        yield _root_of(ObjectStore(folder, endpoint))


@contextlib.contextmanager
def started_azurite(folder: Path) -> Iterator[StoreRoot]:
    """Azurite, with one empty container."""
    skip_if_unwanted()
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip(
            "Azurite runs on Node: install Node 18 or later, so that `node` and `npm` are on the PATH"
        )
    home = HOME / f"azurite-{_AZURITE}"
    program = home / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"
    with fetching():
        if not program.exists():
            # Under another name until it is whole.
            part = home.with_name(f"{home.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            command = [npm, "install", "--prefix", str(part), "--ignore-scripts", "--no-audit", "--no-fund"]
            fetch("Azurite", [*command, f"azurite@{_AZURITE}"], part / program.relative_to(home))
            part.rename(home)

    def command_at(port: int) -> list[str]:
        address = ["--blobHost", "127.0.0.1", "--blobPort", str(port), "--location", str(folder)]
        return [node, str(program), *address, "--skipApiVersionCheck", "--disableTelemetry", "--silent"]

    accounts = {"AZURITE_ACCOUNTS": f"{_ACCOUNT}:{_KEY}"}
    with served("Azurite", folder.with_suffix(".log"), command_at, accounts) as endpoint:
        options = {
            "azure_storage_account_name": _ACCOUNT,
            "azure_storage_account_key": _KEY,
            "azure_storage_endpoint": f"{endpoint}/{_ACCOUNT}",
            "azure_allow_http": "true",
        }
        _make_container(endpoint)
        names = (
            f"az://{BUCKET}",
            f"abfss://{BUCKET}@{_ACCOUNT}.dfs.core.windows.net",
            f"wasbs://{BUCKET}@{_ACCOUNT}.blob.core.windows.net",
            f"azure://{BUCKET}",
        )
        yield StoreRoot(names, options)


def _make_container(endpoint: str) -> None:
    """obstore makes none. Signed as Azure's "Shared Key" is, where the account is part of the path."""
    headers = {"x-ms-date": formatdate(usegmt=True), "x-ms-version": _API}
    signed = "".join(f"{name}:{value}\n" for name, value in headers.items())
    text = "PUT" + "\n" * 12 + f"{signed}/{_ACCOUNT}/{_ACCOUNT}/{BUCKET}\nrestype:container"
    seal = hmac.new(base64.b64decode(_KEY), text.encode(), hashlib.sha256).digest()
    headers["Authorization"] = f"SharedKey {_ACCOUNT}:{base64.b64encode(seal).decode()}"
    url = f"{endpoint}/{_ACCOUNT}/{BUCKET}?restype=container"
    urllib.request.urlopen(urllib.request.Request(url, method="PUT", headers=headers)).close()


@contextlib.contextmanager
def root_in_own_bucket() -> Iterator[StoreRoot]:
    """A new prefix in a bucket of whoever runs the tests; nothing of it stays."""
    location = os.environ.get(OWN_BUCKET)
    if not location:
        pytest.skip(f"{OWN_BUCKET} names no bucket to run the tests in; CONTRIBUTING.md says how")
    root = f"{location.rstrip('/')}/hudi-index-tests-{uuid.uuid4().hex[:12]}"
    try:
        yield StoreRoot((root,))
    finally:
        Storage.open(root).delete_folder("")
