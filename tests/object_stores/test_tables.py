"""Tables in an object store are the tables that they are on a disk."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable
from hudi_index.errors import (
    MissingSliceFileError,
    StorageDeniedError,
    StoragePlaceError,
    StorageUnreachableError,
)
from hudi_index.storage import Storage
from hudi_index.table import Snapshot
from hudi_index.table.listing import list_partitions
from hudi_index.table.timeline import Timeline
from tests.support.faulty_store import Fault, FaultyStore, faulty_store
from tests.support.tables import T1, T2, T3, Fabricated, fabricated

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.object_store import ObjectStore

SHAPES = [(6, "COPY_ON_WRITE"), (6, "MERGE_ON_READ"), (9, "COPY_ON_WRITE"), (9, "MERGE_ON_READ")]


@pytest.fixture
def folder(object_store: ObjectStore, tmp_path: Path) -> Path:
    return object_store.bucket / tmp_path.name


def far(object_store: ObjectStore, path: Path, scheme: str = "s3a") -> Storage:
    place = path.relative_to(object_store.folder)
    return Storage.open(f"{scheme}://{place}", object_store.options)


def made(path: Path, version: int, table_type: str, partition_fields: str = "region") -> Fabricated:
    table = Fabricated(path, version=version, table_type=table_type, partition_fields=partition_fields)
    data = [{"id": f"k{number}", "n": number, "region": "eu"} for number in range(3)]
    table.commit(T1)
    for number, partition in enumerate(
        ("eu", "-1", "%2F x", ".a", "zz/deeper") if partition_fields else ("",)
    ):
        table.base_file(partition, f"a{number}", T1, data)
    if table_type == "MERGE_ON_READ":
        table.commit(T2, "deltacommit")
        for number in range(3):
            table.log_file(
                "eu" if partition_fields else "", f"a{number}", T1 if version == 6 else T2, size=number
            )
    table.write("elsewhere/no partition.parquet")
    return table


@pytest.mark.parametrize("partition_fields", ["region", ""])
@pytest.mark.parametrize(("version", "table_type"), SHAPES)
def test_listing_and_snapshot_are_those_of_the_disk(
    object_store: ObjectStore, folder: Path, version: int, table_type: str, partition_fields: str
) -> None:
    table = made(folder / "a b%20c", version, table_type, partition_fields)
    # What sorts before and behind .hoodie, in the root too.
    for name in ("a.parquet.crc", ".zz/x", "-/y", "zzz/y", ".hoodie_/z"):
        table.write(name)
    storage = far(object_store, table.path)

    ours, disk = list_partitions(storage), list_partitions(table.storage)
    assert ours.keys() == disk.keys()
    for path, files in disk.items():
        assert {name: size for name, (size, _, _) in ours[path].items()} == {
            name: size for name, (size, _, _) in files.items()
        }
        seconds = {name: modified // 1000 for name, (_, modified, _) in files.items()}
        assert {name: modified / 1000 for name, (_, modified, _) in ours[path].items()} == seconds
    snapshot, local = Snapshot.load(storage), Snapshot.load(table.storage)
    without_times = [(each.group, each.base_file, each.log_files, each.size) for each in snapshot.slices]
    assert without_times == [(each.group, each.base_file, each.log_files, each.size) for each in local.slices]
    assert len(without_times) >= 1
    assert snapshot.schema == local.schema
    # Folders in the timeline have no time of their own.
    table.write(f"{table.timeline_folder}/history/x")
    known = Snapshot.load(storage)
    assert Snapshot.load(storage, known=known) is known


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n"])
@pytest.mark.parametrize("reads_by_hudi_rs", [False, True])
def test_rows_are_those_of_the_disk(
    object_store: ObjectStore, folder: Path, scheme: str, reads_by_hudi_rs: bool
) -> None:
    table = fabricated(folder / "sp ace" / "100%")
    here, there = table.storage, far(object_store, table.path, scheme)

    def rows(storage: Storage) -> list[pa.Table]:
        reader = Snapshot.load(storage).reader
        slices = Snapshot.load(storage).slices
        assert slices
        if reads_by_hudi_rs:
            columns = ["id", "n"]
            batches = [list(reader._stream(each, columns)) for each in slices]
            return [pa.Table.from_batches(found) for found in batches]
        return [pa.Table.from_batches(reader.rows(each).batches()) for each in slices]

    assert rows(there) == rows(here)
    assert Snapshot.load(there).reader.losses(Snapshot.load(there).slices) == {}


def test_scan_reads_what_it_reads_on_disk(object_store: ObjectStore, folder: Path) -> None:
    table = fabricated(folder / "t")
    there = IndexedTable(far(object_store, table.path))
    here = IndexedTable.open(table.path)

    found = there.scan("n >= 5").read_all()
    assert found.sort_by("id") == here.scan("n >= 5").read_all().sort_by("id")
    assert found.num_rows
    ours, disk = there.plan("n = 5"), here.plan("n = 5")
    assert (ours.kept, ours.total, ours.files) == (disk.kept, disk.total, disk.files)


@pytest.mark.parametrize("version", [6, 9])
def test_table_made_again_within_a_second_is_another(tmp_path: Path, version: int) -> None:
    table = made(tmp_path / "t", version, "COPY_ON_WRITE")
    with faulty_store() as store:
        fill(store, table.path)
        storage = store.storage()
        known = Snapshot.load(storage)
        assert Snapshot.load(storage, known=known) is known
        # All objects have the same time, always, and these have the same size.
        commit = next(key for key in store.objects if key.endswith(".commit"))
        content = store.objects[commit]
        store.objects[commit] = content.replace(b"upsert", b"insert")
        assert len(store.objects[commit]) == len(content)
        other = Snapshot.load(storage, known=known)
        assert other is not known
        base = next(key for key in store.objects if key.endswith(".parquet"))
        store.objects[base] = bytes(reversed(store.objects[base]))
        assert Snapshot.load(storage, known=other) is not other


def fill(store: FaultyStore, folder: Path) -> None:
    """Put a folder into a store, as `t`."""
    files = (file for file in folder.rglob("*") if file.is_file())
    store.objects.update({f"t/{file.relative_to(folder)}": file.read_bytes() for file in files})


def test_table_of_500_partitions_is_listed_in_five_requests() -> None:
    with faulty_store() as store:
        for number in range(500):
            names = [".hoodie_partition_metadata", *(f"f{each}_0-1-2_{T1}.parquet" for each in range(3))]
            store.objects.update({f"t/day={number:03}/{name}": b"x" for name in names})
        store.objects.update({f"t/.hoodie/timeline/{number}": b"" for number in range(3000)})
        store.objects["t/%2F/.hoodie_partition_metadata"] = b""
        found = list_partitions(store.storage())
        assert len(store.requests) <= 5
    assert len(found) == 501
    assert sum(len(files) - 1 for files in found.values()) == 1500


def test_long_listing_goes_on_in_ranges_and_finds_all() -> None:
    with faulty_store() as store:
        for number in range(1300):
            names = [".hoodie_partition_metadata", *(f"f{each}" for each in range(9))]
            # One partition alone fills several pages, and some sort before .hoodie.
            store.objects.update({f"t/{'-' if number < 3 else 'd'}{number:04}/{name}": b"" for name in names})
        store.objects.update({f"t/d0700/f{number}": b"" for number in range(2500)})
        store.objects["t/d0800"] = b"a file with the name that a folder has"
        store.objects.update({f"t/.hoodie/{number}": b"" for number in range(1500)})
        found = list_partitions(store.storage())
        expected = [key[2:] for key in store.objects if not key.startswith("t/.hoodie/")]
        pages = len(expected) / 1000
        assert len(store.requests) <= pages + 2 * 16 + 4
    listed = [f"{folder}/{name}" for folder, files in found.items() for name in files]
    assert sorted(listed) == sorted(key for key in expected if key != "d0800")


ORDERS: dict[str, Callable[[str], Any]] = {
    "by name": str,
    "by folder": lambda name: name.split("/"),
    "UTF-16": lambda name: name.encode("utf-16-be"),
}
SIBLINGS = ("d", "d-1", "d 1", "d.1", "d1", "d1-x", "e=😀", "e=\uffee", "e=\uffee-1", "z", "z+")
"""Partitions that these orders put differently: `d/f` is behind `d-1/f` by name, before it by folder."""


@pytest.mark.parametrize(
    ("order", "files", "broken"),
    [*((order, 3, broken) for order in ORDERS for broken in ([], [2])), ("by folder", 450, [2, 4, 9])],
)
def test_no_file_is_lost_in_a_store_that_lists_in_another_order(
    order: str, files: int, broken: list[int]
) -> None:
    """As Azure with a hierarchical namespace does: 450 files in each make a listing that is cut."""
    with faulty_store() as store:
        for folder in (*SIBLINGS, ".hoodie"):
            store.objects.update({f"t/{folder}/{number:04}": b"" for number in range(files)})
            store.objects[f"t/{folder}/.hoodie_partition_metadata"] = b""
        store.order = ORDERS[order]
        store.choose = lambda method, path, number: Fault(breaks_off=True) if number in broken else None
        found = list_partitions(store.storage())
        walked = [file.name for file in store.storage().walk("d")]
    assert {folder: len(names) for folder, names in found.items()} == dict.fromkeys(SIBLINGS, files + 1)
    assert sorted(walked) == sorted([".hoodie_partition_metadata", *(f"{n:04}" for n in range(files))])


@pytest.mark.parametrize("marker", ["t/", "t/p/", "t/q/", "t/p/q/"])
def test_objects_that_stand_for_folders_are_no_files_of_the_table(marker: str) -> None:
    """As s3a and web consoles make them."""
    with faulty_store() as store:
        store.objects.update({"t/p/.hoodie_partition_metadata": b"", f"t/p/f_0-1-2_{T1}.parquet": b"x"})
        expected = list_partitions(store.storage())
        store.objects[marker] = b""
        found = list_partitions(store.storage())
        assert {folder: set(files) - {"q"} for folder, files in found.items()} == {
            folder: set(files) for folder, files in expected.items()
        }


@pytest.mark.parametrize("name", ["p//f", "./f", "../f", "p/a\x01f"])
def test_object_that_no_path_can_name_is_an_error_and_never_passed_over(name: str) -> None:
    with faulty_store() as store:
        store.objects.update({"t/p/.hoodie_partition_metadata": b"", f"t/{name}": b""})
        with pytest.raises(StoragePlaceError, match=re.escape(f't/{name}"')):
            list_partitions(store.storage())


@pytest.mark.parametrize("broken", [[], [2, 4]])
def test_no_file_is_lost_in_a_store_without_any_order(broken: list[int]) -> None:
    """As directory buckets of S3, which begin at no name but the first."""
    with faulty_store() as store:
        store.bucket, store.refuses_start = "tables--x-s3", True
        store.order = lambda name: name[::-1]
        for folder in (*SIBLINGS, ".hoodie"):
            store.objects.update({f"t/{folder}/{number:04}": b"" for number in range(300)})
        store.choose = lambda method, path, number: Fault(breaks_off=True) if number in broken else None
        storage = store.storage()
        found = storage.tree(without=".hoodie", unwanted=".crc", lasting=".parquet")
        assert {folder: len(names) for folder, names in found.items()} == dict.fromkeys(SIBLINGS, 300)
        assert [file.name for file in storage.list("d", after="0297")] == ["0298", "0299"]


def test_failure_of_the_store_under_hudi_rs_is_no_refusal_of_the_slice(tmp_path: Path) -> None:
    table = fabricated(tmp_path / "t")
    with faulty_store() as store:
        fill(store, table.path)
        snapshot = Snapshot.load(store.storage())
        (file_slice,) = snapshot.slices
        # As often as hudi-rs tries; when we look after it, the file is whole.
        left = [Fault(500)] * 11
        store.choose = lambda method, path, number: left.pop() if path.endswith(".parquet") and left else None
        with pytest.raises(
            StorageUnreachableError, match=r"can't be read by hudi-rs: .*status: 500"
        ) as raised:
            list(snapshot.reader._stream(file_slice, ["id"]))
        assert raised.value.exit_code == 4
        assert [batch.num_rows for batch in snapshot.reader._stream(file_slice, ["id"])] == [10]
        store.choose = lambda method, path, number: Fault(403, "AccessDenied") if "parquet" in path else None
        for read in (snapshot.reader._stream(file_slice, ["id"]), snapshot.reader.rows(file_slice).batches()):
            with pytest.raises(StorageDeniedError):
                list(read)


def test_failure_of_the_store_within_a_file_keeps_its_kind(tmp_path: Path) -> None:
    """Through pyarrow, which asks for the ranges of a file from threads of its own."""
    table = Fabricated(tmp_path / "t")
    rows = [{"id": f"{n}-{'x' * 50}{n * 7919 % 10007}", "n": n, "region": "eu"} for n in range(30_000)]
    table.base_file("eu", "a", T1, rows, compression="none", use_dictionary=False)
    table.commit(T1)
    with faulty_store() as store:
        fill(store, table.path)
        snapshot = Snapshot.load(store.storage())
        (file_slice,) = snapshot.slices
        assert file_slice.size > 1_000_000
        batches = snapshot.reader.rows(file_slice).batches()
        seen = []

        def after_the_footer(method: str, path: str, number: int) -> Fault | None:
            if path.endswith(".parquet"):
                seen.append(path)
                return Fault(503, "SlowDown") if len(seen) > 1 else None
            return None

        store.choose = after_the_footer
        with pytest.raises(StorageUnreachableError, match="503 SlowDown"):
            list(batches)
        assert len(seen) > 1


@pytest.mark.parametrize("action", ["rollback", "restore"])
def test_rollback_in_the_second_of_a_watermark_is_seen(
    object_store: ObjectStore, folder: Path, action: str
) -> None:
    table = Fabricated(folder / "t", version=6, table_type="MERGE_ON_READ")
    table.commit(T1)
    table.commit(T2, "deltacommit")
    moment = time.time() - 3600
    for file in (table.path / ".hoodie").iterdir():
        os.utime(file, (moment, moment))
    storage = far(object_store, table.path)
    config = Snapshot.load(storage).config
    before = Timeline.load(storage, config)
    watermark = max(each.completed_time for each in before.changes)
    assert watermark.endswith("000")
    assert not before.has_removed_since(watermark)
    table.commit(T3, action)
    os.utime(table.path / ".hoodie" / f"{T3}.{action}", (moment, moment))
    after = Timeline.load(storage, config)
    assert after.has_removed_since(watermark)
    assert after.changes_since(watermark) == [watermark]
    assert not Timeline.load(table.storage, config).has_removed_since(f"{watermark[:-3]}999")


def test_version_6_log_is_the_same_by_listing_and_by_a_look(object_store: ObjectStore, folder: Path) -> None:
    """Some stores tell milliseconds in one of them: only whole seconds count."""
    table = made(folder / "t", 6, "MERGE_ON_READ")
    snapshot = Snapshot.load(far(object_store, table.path))
    logged = [each for each in snapshot.slices if each.log_files]
    assert logged
    assert all(each % 1000 == 0 for file_slice in logged for each in file_slice.log_times)
    assert snapshot.reader.losses(logged) == {}
    path = table.path / logged[0].log_paths[0]
    os.utime(path, (path.stat().st_mtime, path.stat().st_mtime + 60))
    (lost,) = snapshot.reader.losses(logged).values()
    assert isinstance(lost, MissingSliceFileError)
    assert "written again" in str(lost)
