"""Files under one root URI: list, read, write, and the two atomic steps everything else rests on.

`create` is create-if-absent: of any number of callers exactly one succeeds, and no reader ever sees half
of the content. `replace` swaps a file's content whole. All other writes may be seen half done, so nobody
may depend on a file that no `create`d file names.

Reading works on whatever pyarrow.fs opens by URI. `create` and `replace` need a file system that is
mounted locally: a hard link refuses to overwrite, and a rename swaps. pyarrow has neither elsewhere: an
object store has no rename, and pyarrow's HDFS answers a rename that was refused because the target exists
by deleting the target. There both are refused rather than made unsafe.

Whatever the file system refuses is raised as a `StorageError`, which names the file and the way out and is an
OSError too: FileNotFoundError where there is no such file, PermissionError where it is denied.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import uuid
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import pyarrow as pa
from pyarrow import fs

from hudi_index.arguments import check_location, check_options
from hudi_index.credentials import Credentials, Options, scrub, split_uri
from hudi_index.errors import StorageError, UnsupportedStorageError, storage_error_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Storage", "StoredFile", "write_to"]

TEMPORARY_SUFFIX = ".tmp"
"""Ends the name of a file that `create` or `replace` has not moved to its place yet."""

# Hadoop writes file:/path, others file:///path.
_URI = re.compile(r"file:/|[A-Za-z][A-Za-z0-9+.-]*://")
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file or folder of a listing."""

    name: str
    size: int
    modified: datetime
    """Now, if the storage does not know: a file of unknown age must not pass for an old one."""
    is_folder: bool = False


