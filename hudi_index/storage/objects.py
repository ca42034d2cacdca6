"""An object store in the words of files, through obstore.

Any PUT swaps an object whole, and a conditional one creates: S3 and Azure have `If-None-Match: *`, GCS has
`x-goog-if-generation-match: 0`. There are no folders, only names with slashes in them. A listing is always
up to date.
"""

from __future__ import annotations

import contextlib
import errno
import os
import random
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from hudi_index.errors import (
    StorageNotFoundError,
    StorageRefusedError,
    StorageUnreachableError,
    UnsupportedStorageError,
    shortened,
)
from hudi_index.storage.forks import refuse_forked
from hudi_index.storage.locations import Provider
from hudi_index.storage.object_errors import status_of, translated
from hudi_index.storage.object_files import ObjectFile, ObjectSink
from hudi_index.storage.object_listings import (
    ATTEMPTS,
    children_of,
    folder_named,
    list_all,
    sorted_by_name,
    stored_of,
    until_whole,
)
from hudi_index.storage.options import StoreOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from hudi_index.storage.locations import Address
    from hudi_index.storage.stored import StoredFile

__all__ = ["Objects"]

_Asked = TypeVar("_Asked")
_Told = TypeVar("_Told")

_PAGE = 1000
"""How much a store lists at once."""
_PART = 8 * 1024 * 1024
_THREADS = 16
_PAUSE = 0.1
"""Seconds before a creation that is unsure is tried again; then twice as long each time."""
_RETRIES = {"max_retries": 6, "retry_timeout": timedelta(seconds=90)}
_SENT_ONCE = {"max_retries": 0, "retry_timeout": timedelta(seconds=90)}


