"""What every kind of storage does: a disk, each object store that tests have, and a bucket of one's own."""

from __future__ import annotations

import pickle
import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_index.storage import TEMPORARY_SUFFIX, Storage
from tests.support.far_stores import FAR_STORES, StoreRoot, root_of_fixture
from tests.support.own_processes import OWN_PROCESSES
from tests.support.storage import HOSTILE_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.pool import Pool
    from pathlib import Path

# The first test in a store waits for the program that is fetched or built for it.
pytestmark = pytest.mark.timeout(3600)

PROCESSES = 8
THREADS = 16


@pytest.fixture(params=["local", *FAR_STORES])
def root(request: pytest.FixtureRequest, tmp_path: Path) -> StoreRoot:
    if request.param == "local":
        return StoreRoot((str(tmp_path),), folder=tmp_path)
    return root_of_fixture(request.param, request)


@pytest.fixture
def folder() -> str:
    """A folder that no other test uses."""
    return uuid.uuid4().hex


@pytest.fixture
def storage(root: StoreRoot, folder: str) -> Storage:
    return root.storage(folder)


@pytest.fixture(scope="module")
def processes() -> Iterator[Pool]:
    with OWN_PROCESSES.Pool(PROCESSES) as pool:
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


@pytest.mark.slow
def test_delete_takes_more_than_fit_into_a_request(storage: Storage) -> None:
    names = [f"f/{number:04}" for number in range(1100)]
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda name: storage.write(name, b""), names[::2]))

    assert len(list(storage.walk())) == 550
    storage.delete(*names[2:])

    assert [file.name for file in storage.walk()] == ["f/0000"]


def test_delete_twice_is_fine(storage: Storage) -> None:
    storage.write("folder/file", b"")

    for _ in range(2):
        storage.delete("folder/file")
        assert storage.list("folder") == []
    for _ in range(2):
        storage.delete_folder("folder")
        assert not storage.exists("folder")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_in_root_and_paths_are_taken_literally(root: StoreRoot, folder: str, name: str) -> None:
    _skip_backslash(root, name)
    if root.is_far and "?" in name:
        pytest.skip("behind ? in a far location was always a setting: only paths may have it")
    storage = root.storage(f"{folder}/{name}")

    storage.create(f"{name}/{name}", b"content")

    if root.folder:
        assert (root.folder / folder / name / name / name).read_bytes() == b"content"
    assert storage.read(f"{name}/{name}") == b"content"
    assert [file.name for file in storage.list(name)] == [name]
    assert [file.name for file in storage.walk()] == [f"{name}/{name}"]
    assert storage.child(name).read(name) == b"content"
    assert storage.child(name) == root.storage(f"{folder}/{name}/{name}")
    if root.is_far:
        assert Storage.open(storage.child(name).location, root.options) == storage.child(name)


@pytest.mark.parametrize("name", ["plain", "a b%20c", "ä€😀"])
def test_all_names_of_a_store_are_one(root: StoreRoot, folder: str, name: str) -> None:
    root.storage(f"{folder}/{name}").create(f"{name}/file", b"content")

    for number, known_as in enumerate(root.names):
        storage = root.storage(f"{folder}/{name}", number)
        assert storage.location == f"{known_as}/{folder}/{name}" or not root.is_far
        assert storage.read(f"{name}/file") == b"content"
        assert [file.name for file in storage.walk()] == [f"{name}/file"]
        with pytest.raises(FileExistsError):
            storage.create(f"{name}/file", b"another")


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_in_paths_are_taken_literally(root: StoreRoot, storage: Storage, name: str) -> None:
    _skip_backslash(root, name)
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


def test_replace_makes_and_swaps(storage: Storage) -> None:
    storage.replace("folder/file", b"first")
    storage.replace("folder/file", b"second")

    assert storage.read("folder/file") == b"second"
    assert [file.name for file in storage.list("folder")] == ["file"]


def test_listing_shows_what_was_created_and_deleted_before(storage: Storage) -> None:
    names = [f"{number:02}" for number in range(30)]
    for count, name in enumerate(names, 1):
        storage.create(f"f/{name}", b"x")
        assert [file.name for file in storage.list("f")] == names[:count]
    for count, name in enumerate(names, 1):
        storage.delete(f"f/{name}")
        assert [file.name for file in storage.list("f")] == names[count:]


def test_one_of_many_threads_creates_the_file(storage: Storage) -> None:
    def create(worker: int) -> bool:
        return _try_create((storage, path, worker))

    with ThreadPoolExecutor(THREADS) as pool:
        for number in range(25):
            path = f"timeline/{number}.commit"
            winners = [worker for worker, won in enumerate(pool.map(create, range(THREADS))) if won]
            assert len(winners) == 1
            assert storage.read(path) == _content(winners[0])
    assert len(storage.list("timeline")) == 25


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


def _skip_backslash(root: StoreRoot, name: str) -> None:
    if "\\" in name and root.names[0].startswith(("az", "abfs", "wasb")):
        pytest.skip("Azurite takes a backslash in a name for a slash")


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