@dataclass(frozen=True)
class Storage:
    """The files below `uri`. Paths given to its methods are relative, use `/` and are not URI-quoted.

    Picklable: the file system itself is opened by whoever uses it first. Whatever a URI is opened with, `uri`
    and `uri_of` hold no credentials, and neither does the text of a Storage.
    """

    uri: str
    options: Mapping[str, str] = field(default_factory=Options, hash=False)
    """Storage options in hudi-rs's words (`aws_region`, …), handed to hudi-rs as they are."""
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    """What `uri` was opened with; only pyarrow is told."""

    def __post_init__(self) -> None:
        uri, credentials = split_uri(self.uri)
        if credentials:
            object.__setattr__(self, "uri", uri)
            object.__setattr__(self, "credentials", credentials)
        object.__setattr__(self, "options", Options(self.options))

    @classmethod
    def open(cls, location: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> Storage:
        """The storage at a local path or a URI.

        A URI is percent-quoted, a path is not: `file:///a%20b` and `/a b` are the same folder.
        """
        local = location if isinstance(location, Path) else _local_path(check_location("path", location))
        uri = local.absolute().as_uri() if local else str(location)
        uri, credentials = split_uri(uri)
        known = Options(check_options("options", options or {}))
        return cls(uri.rstrip("/") if uri != "file:///" else uri, known, credentials)

    def __getstate__(self) -> dict[str, object]:
        return {"uri": self.uri, "options": self.options, "credentials": self.credentials}

    @cached_property
    def _opened(self) -> tuple[fs.FileSystem, str]:
        try:
            filesystem, root = fs.FileSystem.from_uri(self.credentials.add_to(self.uri))
        except pa.ArrowInvalid as error:
            # pyarrow repeats the URI it was given, in its own error too.
            reason = self.scrub(str(error))
            raise UnsupportedStorageError(uri=self.uri, operation="be opened", reason=reason) from None
        except OSError as error:
            found = storage_error_of(error, path=self.uri, operation="be opened")
            if type(found) is not StorageError:
                raise found from None
            # No library for it on this machine: nothing was asked of the storage yet.
            reason = self.scrub(found.reason)
            raise UnsupportedStorageError(uri=self.uri, operation="be opened", reason=reason) from None
        return filesystem, root.rstrip("/")

    @property
    def filesystem(self) -> fs.FileSystem:
        """The pyarrow file system that holds the root."""
        return self._opened[0]

    def scrub(self, text: str) -> str:
        """What a library said about this storage, without the secrets that it was given."""
        return scrub(text, (*self.credentials.secrets(), *Options(self.options).secrets()))

    def path_of(self, path: str = "") -> str:
        """`path` as `filesystem` names it."""
        root = self._opened[1]
        return f"{root}/{path}" if path else root or "/"

    def uri_of(self, path: str) -> str:
        """`path` as a URI, for messages and for other readers."""
        return f"{self.uri.removesuffix('/')}/{quote(path)}"

    def child(self, path: str) -> Storage:
        """The storage rooted at a folder of this one."""
        return type(self)(self.uri_of(path), self.options, self.credentials)

    @contextlib.contextmanager
    def naming(self, path: str, operation: str) -> Iterator[None]:
        """What the file system refuses inside becomes a StorageError that names `path`.

        Args:
            path: the file or folder that is worked on.
            operation: what is done, to stand after "it can't": `be read`.
        """
        try:
            yield
        except StorageError:
            raise
        except (OSError, ValueError) as error:  # a ValueError is how a name with NUL is refused
            if isinstance(error, ValueError) and not re.search("NUL|null byte", str(error)):
                raise
            raise storage_error_of(error, path=self.uri_of(path), operation=operation) from error

    def list(self, folder: str = "") -> list[StoredFile]:
        """What a folder holds directly, by name; nothing if there is no such folder."""
        selector = fs.FileSelector(self.path_of(folder), allow_not_found=True)
        now = datetime.now(timezone.utc)
        with self.naming(folder, "be listed"):
            infos = self.filesystem.get_file_info(selector)
        found = [
            StoredFile(info.base_name, info.size or 0, info.mtime or now, info.type == fs.FileType.Directory)
            for info in infos
        ]
        return sorted(found, key=lambda file: file.name)

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder at `path`."""
        with self.naming(path, "be looked at"):
            return self.filesystem.get_file_info(self.path_of(path)).type != fs.FileType.NotFound

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder at `path`."""
        with self.naming(path, "be looked at"):
            return self.filesystem.get_file_info(self.path_of(path)).type == fs.FileType.Directory

    def open_input(self, path: str) -> pa.NativeFile:
        """A file for random reading. Raises FileNotFoundError."""
        with self.naming(path, "be read"):
            return self.filesystem.open_input_file(self.path_of(path))

    def read(self, path: str) -> bytes:
        """The whole content of a file. Raises FileNotFoundError."""
        with self.naming(path, "be read"), self.open_input(path) as source:
            return source.read()

    def open_output(self, path: str) -> pa.NativeFile:
        """A new file for writing in sequence; a half-written one may stay behind."""
        with self.naming(path, "be written"):
            self._make_folder_of(path)
            return self.filesystem.open_output_stream(self.path_of(path))

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; a crash may leave half of it."""
        with self.naming(path, "be written"), self.open_output(path) as sink:
            sink.write(data)

    def create(self, path: str, data: bytes) -> None:
        """Make a file that did not exist, whole or not at all. Raises FileExistsError."""
        with self._temporary(path, data, "create a file only if it is absent") as temporary:
            try:
                os.link(temporary, self.path_of(path))
            except FileExistsError:
                raise  # no failure but an answer: somebody was first
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise storage_error_of(error, path=self.uri_of(path), operation="be created") from error
                raise UnsupportedStorageError(
                    uri=self.uri,
                    operation="create a file only if it is absent",
                    reason="its file system has no hard links",
                ) from error

    def replace(self, path: str, data: bytes) -> None:
        """Swap a file's content in one step; readers see the old or the new."""
        with (
            self._temporary(path, data, "replace a file in one step") as temporary,
            self.naming(path, "be replaced"),
        ):
            temporary.replace(self.path_of(path))

    def delete(self, path: str) -> None:
        """Remove a file; none there is fine."""
        with contextlib.suppress(FileNotFoundError), self.naming(path, "be deleted"):
            self.filesystem.delete_file(self.path_of(path))

    def delete_folder(self, folder: str) -> None:
        """Remove a folder with all it holds; none there is fine."""
        if self.exists(folder):
            with self.naming(folder, "be deleted"):
                self.filesystem.delete_dir(self.path_of(folder))

    def move(self, path: str, other: str) -> None:
        """Give a file, or a folder with all it holds, another place."""
        with self.naming(other, "be made"):
            self._make_folder_of(other)
        with self.naming(path, "be moved"):
            self.filesystem.move(self.path_of(path), self.path_of(other))

    def _make_folder_of(self, path: str) -> None:
        folder = self.path_of(path).rpartition("/")[0]
        try:
            self.filesystem.create_dir(folder, recursive=True)
        except FileExistsError as error:
            # Not as `create` says it: there is no use in looking at what another one made.
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from error

    @contextlib.contextmanager
    def _temporary(self, path: str, data: bytes, operation: str) -> Iterator[Path]:
        """A file beside `path` that holds `data`; gone at the end unless it was moved.

        On the disk at the end, the move too: the next step may rest on it, even after a power cut.
        """
        if not isinstance(self.filesystem, fs.LocalFileSystem):
            raise UnsupportedStorageError(
                uri=self.uri,
                operation=operation,
                reason=f"pyarrow has no such step on {self.filesystem.type_name!r}; "
                "keep the index on a locally mounted path",
            )
        with self.naming(path, "be written"):
            self._make_folder_of(path)
        place = Path(self.path_of(path))
        # A dot name with a foreign suffix: Hudi's readers take it for neither an instant nor a data file.
        # Not longer than the name it stands for may be, which some file systems limit to 255 bytes.
        temporary = place.parent / f".{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
        try:
            with self.naming(path, "be written"), temporary.open("xb") as sink:
                sink.write(data)
                sink.flush()
                os.fsync(sink.fileno())
            yield temporary
        finally:
            # What may have denied the file may deny this as well: that it was denied is said once.
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        with self.naming(path, "be written"):
            _sync_folder(place.parent)


def write_to(location: str, text: str, options: Mapping[str, str] | None = None) -> None:
    """Write a text to the file that a path or URI names; its folder is made if need be.

    A URI is percent-quoted, its last name too; a path is not.
    """
    folder, slash, name = location.rpartition("/")
    storage = Storage.open(folder or slash or ".", options)
    storage.write(unquote(name) if _URI.match(location) else name, text.encode())


def _local_path(location: str) -> Path | None:
    """The local path that a path or `file:` URI names, None for another URI."""
    # Hadoop writes file:/path, others file:///path.
    if match := re.match(r"file:(?://(?:localhost)?(?=/))?(.*)", location, re.DOTALL):
        return Path(unquote(match.group(1)))
    return None if _URI.match(location) else Path(location)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
