"""Objects in the shape of files, for pyarrow: read by ranges, written in parts."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Protocol

from hudi_index.errors import StorageNotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from hudi_index.storage.stored import StoredFile

__all__ = ["ObjectFile", "ObjectSink"]


class Objects(Protocol):
    """What files are made of."""

    def naming(self, path: str, operation: str) -> AbstractContextManager[None]:
        """Errors inside name the path."""

    def tail(self, path: str, size: int) -> tuple[int, bytes]:
        """How large an object is, and its end."""

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Some bytes of an object."""

    def writer(self, path: str) -> Any:
        """What makes an object of parts."""

    def stat(self, paths: Sequence[str]) -> Sequence[StoredFile | None]:
        """The objects at some paths."""


class ObjectFile(io.RawIOBase):
    """An object for random reading: its end comes with the first request, the rest by ranges."""

    def __init__(self, objects: Objects, path: str, tail: int) -> None:
        super().__init__()
        self._objects, self._path, self._position = objects, path, 0
        self._size, self._tail = objects.tail(path, tail)

    def size(self) -> int:
        """How many bytes it has."""
        return self._size

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a byte."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = start + offset
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Some bytes, or all that are left."""
        end = self._size if size is None or size < 0 else min(self._size, self._position + size)
        start, self._position = self._position, max(self._position, end)
        if start >= end:
            return b""
        first = self._size - len(self._tail)
        if start >= first:
            return self._tail[start - first : end - first]
        return self._objects.read_range(self._path, start, end)


class ObjectSink(io.RawIOBase):
    """A new object, sent in parts if it is large; there once it is closed."""

    def __init__(self, objects: Objects, path: str) -> None:
        super().__init__()
        self._objects, self._path, self._position = objects, path, 0
        self._writer: Any = objects.writer(path)

    def writable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """How much was written."""
        return self._position

    def write(self, data: Any) -> int:
        """Add some bytes."""
        with self._objects.naming(self._path, "be written"):
            # obstore keeps what it is given: a copy, for pyarrow uses its buffers again.
            count = int(self._writer.write(bytes(data)))
        self._position += count
        return count

    def close(self) -> None:
        """Make it an object."""
        if not self.closed:
            try:
                with self._objects.naming(self._path, "be written"):
                    self._writer.close()
            except StorageNotFoundError:
                # Of parts that were put together, but whose answer was lost, the store knows nothing when it
                # is asked again. The object is ours: nobody else writes one of this name.
                (there,) = self._objects.stat([self._path])
                if there is None or there.size != self._position:
                    raise
            finally:
                super().close()
