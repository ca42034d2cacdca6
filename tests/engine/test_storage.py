from __future__ import annotations

import errno
import multiprocessing
import os
import pickle
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from hudi_index.errors import StorageFullError, StoragePlaceError, UnsupportedStorageError
from hudi_index.storage import TEMPORARY_SUFFIX, Storage, write_to

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.pool import Pool

    from tests.support.object_store import ObjectStore

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


@dataclass(frozen=True)
class Kind:
    """A kind of storage, and the folder that has its files either way."""

    folder: Path
    store: ObjectStore | None = None

    @property
    def options(self) -> dict[str, str]:
        return self.store.options if self.store else {}

    def location(self, path: str) -> str:
        if not self.store:
            return f"{self.folder}/{path}"
        return f"s3a://{(self.folder / path).relative_to(self.store.folder)}"

    def open(self, path: str) -> Storage:
        return Storage.open(self.location(path), self.options)


@pytest.fixture(params=["local", "s3"])
def kind(request: pytest.FixtureRequest, tmp_path: Path) -> Kind:
    if request.param == "local":
        return Kind(tmp_path)
    store: ObjectStore = request.getfixturevalue("object_store")
    folder = store.bucket / tmp_path.name
    return Kind(folder, store)


@pytest.fixture
def storage(kind: Kind) -> Storage:
    return kind.open("root")


@pytest.fixture
def local(tmp_path: Path) -> Storage:
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
    files = [file for file in listed if not file.is_folder]
    assert [file.size for file in files] == [5, 5]
    assert all(file.modified > before for file in files)
    assert storage.list() == listed
    assert [bool(file.tag) for file in files] == [not storage.is_local] * 2


def test_list_of_a_missing_folder_is_empty(storage: Storage) -> None:
    assert storage.list() == []
    assert storage.list("no/such/folder") == []


def test_list_and_walk_begin_behind_a_name(storage: Storage) -> None:
    for path in ("f/1", "f/2", "f/3/x", "f/3/y", "f/4", "g"):
        storage.write(path, b"")

    assert [file.name for file in storage.list("f", after="2")] == ["3", "4"]
    assert [file.name for file in storage.list("f", after="9")] == []
    assert [file.name for file in storage.walk("f", after="3/x")] == ["3/y", "4"]
    assert [file.name for file in storage.walk(after="f/3/y")] == ["f/4", "g"]
    assert list(storage.walk("no/such/folder")) == []


def test_stat_tells_of_files_what_list_does(storage: Storage) -> None:
    for path in ("folder/a", "folder/b"):
        storage.write(path, path.encode() * 100)

    found = storage.stat(["folder/b", "folder", "folder/c", "folder/a"])

    assert [each and each.name for each in found] == ["folder/b", None, None, "folder/a"]
    assert [each and each.facts for each in found[::3]] == [
        file.facts for file in storage.list("folder")[::-1]
    ]
    assert list(storage.stat([])) == []


def test_tail_gives_size_and_end(storage: Storage) -> None:
    storage.write("numbers", bytes(range(100)))
    storage.write("empty", b"")

    assert storage.tail("numbers", 10) == (100, bytes(range(90, 100)))
    assert storage.tail("numbers", 1000) == storage.tail("numbers") == (100, bytes(range(100)))
    assert storage.tail("empty") == (0, b"")
    assert storage.read("empty") == b""
    for ask in (storage.tail, storage.open_input):
        with pytest.raises(FileNotFoundError):
            ask("nothing")


def test_large_file_is_written_in_parts_and_read_in_ranges(storage: Storage) -> None:
    data = bytes(range(256)) * 100_000

    with storage.open_output("folder/large") as sink:
        for start in range(0, len(data), 1_000_001):
            sink.write(data[start : start + 1_000_001])

    assert storage.read("folder/large") == data
    with storage.open_input("folder/large") as source:
        assert source.size() == len(data)
        source.seek(1234)
        assert source.read(10) == data[1234:1244]
        source.seek(len(data) - 70_000)
        assert source.read(20) == data[-70_000:-69_980]


