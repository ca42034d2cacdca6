"""A commit whose maker could not be told: it is not called lost, for it may have been made."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hudi_index.catalog import Catalog, IndexDefinition
from hudi_index.catalog.catalog import INDEX_FILE, history_file
from hudi_index.errors import StorageDeniedError, UnsupportedStorageError
from hudi_index.metadata_table.table import MetadataTable
from tests.store.support import entries_of
from tests.support.faulty_store import Fault, FaultyStore, faulty_store

if TYPE_CHECKING:
    from collections.abc import Iterator

EXPIRED = Fault(403, "ExpiredToken")


@pytest.fixture
def store() -> Iterator[FaultyStore]:
    with faulty_store() as found:
        table = MetadataTable(found.storage())
        table.create()
        with table.begin(shards={"files": 1}) as transaction:
            empty = pa.table({"key": pa.array([], pa.string())})
            transaction.add([transaction.writer.write_base("files", 0, [empty])])
            transaction.commit()
        yield found


def refuse(store: FaultyStore, request: int, *, after_decision: int) -> list[str]:
    """Have the store say no once, to a request that follows a decision; returns those that come then."""
    since: list[str] = []
    path_of_decision = f"t/.hoodie/ledger/{after_decision:020d}.json"

    def choose(method: str, path: str, number: int) -> Fault | None:
        if since or (method, path) == ("PUT", path_of_decision):
            since.append(f"{method} {path}")
        return EXPIRED if len(since) == request + 1 else None

    store.choose = choose
    return since


def commit_key(table: MetadataTable) -> None:
    with table.begin() as transaction:
        transaction.add([transaction.writer.write_log("files", 0, upserts=entries_of({"k": "v"}))])
        transaction.commit()


def keys_in(store: FaultyStore) -> list[str]:
    reader = MetadataTable(store.storage()).reader()
    return [str(row["key"]) for row in reader.scan("files").read_all().to_pylist()]


@pytest.mark.parametrize("request_after", [1, 2])
def test_commit_is_not_called_lost_if_it_was_decided(store: FaultyStore, request_after: int) -> None:
    """Decided, but then the store said no: to the look after it, or to the completed timeline file."""
    since = refuse(store, request_after, after_decision=4)
    with pytest.raises(StorageDeniedError):
        commit_key(MetadataTable(store.storage()))
    assert len(since) > request_after
    # It was made, and nobody has the lease any more.
    assert keys_in(store) == ["k"]
    with MetadataTable(store.storage()).begin() as transaction:
        transaction.commit()


@pytest.mark.parametrize("request_after", range(1, 5))
def test_lease_that_could_not_be_used_is_given_back(store: FaultyStore, request_after: int) -> None:
    """The store said no between the decision and the first file: the same process may begin anew at once."""
    since = refuse(store, request_after, after_decision=3)
    table = MetadataTable(store.storage())
    with pytest.raises(StorageDeniedError):
        table.begin()
    assert len(since) > request_after
    commit_key(table)
    assert keys_in(store) == ["k"]


@pytest.mark.parametrize("late", [3, 4], ids=["begin", "commit"])
def test_store_whose_listings_lag_is_refused_by_name(store: FaultyStore, late: int) -> None:
    """It would keep a writer trying for ever. A commit that others may have seen is not taken back."""
    store.is_listed = lambda key: not key.endswith(f"/ledger/{late:020d}.json")
    with pytest.raises(UnsupportedStorageError, match=r"s3://bucket/t.*can't list a file that was just made"):
        commit_key(MetadataTable(store.storage()))
    store.is_listed = lambda key: True
    if late == 4:
        with MetadataTable(store.storage()).begin() as transaction:
            transaction.commit()
        assert keys_in(store) == ["k"]
    else:
        assert keys_in(store) == []


def test_catalog_in_a_store_whose_listings_lag_is_refused_by_name(store: FaultyStore) -> None:
    """Its newest generation is not listed, and whoever made it died before index.json told of it."""
    Catalog(store.storage()).add(IndexDefinition("a", "secondary_index", ("city",)))
    before = store.objects[f"t/{INDEX_FILE}"]
    Catalog(store.storage()).add(IndexDefinition("b", "secondary_index", ("city",)))
    store.objects[f"t/{INDEX_FILE}"] = before
    store.is_listed = lambda key: key != f"t/{history_file(2)}"
    with pytest.raises(UnsupportedStorageError, match=r"s3://bucket/t.*can't list a file that was just made"):
        Catalog(store.storage()).add(IndexDefinition("c", "secondary_index", ("city",)))
    store.is_listed = lambda key: True
    assert [each.name for each in Catalog(store.storage()).load()] == ["a", "b"]
