"""Proof that a storage can hold indexes: each step that they need, once, with a file that is then removed."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING

from hudi_index.errors import StorageError
from hudi_index.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_storage"]

_FOLDER = ".hoodie/.index"


def check_storage(location: str, options: Mapping[str, str] | None = None) -> None:
    """Create, create again, list, read and delete a file where indexes would be.

    Args:
        location: a table, or a folder of tables.
        options: storage options.

    Raises:
        StorageError: the first step that is refused, by name.
        UnsupportedStorageError: it creates a file though there is one, so it can't hold indexes.
    """
    storage = Storage.open(location, options)
    path, content = f"{_FOLDER}/check-{uuid.uuid4().hex}", uuid.uuid4().bytes
    try:
        _check(storage, path, content)
    except BaseException:
        # What was refused is what matters.
        with contextlib.suppress(OSError):
            storage.delete(path)
        raise
    storage.delete(path)


def _check(storage: Storage, path: str, content: bytes) -> None:
    storage.check_create(path, content)
    if path.rpartition("/")[2] not in [each.name for each in storage.list(_FOLDER)]:
        raise _wrong(storage, path, "be listed", "it was written, and the listing lacks it")
    if storage.read(path) != content:
        raise _wrong(storage, path, "be read", "it holds something else than was written")


def _wrong(storage: Storage, path: str, operation: str, reason: str) -> StorageError:
    return StorageError(path=storage.uri_of(path), operation=operation, reason=reason)