class Objects:
    """The objects below an address, which nobody has to make first."""

    def __init__(
        self,
        address: Address,
        options: Mapping[str, str],
        *,
        uri_of: Callable[[str], str],
        scrub: Callable[[str], str],
    ) -> None:
        """Open a store; nothing is asked of it yet.

        Args:
            address: where the objects are.
            options: in hudi-rs's words.
            uri_of: how a path is named in messages.
            scrub: takes secrets out of what a store says.

        Raises:
            InvalidOptionError: a word or value that nobody knows.
            UnsupportedStorageError: there can't be such a store.
        """
        from obstore.exceptions import BaseError

        self._uri_of, self._scrub = uri_of, scrub
        self.has_order = address.provider is not Provider.AZURE and not address.is_directory_bucket
        """Whether it lists by name, from behind any name."""
        refuse_forked(uri_of(""))
        chosen = StoreOptions.of(address, options)
        try:
            self._opened = chosen.open_with_obstore(address.url, _RETRIES)
            self._opened_to_send_once = chosen.open_with_obstore(address.url, _SENT_ONCE)
        except (BaseError, ValueError) as error:
            reason = scrub(shortened(str(error).partition("\n\n")[0]))
            raise UnsupportedStorageError(uri=uri_of(""), operation="be opened", reason=reason) from None

    @property
    def _store(self) -> Any:
        refuse_forked(self._uri_of(""))
        return self._opened

    def naming(self, path: str, operation: str) -> AbstractContextManager[None]:
        """What obstore raises inside becomes a StorageError that names `path`."""
        return translated(self._uri_of(path), operation, self._scrub)

    def list(self, folder: str, after: str | None) -> list[StoredFile]:
        """What a folder holds directly, by name."""
        import obstore

        if after is not None:
            return children_of(self.walk(folder, after), after)
        with self.naming(folder, "be listed"):
            found = until_whole(lambda: obstore.list_with_delimiter(self._store, folder or None))
        skip = len(folder) + 1 if folder else 0
        names = {each[skip:].rstrip("/") for each in found["common_prefixes"]}
        folders = [folder_named(name) for name in names if name]
        files = [stored_of(each, skip) for each in found["objects"]]
        return sorted_by_name([*folders, *(file for file in files if file.name and file.name not in names)])

    def walk(self, folder: str, after: str | None) -> Iterator[StoredFile]:
        """All files below a folder, in the store's order: one request for each thousand."""
        import obstore

        start = f"{folder}/" if folder else ""
        first = None if after is None else f"{start}{after}"

        def ask(behind: str | None) -> Any:
            offset = behind if self.has_order else None
            return obstore.list(self._store, folder or None, offset=offset, chunk_size=_PAGE)

        with self.naming(folder, "be listed"):
            for each in list_all(ask, first, has_order=self.has_order):
                if len(each["path"]) > len(start):
                    yield stored_of(each, len(start))

    def stat(self, paths: Sequence[str]) -> Sequence[StoredFile | None]:
        """The files at some paths; None where there is none."""
        return _in_threads(self._stat_one, paths)

    def _stat_one(self, path: str) -> StoredFile | None:
        import obstore

        try:
            with self.naming(path, "be looked at"):
                return stored_of(obstore.head(self._store, path), 0)
        except StorageNotFoundError:
            return None

    def exists(self, path: str) -> bool:
        """Whether there is a file, or one below."""
        return (bool(path) and self._stat_one(path) is not None) or self.is_folder(path)

    def is_folder(self, path: str) -> bool:
        """Whether there is a file below."""
        return next(iter(self.walk(path, None)), None) is not None

    def read(self, path: str) -> bytes:
        """The whole content of a file.

        obstore goes on where an answer breaks off, unless the file was replaced meanwhile: then all of it is
        asked for again.
        """
        import obstore

        attempt = 0
        while True:
            attempt += 1
            with self.naming(path, "be read"):
                answer = obstore.get(self._store, path)
            try:
                with self.naming(path, "be read"):
                    return answer.bytes().to_bytes()
            except (StorageUnreachableError, StorageRefusedError):
                if attempt == ATTEMPTS:
                    raise

    def read_many(self, paths: Sequence[str]) -> Sequence[bytes | None]:
        """The contents of some files; None where there is none."""
        return _in_threads(self._content_or_none, paths)

    def _content_or_none(self, path: str) -> bytes | None:
        try:
            return self.read(path)
        except StorageNotFoundError:
            return None

    def read_range(self, path: str, start: int, end: int) -> bytes:
        """Some bytes of a file."""
        import obstore

        with self.naming(path, "be read"):
            return obstore.get_range(self._store, path, start=start, end=end).to_bytes()

    def tail(self, path: str, size: int) -> tuple[int, bytes]:
        """How large a file is, and its end, in one request where the store can do that."""
        import obstore
        from obstore import exceptions

        with self.naming(path, "be read"):
            try:
                found = obstore.get(self._store, path, options={"range": {"suffix": size}})
                return found.meta["size"], found.bytes().to_bytes()
            except (exceptions.NotSupportedError, exceptions.GenericError) as error:
                # Azure knows no ranges from the end, and an empty file has none, which some say clearly.
                if status_of(error) not in (None, 416):
                    raise
            whole = obstore.head(self._store, path)["size"]
            start = max(0, whole - size)
            if not whole:
                return 0, b""
            return whole, obstore.get_range(self._store, path, start=start, end=whole).to_bytes()

    def open_input(self, path: str, tail: int) -> pa.NativeFile:
        """A file for random reading."""
        return pa.PythonFile(ObjectFile(self, path, tail), mode="r")

    def open_output(self, path: str) -> pa.NativeFile:
        """A new file for writing in sequence."""
        return pa.PythonFile(ObjectSink(self, path), mode="w")

    def writer(self, path: str) -> Any:
        """What obstore writes an object with, part by part."""
        import obstore

        with self.naming(path, "be written"):
            return obstore.open_writer(self._store, path, buffer_size=_PART)

    def write(self, path: str, data: bytes) -> None:
        """Make or swap a file."""
        import obstore

        with self.naming(path, "be written"):
            obstore.put(self._store, path, data)

    def create(self, path: str, data: bytes) -> None:
        """Make a file that did not exist. Raises FileExistsError.

        obstore itself would send a PUT again whose answer was lost, and say of what the first one made that
        it was there before. So this one sends each PUT once, and looks what is there when it can't know: its
        own bytes are its own file, for files that others may want to make as well say who made them.
        """
        is_unsure, failure = False, "somebody else is at it"
        for attempt in range(ATTEMPTS):
            try:
                answer = self._put_if_absent(path, data)
                if answer is _Answer.MADE:
                    return
                if answer is _Answer.EXISTS and not is_unsure:
                    break
            except StorageUnreachableError as error:
                is_unsure, failure = True, error.reason
            try:
                there = self._content_or_none(path)
            except StorageUnreachableError as error:
                there, failure = None, error.reason
            if there is not None:
                if is_unsure and there == data:
                    return
                break
            time.sleep(_PAUSE * 2**attempt * (0.5 + random.random()))
        else:
            raise StorageUnreachableError(path=self._uri_of(path), operation="be created", reason=failure)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)

    def _put_if_absent(self, path: str, data: bytes) -> _Answer:
        """Send a conditional PUT, once."""
        import obstore
        from obstore import exceptions

        refuse_forked(self._uri_of(""))
        with self.naming(path, "be created"):
            try:
                obstore.put(self._opened_to_send_once, path, data, mode="create", use_multipart=False)
            except (exceptions.AlreadyExistsError, exceptions.PreconditionError) as error:
                return _Answer.CONFLICT if status_of(error) == 409 else _Answer.EXISTS
            except exceptions.GenericError as error:
                if status_of(error) != 501:
                    raise
                raise self._refusal("it does not know the condition") from None
            except (NotImplementedError, exceptions.NotSupportedError) as error:
                raise self._refusal(shortened(str(error).partition("\n\n")[0])) from None
        return _Answer.MADE

    def _refusal(self, reason: str) -> UnsupportedStorageError:
        operation = "create a file only if it is absent"
        return UnsupportedStorageError(uri=self._uri_of(""), operation=operation, reason=self._scrub(reason))

    def delete(self, paths: Sequence[str]) -> None:
        """Remove files; none there is fine."""
        import obstore

        if not paths:
            return
        try:
            with self.naming(paths[0], "be deleted"):
                obstore.delete(self._store, list(paths))
        except (StorageNotFoundError, StorageRefusedError):
            # Some stores call it an error that a file is gone already, and then leave the others.
            for path, file in zip(paths, self.stat(paths), strict=True):
                if file is not None:
                    with self.naming(path, "be deleted"), contextlib.suppress(FileNotFoundError):
                        obstore.delete(self._store, path)

    def delete_folder(self, folder: str) -> None:
        """Remove all files below a folder; none there is fine."""
        start = f"{folder}/" if folder else ""
        self.delete([f"{start}{file.name}" for file in self.walk(folder, None)])

    def move(self, path: str, other: str) -> None:
        """Give a file, or all below a folder, another name: copied, then deleted."""
        import obstore

        if self._stat_one(path) is not None:
            moved = {path: other}
        else:
            moved = {f"{path}/{file.name}": f"{other}/{file.name}" for file in self.walk(path, None)}
        if not moved:
            raise StorageNotFoundError(
                path=self._uri_of(path), operation="be moved", reason="there is no such file"
            )

        def copy(pair: tuple[str, str]) -> None:
            with self.naming(pair[0], "be copied"):
                obstore.copy(self._store, *pair)

        _in_threads(copy, list(moved.items()))
        self.delete(list(moved))


class _Answer(Enum):
    """What a store says to a conditional PUT."""

    MADE = 1
    EXISTS = 2
    CONFLICT = 3
    """Azure: it exists. S3: somebody is about to make or delete it, and nothing was stored."""


def _in_threads(ask: Callable[[_Asked], _Told], asked: Sequence[_Asked]) -> list[_Told]:
    """Some answers in order, from requests that run side by side."""
    if len(asked) < 2:
        return [ask(each) for each in asked]
    with ThreadPoolExecutor(min(_THREADS, len(asked))) as pool:
        return list(pool.map(ask, asked))
