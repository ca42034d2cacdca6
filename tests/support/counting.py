"""Counts work instead of time: files opened, bytes read, row groups of the index decoded by this process."""

from __future__ import annotations

import io
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index.metadata_table.base_file import BaseFile
from hudi_index.storage import Storage
from hudi_index.table import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_index.table.listing import Listing

__all__ = ["Work", "counted"]


@dataclass
class Work:
    """What was done while it was counted."""

    opened: list[str] = field(default_factory=list)
    """URIs of the files that were opened or read whole, each time."""
    bytes_read: int = 0
    listed: int = 0
    """Folders that were listed."""
    table_listings: int = 0
    """How often the data table was listed file by file."""
    table_looks: int = 0
    """How often it was listed by names alone, beside an earlier listing of the same timeline."""
    row_groups: list[str] = field(default_factory=list)
    """The files of the index whose row groups were decoded, once per row group."""

    @property
    def data_files(self) -> set[str]:
        """Files of the table itself that were opened, by name."""
        return {uri.rpartition("/")[2] for uri in self.opened if "/.hoodie/" not in uri}

    @property
    def index_partitions(self) -> list[str]:
        """The partition of each row group of the index that was decoded."""
        return [path.partition("/")[0] for path in self.row_groups]


class _Counted(io.RawIOBase):
    """A file that counts the bytes that are taken from it."""

    def __init__(self, source: pa.NativeFile, work: Work) -> None:
        self._source, self._work = source, work

    def read(self, size: int = -1) -> bytes:
        found = self._source.read(None if size < 0 else size)
        self._work.bytes_read += len(found)
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, position: int, whence: int = 0) -> int:
        return self._source.seek(position, whence)

    def tell(self) -> int:
        return self._source.tell()

    def close(self) -> None:
        self._source.close()
        super().close()


@contextmanager
def counted() -> Iterator[Work]:
    """Counts what goes through `Storage`, which is how this package reads everything but slices with logs."""
    work = Work()
    open_input, listing, decode = Storage.open_input, Storage.list, BaseFile.read_row_group
    list_partitions = snapshot.list_partitions  # type: ignore[attr-defined]  # where the name is looked up

    def counting_open(self: Storage, path: str, *given: Any) -> Any:
        work.opened.append(self.uri_of(path))
        return pa.PythonFile(_Counted(open_input(self, path, *given), work), mode="r")

    def counting_list(self: Storage, *given: Any) -> Any:
        work.listed += 1
        return listing(self, *given)

    def counting_partitions(storage: Storage, known: Listing | None = None) -> Listing:
        if known is None:
            work.table_listings += 1
        else:
            work.table_looks += 1
        return list_partitions(storage, known)

    def counting_decode(self: BaseFile, *given: Any) -> pa.Table:
        work.row_groups.append(self.path)
        return decode(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Storage, "open_input", counting_open)
        patch.setattr(Storage, "list", counting_list)
        patch.setattr(BaseFile, "read_row_group", counting_decode)
        patch.setattr(snapshot, "list_partitions", counting_partitions)
        yield work
