"""Files under one root URI: list, read, write, and the two atomic steps everything else rests on.

`create` is create-if-absent: of any number of callers exactly one succeeds, and no reader ever sees half
of the content. `replace` swaps a file's content whole. All other writes may be seen half done, so nobody
may depend on a file that no `create`d file names.

Reading works on whatever pyarrow.fs opens by URI. Writing needs an atomic `create`: local file systems
have it by hard link, HDFS by a rename that refuses to overwrite. Where neither exists the write is
refused rather than made unsafe.
"""

from __future__ import annotations

import os
import uuid
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs

from hudi_index.errors import UnsupportedStorageError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

__all__ = ["Storage", "StoredFile"]

TEMPORARY_SUFFIX = ".tmp"
"""Ends the name of a file that `create` or `replace` has not moved to its place yet."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file or folder of a listing."""

    name: str
    size: int
    modified: datetime
    is_folder: bool = False


@dataclass(frozen=True)
class Storage:
    """The files below `uri`. Paths given to its methods are relative and use `/`.

    Picklable: the file system itself is opened by whoever uses it first.
    """

    uri: str
    options: Mapping[str, str] = field(default_factory=dict)
    """Storage options in hudi-rs's words (`aws_region`, …), handed to hudi-rs as they are."""

    @classmethod
    def open(cls, location: str | Path, options: Mapping[str, str] | None = None) -> Storage:
        """The storage at a local path or a URI."""
        text = str(location)
        if urlsplit(text).scheme in ("", "file"):
            local = text.removeprefix("file://")
            text = Path(local).absolute().as_uri()
        return cls(text.rstrip("/"), dict(options or {}))

    def __getstate__(self) -> dict[str, object]:
        return {"uri": self.uri, "options": dict(self.options)}

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        filesystem, root = fs.FileSystem.from_uri(self.uri)
        return filesystem, root

    @property
    def filesystem(self) -> fs.FileSystem:
        """The pyarrow file system that holds the root."""
        return self._opened[0]

    def path_of(self, path: str = "") -> str:
        """`path` as `filesystem` names it."""
        root = self._opened[1]
        return f"{root}/{path}" if path else root

    def uri_of(self, path: str) -> str:
        """`path` as a URI, for messages and for other readers."""
        return f"{self.uri}/{path}"

    def child(self, path: str) -> Storage:
        """The storage rooted at a folder of this one."""
        return type(self)(self.uri_of(path), self.options)

    def list(self, folder: str = "") -> list[StoredFile]:
        """What a folder holds directly, by name; nothing if there is no such folder."""
        selector = fs.FileSelector(self.path_of(folder), allow_not_found=True)
        found = [
            StoredFile(info.base_name, info.size or 0, info.mtime, info.type == fs.FileType.Directory)
            for info in self.filesystem.get_file_info(selector)
        ]
        return sorted(found, key=lambda file: file.name)

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder at `path`."""
        return self.filesystem.get_file_info(self.path_of(path)).type != fs.FileType.NotFound

    def open_input(self, path: str) -> pa.NativeFile:
        """A file for random reading. Raises FileNotFoundError."""
        return self.filesystem.open_input_file(self.path_of(path))

    def read(self, path: str) -> bytes:
        """The whole content of a file. Raises FileNotFoundError."""
        with self.open_input(path) as source:
            return source.read()

    def open_output(self, path: str) -> pa.NativeFile:
        """A new file for writing in sequence; a half-written one may stay behind."""
        self._make_folder_of(path)
        return self.filesystem.open_output_stream(self.path_of(path))

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; a crash may leave half of it."""
        with self.open_output(path) as sink:
            sink.write(data)

    def create(self, path: str, data: bytes) -> None:
        """Make a file that did not exist, whole or not at all. Raises FileExistsError."""
        temporary = self._write_temporary(path, data)
        try:
            if isinstance(self.filesystem, fs.LocalFileSystem):
                os.link(temporary, self.path_of(path))
            else:
                self._move_to_absent(temporary, self.path_of(path))
        finally:
            self._delete_quietly(temporary)

    def replace(self, path: str, data: bytes) -> None:
        """Swap a file's content in one step; readers see the old or the new."""
        self._refuse_object_store("replace a file in one step")
        self.filesystem.move(self._write_temporary(path, data), self.path_of(path))

    def delete(self, path: str) -> None:
        """Remove a file; none there is fine."""
        self._delete_quietly(self.path_of(path))

    def delete_folder(self, folder: str) -> None:
        """Remove a folder with all it holds; none there is fine."""
        if self.exists(folder):
            self.filesystem.delete_dir(self.path_of(folder))

    def _make_folder_of(self, path: str) -> None:
        self.filesystem.create_dir(self.path_of(path).rpartition("/")[0], recursive=True)

    def _write_temporary(self, path: str, data: bytes) -> str:
        self._refuse_object_store("create a file only if it is absent")
        self._make_folder_of(path)
        folder, _, name = self.path_of(path).rpartition("/")
        # A dot name with a foreign suffix: Hudi's readers take it for neither an instant nor a data file.
        temporary = f"{folder}/.{name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
        if isinstance(self.filesystem, fs.LocalFileSystem):
            with Path(temporary).open("xb") as sink:
                sink.write(data)
                sink.flush()
                os.fsync(sink.fileno())
        else:
            with self.filesystem.open_output_stream(temporary) as sink:
                sink.write(data)
        return temporary

    def _move_to_absent(self, temporary: str, path: str) -> None:
        try:
            self.filesystem.move(temporary, path)
        except OSError as error:
            # HDFS refuses to rename onto an existing file, without saying which of its errors this is.
            if self.filesystem.get_file_info(path).type != fs.FileType.NotFound:
                raise FileExistsError(path) from error
            raise

    def _refuse_object_store(self, operation: str) -> None:
        if self.filesystem.type_name not in ("local", "hdfs"):
            raise UnsupportedStorageError(
                uri=self.uri,
                operation=operation,
                reason=f"file system {self.filesystem.type_name!r} offers no atomic rename; "
                "keep the index on a local or HDFS path",
            )

    def _delete_quietly(self, path: str) -> None:
        try:
            self.filesystem.delete_file(path)
        except FileNotFoundError:
            return
