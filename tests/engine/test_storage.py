from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import fs

from hudi_index.errors import StorageFullError, StoragePlaceError, UnsupportedStorageError
from hudi_index.storage import TEMPORARY_SUFFIX, Storage, write_to

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.pool import Pool

HOSTILE_NAMES = [
    "plain",
    "a b",
    " a ",
    "a%20b",
    "100%",
    "a#b",
    "a?b=c",
    "a+b&c;d",
    "a:b",
    "a\\b",
    "[a]{b}",
    "ä€😀",
    "city=s%C3%A3o paulo",
    "...",
    "a\"b'c",
]
PROCESSES = 8


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage.open(tmp_path / "root")


@pytest.fixture(scope="module")
def processes() -> Iterator[Pool]:
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        # Arrow's import takes longer than what is raced for: let every process have it behind it.
        pool.map(_warm_up, range(PROCESSES), chunksize=1)
        yield pool


def test_write_then_read_gives_the_same_bytes(storage: Storage) -> None:
    storage.write("a/b/c.bin", b"\x00\xff" * 1000)

    assert storage.read("a/b/c.bin") == b"\x00\xff" * 1000
    assert storage.exists("a/b/c.bin")
    assert storage.exists("a/b")
    assert not storage.exists("a/b/d")


def test_open_input_reads_at_any_offset(storage: Storage) -> None:
    storage.write("numbers", bytes(range(100)))

    with storage.open_input("numbers") as source:
        source.seek(90)
        assert source.read(5) == bytes(range(90, 95))
        assert source.size() == 100


def test_read_of_a_missing_file_raises(storage: Storage) -> None:
    with pytest.raises(FileNotFoundError):
        storage.read("nothing")


def test_list_is_sorted_and_not_recursive(storage: Storage) -> None:
    before = datetime.now(timezone.utc) - timedelta(minutes=1)
    for path in ("b", "a", "folder/inner"):
        storage.write(path, b"12345")

    listed = storage.list()

    assert [(file.name, file.is_folder) for file in listed] == [("a", False), ("b", False), ("folder", True)]
    assert [file.size for file in listed if not file.is_folder] == [5, 5]
    assert all(file.modified > before for file in listed)


def test_list_of_a_missing_folder_is_empty(storage: Storage) -> None:
    assert storage.list() == []
    assert storage.list("no/such/folder") == []


