"""Files under one root: list, read, write, and the two atomic steps everything else rests on.

`create` is create-if-absent: of any number of callers exactly one succeeds, and no reader ever sees half
of the content. `replace` swaps a file's content whole. All other writes may be seen half done, so nobody
may depend on a file that no `create`d file names.

A local file system is used as it is (`local`), object stores through obstore (`objects`): S3, GCS, Azure, and
what speaks their protocols. HDFS has no create-if-absent that can be had from Python, and is refused.

Whatever the storage refuses is raised as a `StorageError`, which names the file and the way out and is an
OSError too: FileNotFoundError where there is no such file, PermissionError where it is denied.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from hudi_index.arguments import check_location, check_options
from hudi_index.credentials import Credentials, Options, scrub, split_uri
from hudi_index.errors import StorageError, UnsupportedStorageError, storage_error_of
from hudi_index.storage.forks import refuse_forked
from hudi_index.storage.local import LocalFiles
from hudi_index.storage.locations import address_of, is_uri, local_path, location_of_uri, uri_of_location
from hudi_index.storage.object_trees import tree_of
from hudi_index.storage.objects import Objects
from hudi_index.storage.options import StoreOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from hudi_index.storage.stored import Facts, StoredFile, Tree

__all__ = ["Storage", "write_to"]

TAIL = 64 * 1024
"""So much of a file's end comes with the question how large it is: what pyarrow asks for first."""