def test_parquet_is_read_with_and_without_prebuffering(storage: Storage) -> None:
    table = pa.table({"a": range(50_000), "b": [f"{number}" for number in range(50_000)]})
    with storage.open_output("t.parquet") as sink:
        pq.write_table(table, sink, row_group_size=10_000)

    for pre_buffer in (False, True):
        with storage.open_input("t.parquet") as source:
            assert pq.ParquetFile(source, pre_buffer=pre_buffer).read() == table


def test_check_create_passes_where_the_second_is_refused(storage: Storage) -> None:
    storage.check_create("folder/file", b"x")

    assert storage.read("folder/file") == b"x"
    with pytest.raises(FileExistsError):
        storage.check_create("folder/file", b"y")
    assert storage.read("folder/file") == b"x"


def test_move_takes_files_and_folders(storage: Storage) -> None:
    for path in ("a/one", "a/b/two", "ab"):
        storage.write(path, path.encode())

    storage.move("ab", "other/ab")
    storage.move("a", "other/a")

    assert [file.name for file in storage.walk()] == ["other/a/b/two", "other/a/one", "other/ab"]
    assert storage.read("other/a/b/two") == b"a/b/two"
    with pytest.raises(FileNotFoundError):
        storage.move("a", "elsewhere")


def test_delete_takes_many(storage: Storage) -> None:
    for number in range(12):
        storage.write(f"f/{number}", b"")

    storage.delete(*(f"f/{number}" for number in range(1, 20)))

    assert [file.name for file in storage.walk()] == ["f/0"]
    storage.delete()


def test_delete_twice_is_fine(storage: Storage) -> None:
    storage.write("folder/file", b"")

    for _ in range(2):
        storage.delete("folder/file")
        assert storage.list("folder") == []
    for _ in range(2):
        storage.delete_folder("folder")
        assert not storage.exists("folder")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_in_root_and_paths_are_taken_literally(kind: Kind, name: str) -> None:
    if kind.store and "?" in name:
        pytest.skip("behind ? in a far location was always a setting: only paths may have it")
    root = kind.folder / name
    storage = kind.open(name)

    storage.create(f"{name}/{name}", b"content")

    assert (root / name / name).read_bytes() == b"content"
    assert storage.read(f"{name}/{name}") == b"content"
    assert [file.name for file in storage.list(name)] == [name]
    assert [file.name for file in storage.walk()] == [f"{name}/{name}"]
    assert storage.child(name).read(name) == b"content"
    assert storage.child(name) == kind.open(f"{name}/{name}")
    if kind.store:
        assert Storage.open(storage.child(name).location, kind.options) == storage.child(name)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_in_paths_are_taken_literally(storage: Storage, name: str) -> None:
    storage.write(f"{name}/{name}", b"content")
    storage.write("other", b"")

    assert [file.name for file in storage.list()] == sorted([name, "other"])
    assert [file.name for file in storage.walk(name)] == [name]
    found, none = storage.stat([f"{name}/{name}", f"{name}/{name}-"])
    assert (found and found.size, none) == (7, None)
    storage.move(name, "moved")
    assert list(storage.read_many([f"moved/{name}", f"{name}/{name}"])) == [b"content", None]
    storage.delete_folder("moved")
    assert [file.name for file in storage.walk()] == ["other"]


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


def test_create_and_replace_take_names_as_long_as_the_file_system_does(local: Storage) -> None:
    name = "n" * 255

    local.create(name, b"first")
    local.replace(name, b"second")

    assert local.read(name) == b"second"


def test_replace_makes_and_swaps(storage: Storage) -> None:
    storage.replace("folder/file", b"first")
    storage.replace("folder/file", b"second")

    assert storage.read("folder/file") == b"second"
    assert [file.name for file in storage.list("folder")] == ["file"]


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


def test_one_of_many_processes_creates_the_file(storage: Storage, processes: Pool) -> None:
    for number in range(25):
        path = f"timeline/{number}.commit"
        results = processes.map(
            _try_create, [(storage, path, worker) for worker in range(PROCESSES)], chunksize=1
        )

        winners = [worker for worker, won in enumerate(results) if won]
        assert len(winners) == 1
        assert storage.read(path) == _content(winners[0])
    assert all(not file.name.endswith(TEMPORARY_SUFFIX) for file in storage.list("timeline"))


def test_reader_sees_whole_contents_while_others_replace(storage: Storage, processes: Pool) -> None:
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
