"""Files under one root, on a local file system or in an object store: see `storage`."""

from __future__ import annotations

from hudi_index.storage.storage import Storage, write_to
from hudi_index.storage.stored import TEMPORARY_SUFFIX, StoredFile

__all__ = ["TEMPORARY_SUFFIX", "Storage", "StoredFile", "write_to"]