def test_delete_twice_is_fine(storage: Storage) -> None:
    storage.write("folder/file", b"")

    for _ in range(2):
        storage.delete("folder/file")
        assert storage.list("folder") == []
    for _ in range(2):
        storage.delete_folder("folder")
        assert not storage.exists("folder")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_in_root_and_paths_are_taken_literally(tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    storage = Storage.open(root)

    storage.create(f"{name}/{name}", b"content")

    assert (root / name / name).read_bytes() == b"content"
    assert storage.read(f"{name}/{name}") == b"content"
    assert [file.name for file in storage.list(name)] == [name]
    assert storage.child(name).read(name) == b"content"
    assert Storage.open(storage.uri_of(name)).read(name) == b"content"
    assert Storage.open(str(root)) == storage
    assert Storage.open(root.as_uri()) == storage
    assert storage.child(name) == Storage.open(root / name)


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


def test_pickle_round_trip_before_and_after_use(storage: Storage) -> None:
    assert pickle.loads(pickle.dumps(storage)) == storage
    storage.write("file", b"x")
    copy = pickle.loads(pickle.dumps(storage))

    assert copy == storage
    assert hash(copy) == hash(storage)
    assert copy.read("file") == b"x"


def test_create_refuses_an_existing_file_and_keeps_it(storage: Storage) -> None:
    storage.create("folder/file", b"first")

    with pytest.raises(FileExistsError):
        storage.create("folder/file", b"second")

    assert storage.read("folder/file") == b"first"
    assert [file.name for file in storage.list("folder")] == ["file"]


def test_create_and_replace_take_names_as_long_as_the_file_system_does(storage: Storage) -> None:
    name = "n" * 255

    storage.create(name, b"first")
    storage.replace(name, b"second")

    assert storage.read(name) == b"second"


def test_replace_makes_and_swaps(storage: Storage) -> None:
    storage.replace("folder/file", b"first")
    storage.replace("folder/file", b"second")

    assert storage.read("folder/file") == b"second"
    assert [file.name for file in storage.list("folder")] == ["file"]


def test_replace_that_fails_leaves_no_temporary_file(storage: Storage) -> None:
    storage.write("folder/inner/file", b"x")

    with pytest.raises(StoragePlaceError, match=r"folder/inner: it can.t be replaced: is a directory"):
        storage.replace("folder/inner", b"y")

    assert [file.name for file in storage.list("folder")] == ["inner"]


def test_full_disk_leaves_neither_file_nor_temporary(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)

    with pytest.raises(StorageFullError, match=r"folder/file: .* no space left on device; make"):
        storage.create("folder/file", b"x")

    assert storage.list("folder") == []


def test_file_system_without_hard_links_is_refused(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(source: object, target: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)

    with pytest.raises(UnsupportedStorageError, match="hard links"):
        storage.create("folder/file", b"x")

    assert storage.list("folder") == []


@pytest.mark.parametrize("operation", ["create", "replace"])
def test_atomic_steps_are_refused_on_other_file_systems(operation: str) -> None:
    storage = Storage.open("mock://bucket/table")
    storage.write("file", b"plain writes and reads work")

    with pytest.raises(UnsupportedStorageError) as caught:
        getattr(storage, operation)("file", b"x")

    assert caught.value.uri == "mock://bucket/table"
    assert "'mock'" in str(caught.value)
    assert storage.read("file") == b"plain writes and reads work"


@pytest.mark.parametrize("uri", ["nonsense://a/b", "s3://bucket/a b"])
def test_uri_that_cannot_be_opened_says_so(uri: str) -> None:
    with pytest.raises(UnsupportedStorageError, match="can't be opened") as caught:
        Storage.open(uri).list()

    assert caught.value.uri == uri


def test_unknown_age_counts_as_new(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = datetime.now(timezone.utc)
    storage.write("file", b"x")

    info = fs.FileInfo("root/file", fs.FileType.File, size=1)
    monkeypatch.setitem(storage.__dict__, "_opened", (_Listing([info]), "root"))

    assert storage.list()[0].modified >= before


def test_one_of_many_processes_creates_the_file(tmp_path: Path, processes: Pool) -> None:
    storage = Storage.open(tmp_path)
    for number in range(25):
        path = f"timeline/{number}.commit"
        results = processes.map(
            _try_create, [(storage, path, worker) for worker in range(PROCESSES)], chunksize=1
        )

        winners = [worker for worker, won in enumerate(results) if won]
        assert len(winners) == 1
        assert storage.read(path) == _content(winners[0])
    assert all(not file.name.endswith(TEMPORARY_SUFFIX) for file in storage.list("timeline"))


def test_reader_sees_whole_contents_while_others_replace(tmp_path: Path, processes: Pool) -> None:
    storage = Storage.open(tmp_path)
    storage.replace("state", _content(0))

    writers = processes.map_async(_replace_often, [(storage, worker) for worker in range(4)], chunksize=1)
    seen = set()
    while not writers.ready():
        content = storage.read("state")
        assert content == _content(content[0])
        seen.add(content[0])

    writers.get()
    assert len(seen) > 1
    assert [file.name for file in storage.list()] == ["state"]


class _Listing:
    """A file system that lists what it was given."""

    def __init__(self, found: list[fs.FileInfo]) -> None:
        self.found = found

    def get_file_info(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        return self.found


def _content(worker: int) -> bytes:
    """Too much for one write of a pipe or page, and told apart from any other worker's."""
    return bytes([worker]) * 300_000


def _warm_up(worker: int) -> int:
    return worker


def _try_create(task: tuple[Storage, str, int]) -> bool:
    storage, path, worker = task
    try:
        storage.create(path, _content(worker))
    except FileExistsError:
        return False
    return True


def _replace_often(task: tuple[Storage, int]) -> None:
    storage, worker = task
    for _ in range(40):
        storage.replace("state", _content(worker))


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
