"""Storage on a local file system, and what is refused before anything is opened.

What holds in every kind of storage is in `tests/object_stores/test_contract.py`.
"""

from __future__ import annotations

import errno
import os
from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyarrow import fs

from hudi_index.errors import StorageFullError, StoragePlaceError, UnsupportedStorageError
from hudi_index.storage import Storage, write_to
from tests.support.storage import HOSTILE_NAMES


@pytest.fixture
def local(tmp_path: Path) -> Storage:
    return Storage.open(tmp_path / "root")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_local_uri_is_quoted(tmp_path: Path, name: str) -> None:
    storage = Storage.open(tmp_path / name)

    assert Storage.open(str(tmp_path / name)) == storage
    assert Storage.open((tmp_path / name).as_uri()) == storage
    assert Storage.open(storage.uri_of(name)) == storage.child(name)
    assert storage.location_of("a b") == f"file://{tmp_path}/{name}/a b"


@pytest.mark.parametrize("form", ["file://{}", "file:{}", "file://localhost{}", "{}", "{}/", "file://{}/"])
def test_all_spellings_of_a_local_folder_are_one_storage(tmp_path: Path, form: str) -> None:
    assert Storage.open(form.format(tmp_path)) == Storage.open(tmp_path)


def test_relative_path_is_resolved_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage = Storage.open("odd:name")
    monkeypatch.chdir("/")

    storage.write("file", b"x")

    assert (tmp_path / "odd:name" / "file").exists()


def test_root_of_the_file_system_is_a_storage(tmp_path: Path) -> None:
    storage = Storage.open("/")
    (tmp_path / "file").write_bytes(b"x")

    assert storage.read(f"{tmp_path}/file".lstrip("/")) == b"x"
    assert storage.child(str(tmp_path).lstrip("/")) == Storage.open(tmp_path)
    assert tmp_path.parts[1] in [file.name for file in storage.list()]


def test_options_travel_to_children(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path, {"aws_region": "eu-central-1"})

    assert storage.child("a").options == {"aws_region": "eu-central-1"}
    assert storage != Storage.open(tmp_path)


def test_create_and_replace_take_names_as_long_as_the_file_system_does(local: Storage) -> None:
    name = "n" * 255

    local.create(name, b"first")
    local.replace(name, b"second")

    assert local.read(name) == b"second"


def test_replace_that_fails_leaves_no_temporary_file(local: Storage) -> None:
    local.write("folder/inner/file", b"x")

    with pytest.raises(StoragePlaceError, match=r"folder/inner: it can.t be replaced: is a directory"):
        local.replace("folder/inner", b"y")

    assert [file.name for file in local.list("folder")] == ["inner"]


def test_full_disk_leaves_neither_file_nor_temporary(local: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(StorageFullError, match=r"folder/file: .* no space left on device; make"):
        local.create("folder/file", b"x")

    assert local.list("folder") == []


def test_file_system_without_hard_links_is_refused(local: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: object, target: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)

    with pytest.raises(UnsupportedStorageError, match="hard links"):
        local.create("folder/file", b"x")

    assert local.list("folder") == []


@pytest.mark.parametrize(
    ("location", "reason"),
    [
        ("nonsense://a/b", "nobody here speaks nonsense://; .* s3://, s3a://, s3n://, gs://, .* wasbs://"),
        ("hdfs://namenode:8020/t", "nobody here speaks hdfs://"),
        ("s3://", "name of a bucket"),
        ("s3:///t", "name of a bucket"),
        ("s3://bucket/a/../b", "no . and .."),
        ("s3://bucket/t?region=eu", "storage options"),
        ("wasbs://container/t", "wasbs://container@account.blob"),
        ("az://container/t", "[Aa]ccount"),
    ],
)
def test_location_that_cannot_be_opened_says_so(location: str, reason: str) -> None:
    with pytest.raises(UnsupportedStorageError, match=f"can't be opened: .*{reason}"):
        Storage.open(location).list()


def test_unknown_age_counts_as_new(local: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = datetime.now(timezone.utc)
    local.write("file", b"x")

    info = fs.FileInfo("root/file", fs.FileType.File, size=1)
    monkeypatch.setattr(local._local, "_filesystem", _Listing([info]))

    assert local.list()[0].modified >= before


class _Listing:
    """A file system that lists what it was given."""

    def __init__(self, found: list[fs.FileInfo]) -> None:
        self.found = found

    def get_file_info(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        return self.found


@pytest.mark.parametrize(
    ("location", "name"),
    [
        ("{path}/x y/a b.json", "x y/a b.json"),
        ("{path}/x/a%20b.json", "x/a%20b.json"),
        ("{uri}/x%20y/a%20b.json", "x y/a b.json"),
        ("file:{path}/x/a%2520b.json", "x/a%20b.json"),
    ],
)
def test_text_is_written_to_the_file_that_a_location_names(tmp_path: Path, location: str, name: str) -> None:
    write_to(location.format(path=tmp_path, uri=tmp_path.as_uri()), "tëxt")
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [tmp_path / name]
    assert (tmp_path / name).read_text(encoding="utf-8") == "tëxt"


@pytest.mark.parametrize("location", ["name.json", "a:b/name.json"])
def test_text_is_written_to_relative_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, location: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_to(location, "text")
    assert (tmp_path / location).read_text(encoding="utf-8") == "text"


@pytest.mark.parametrize("beyond", [0, 1, 400, 500, 999, 999_499, 999_500, 999_999])
def test_all_looks_at_a_file_tell_the_same_time(tmp_path: Path, local: Storage, beyond: int) -> None:
    local.replace("folder/file", b"x")
    for milliseconds in (0, 1, 999, 1_795_133_334_001, 1_795_133_334_123, 4_000_000_000_999):
        os.utime(tmp_path / "root/folder/file", ns=(0, milliseconds * 1_000_000 + beyond))
        (listed,), (walked,), (asked,) = (
            local.list("folder"),
            local.walk("folder"),
            local.stat(["folder/file"]),
        )
        assert asked is not None
        expected = (1, milliseconds, "")
        assert [each.facts for each in (listed, walked, asked)] == [expected] * 3
        tree = local.tree(without=".hoodie", unwanted=".crc", lasting=".parquet")
        assert tree["folder"]["file"] == expected
