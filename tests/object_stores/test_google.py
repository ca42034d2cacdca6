"""Google Cloud Storage: what it is asked. No server of its protocol is whole enough to keep tables in.

CONTRIBUTING.md says how to run the tests of the other stores in a bucket of one's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index.errors import StorageDeniedError, UnsupportedStorageError
from tests.support.faulty_store import Fault, FaultyStore, faulty_store

if TYPE_CHECKING:
    from collections.abc import Iterator

CONDITION = "x-goog-if-generation-match"


@pytest.fixture
def store() -> Iterator[FaultyStore]:
    with faulty_store(speaks_google=True) as found:
        yield found


def test_create_asks_for_no_generation_and_is_refused_a_second(store: FaultyStore) -> None:
    storage = store.storage()
    storage.create("a b/file", b"first")
    with pytest.raises(FileExistsError):
        storage.create("a b/file", b"second")

    assert store.requests == ["PUT t/a b/file"] * 2
    assert [headers.get(CONDITION) for headers in store.headers] == ["0", "0"]
    assert not any("if-none-match" in headers for headers in store.headers)
    assert storage.read("a b/file") == b"first"


def test_other_writes_have_no_condition(store: FaultyStore) -> None:
    storage = store.storage()
    storage.replace("file", b"first")
    storage.replace("file", b"second")
    with storage.open_output("other") as sink:
        sink.write(b"x")

    assert [headers.get(CONDITION) for headers in store.headers] == [None] * 3
    assert storage.read("file") == b"second"


@pytest.mark.parametrize("fault", [Fault(), Fault(is_done=True), Fault(500, is_done=True), Fault(503)])
def test_create_whose_answer_is_lost_makes_its_file(store: FaultyStore, fault: Fault) -> None:
    store.fail("PUT", fault)
    store.storage().create("file", b"mine")
    assert store.objects == {"t/file": b"mine"}
    store.fail("PUT", fault)
    with pytest.raises(FileExistsError):
        store.storage().create("file", b"another's")
    assert store.objects == {"t/file": b"mine"}


def test_store_that_ignores_the_condition_is_refused(store: FaultyStore) -> None:
    store.storage().check_create("file", b"x")
    store.ignores_conditions = True
    with pytest.raises(UnsupportedStorageError, match=r"gs://bucket/t.* create a file only if"):
        store.storage().check_create("other", b"x")


def test_files_are_listed_read_and_deleted(store: FaultyStore) -> None:
    storage = store.storage()
    for path in ("f/1", "f/2", "f/3/x", "g"):
        storage.write(path, path.encode())

    assert [file.name for file in storage.list()] == ["f", "g"]
    assert [file.name for file in storage.list("f", after="1")] == ["2", "3"]
    assert [file.name for file in storage.walk()] == ["f/1", "f/2", "f/3/x", "g"]
    assert storage.tail("f/3/x", 1) == (5, b"x")
    assert list(storage.read_many(["g", "h"])) == [b"g", None]
    storage.delete("f/1", "f/1", "h", "g")
    storage.delete_folder("f/3")
    assert store.objects == {"t/f/2": b"f/2"}


def test_refusal_is_told_as_such(store: FaultyStore) -> None:
    store.fail_always("PUT", fault=Fault(403, "AccessDenied"))
    with pytest.raises(StorageDeniedError, match=r"gs://bucket/t/file: .*AccessDenied"):
        store.storage().create("file", b"x")