@dataclass(frozen=True)
class Storage:
    """The files below `uri`. Paths given to its methods are relative, use `/` and are not URI-quoted.

    Picklable: the storage itself is opened by whoever uses it first. Whatever a URI is opened with, `uri`
    and `uri_of` hold no credentials, and neither does the text of a Storage.
    """

    uri: str
    """Percent-quoted, for messages and other readers."""
    options: Mapping[str, str] = field(default_factory=Options, hash=False)
    """Storage options in hudi-rs's words (`aws_region`, …)."""
    credentials: Credentials = field(default_factory=Credentials, repr=False)
    """What the URI had that is none of its business. Object stores take options instead."""

    def __post_init__(self) -> None:
        uri, credentials = split_uri(self.uri)
        if credentials:
            object.__setattr__(self, "uri", uri)
            object.__setattr__(self, "credentials", credentials)
        object.__setattr__(self, "options", Options(self.options))

    @classmethod
    def open(cls, location: str | os.PathLike[str], options: Mapping[str, str] | None = None) -> Storage:
        """The storage at a local path, a `file:` URI or a far location as Hadoop writes it.

        A `file:` URI is percent-quoted, all others are not: `file:///a%20b` and `/a b` are the same folder,
        and `s3a://bucket/a b` is how Spark names its table as well.
        """
        address, credentials = split_uri(check_location("path", location))
        known = Options(check_options("options", options or {}))
        return cls(uri_of_location(address), known, credentials)

    def __getstate__(self) -> dict[str, object]:
        return {"uri": self.uri, "options": self.options, "credentials": self.credentials}

    @property
    def is_local(self) -> bool:
        """Whether the files are on a locally mounted file system."""
        return self.uri.startswith("file:")

    @property
    def location(self) -> str:
        """The root in Hadoop's words, which has no quoting: for Spark."""
        return location_of_uri(self.uri)

    def location_of(self, path: str) -> str:
        """`path` in Hadoop's words."""
        return f"{self.location.removesuffix('/')}/{path}"

    def uri_of(self, path: str) -> str:
        """`path` as a URI, for messages and for other readers."""
        return f"{self.uri.removesuffix('/')}/{quote(path)}" if path else self.uri

    def child(self, path: str) -> Storage:
        """The storage rooted at a folder of this one."""
        return type(self)(self.uri_of(path), self.options, self.credentials)

    def for_hudi_rs(self) -> tuple[str, dict[str, str]]:
        """The URI and the options that hudi-rs opens the same place with.

        Raises:
            InvalidOptionError: an option that nobody knows.
            StorageForkedError: hudi-rs would wait for ever.
        """
        if self.is_local:
            return self.uri, dict(self.options)
        self._refuse_credentials()
        refuse_forked(self.uri)
        address = address_of(self.uri)
        return address.url, StoreOptions.of(address, self.options).for_hudi_rs(address.provider)

    def scrub(self, text: str) -> str:
        """What a library said about this storage, without the secrets that it was given."""
        return scrub(text, (*self.credentials.secrets(), *Options(self.options).secrets()))

    @cached_property
    def _local(self) -> LocalFiles:
        root = local_path(self.uri)
        assert root is not None
        return LocalFiles(root, self.uri)

    @cached_property
    def _objects(self) -> Objects:
        self._refuse_credentials()
        return Objects(address_of(self.uri), self.options, uri_of=self.uri_of, scrub=self.scrub)

    def _refuse_credentials(self) -> None:
        if self.credentials:
            raise UnsupportedStorageError(
                uri=self.uri,
                operation="be opened",
                reason="credentials and settings in a URI (before @ or behind ?) are not used; "
                "give them as storage options, or in the environment",
            )

    @property
    def _files(self) -> LocalFiles | Objects:
        return self._local if self.is_local else self._objects

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

    def list(self, folder: str = "", after: str | None = None) -> list[StoredFile]:
        """What a folder holds directly, by name; nothing if there is no such folder.

        Args:
            folder: its path.
            after: only names behind this one, which an object store need not list the others for. Made for
                folders without folders: what those hold is listed as well.
        """
        with self.naming(folder, "be listed"):
            return self._files.list(folder, after)

    def walk(self, folder: str = "", after: str | None = None) -> Iterator[StoredFile]:
        """All files below a folder, by path from there: a thousand with a request.

        Args:
            folder: its path.
            after: only paths behind this one.
        """
        with self.naming(folder, "be listed"):
            yield from self._files.walk(folder, after)

    def tree(
        self, *, without: str, unwanted: str, lasting: str, known: Tree | None = None
    ) -> dict[str, dict[str, Facts]]:
        """All files by folder and name, and what is known of each.

        Args:
            without: a folder in the root that is left out.
            unwanted: how names end that are left out.
            lasting: how names end of files that never change. Those that are `known` are not looked at again
                where that costs a call each.
            known: an earlier tree of the same root.
        """
        with self.naming("", "be listed"):
            if self.is_local:
                return self._local.tree(without, unwanted, lasting, known or {})
            return tree_of(self._objects, without, unwanted)

    def stat(self, paths: Sequence[str]) -> Sequence[StoredFile | None]:
        """The files at some paths, with those as names; None where there is no file."""
        with self.naming(paths[0] if len(paths) == 1 else "", "be looked at"):
            return self._files.stat(paths)

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder at `path`."""
        with self.naming(path, "be looked at"):
            return self._files.exists(path)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder at `path`."""
        with self.naming(path, "be looked at"):
            return self._files.is_folder(path)

    def open_input(self, path: str, tail: int = TAIL) -> pa.NativeFile:
        """A file for random reading. Raises FileNotFoundError.

        Args:
            path: the file.
            tail: so many bytes of its end an object store gives with the first request.
        """
        with self.naming(path, "be read"):
            return self._local.open_input(path) if self.is_local else self._objects.open_input(path, tail)

    def read(self, path: str) -> bytes:
        """The whole content of a file. Raises FileNotFoundError."""
        if not self.is_local:
            return self._objects.read(path)
        with self.naming(path, "be read"), self.open_input(path) as source:
            return source.read()

    def read_many(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        """The whole contents of some files, asked for side by side; None where there is no file."""
        if not self.is_local:
            return self._objects.read_many(paths)
        return tuple(map(self._content_or_none, paths))

    def _content_or_none(self, path: str) -> bytes | None:
        try:
            return self.read(path)
        except FileNotFoundError:
            return None

    def tail(self, path: str, size: int = TAIL) -> tuple[int, bytes]:
        """How large a file is, and its last bytes, in one request. Raises FileNotFoundError."""
        if not self.is_local:
            return self._objects.tail(path, size)
        with self.naming(path, "be read"), self.open_input(path) as source:
            whole = source.size()
            source.seek(max(0, whole - size))
            return whole, source.read()

    def open_output(self, path: str) -> pa.NativeFile:
        """A new file for writing in sequence; a half-written one may stay behind."""
        with self.naming(path, "be written"):
            return self._files.open_output(path)

    def write(self, path: str, data: bytes) -> None:
        """Write a whole file; a crash may leave half of it."""
        if not self.is_local:
            self._objects.write(path, data)
            return
        with self.naming(path, "be written"), self.open_output(path) as sink:
            sink.write(data)

    def create(self, path: str, data: bytes) -> None:
        """Make a file that did not exist, whole or not at all. Raises FileExistsError.

        In an object store a writer whose answers are lost takes a file with its own bytes for its own. So
        what several may make must say who made it, or be the same whoever did.
        """
        refused: FileExistsError | None = None
        with self.naming(path, "be created"):
            try:
                self._files.create(path, data)
            except FileExistsError as error:
                refused = error  # no failure but an answer: somebody was first
        if refused:
            raise refused

    def check_create(self, path: str, data: bytes) -> None:
        """Make a file that did not exist, and see that a second one would be refused.

        Raises:
            FileExistsError: it is there already.
            UnsupportedStorageError: the storage takes any number of them, and would lose what others wrote.
        """
        self.create(path, data)
        try:
            # Other bytes: of the same an answer that was lost would leave open who made them.
            self.create(path, data + b"\n")
        except FileExistsError:
            return
        raise UnsupportedStorageError(
            uri=self.uri,
            operation="create a file only if it is absent",
            reason="it overwrites one that exists; keep the index in a store that has conditional writes",
        )

    def replace(self, path: str, data: bytes) -> None:
        """Swap a file's content in one step; readers see the old or the new."""
        with self.naming(path, "be replaced"):
            if self.is_local:
                self._local.replace(path, data)
            else:
                self._objects.write(path, data)

    def delete(self, *paths: str) -> None:
        """Remove files, a thousand with a request; none there is fine."""
        with self.naming(paths[0] if len(paths) == 1 else "", "be deleted"):
            self._files.delete(paths)

    def delete_folder(self, folder: str) -> None:
        """Remove a folder with all it holds; none there is fine."""
        with self.naming(folder, "be deleted"):
            self._files.delete_folder(folder)

    def move(self, path: str, other: str) -> None:
        """Give a file, or a folder with all it holds, another place.

        In one step on a file system. In an object store everything is copied and then deleted: who dies
        between leaves both, and moving it again ends it.
        """
        with self.naming(path, "be moved"):
            self._files.move(path, other)


def write_to(location: str, text: str, options: Mapping[str, str] | None = None) -> None:
    """Write a text to the file that a path or URI names; its folder is made if need be.

    Of a `file:` URI the last name is percent-quoted too.
    """
    folder, slash, name = location.rpartition("/")
    storage = Storage.open(folder or slash or ".", options)
    is_quoted = is_uri(location) and storage.is_local
    storage.write(unquote(name) if is_quoted else name, text.encode())
