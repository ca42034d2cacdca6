"""An object store in the words of files, through obstore.

Any PUT swaps an object whole, and a conditional one creates: S3 and Azure have `If-None-Match: *`, GCS has
`x-goog-if-generation-match: 0`. There are no folders, only names with slashes in them. A listing is in the
order of names and always up to date.
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
from hudi_index.storage.object_errors import is_broken_off, status_of, translated
from hudi_index.storage.object_files import ObjectFile, ObjectSink
from hudi_index.storage.options import StoreOptions
from hudi_index.storage.stored import NO_TIME, StoredFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from hudi_index.storage.locations import Address

__all__ = ["Objects"]

_Asked = TypeVar("_Asked")
_Told = TypeVar("_Told")

_PAGE = 1000
"""How much a store lists at once."""
_PART = 8 * 1024 * 1024
_THREADS = 16
_ATTEMPTS = 6
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
        self.lists_from_anywhere = address.provider is not Provider.AZURE
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
            return _children(self.walk(folder, after), after)
        with self.naming(folder, "be listed"):
            found = _until_whole(lambda: obstore.list_with_delimiter(self._store, folder or None))
        skip = len(folder) + 1 if folder else 0
        names = {each[skip:].rstrip("/") for each in found["common_prefixes"]}
        folders = [_folder(name) for name in names if name]
        files = [_stored_of(each, skip) for each in found["objects"]]
        return _sorted([*folders, *(file for file in files if file.name and file.name not in names)])

    def walk(self, folder: str, after: str | None) -> Iterator[StoredFile]:
        """All files below a folder, by path: one request for each thousand.

        obstore asks again for what is not answered, but not for what breaks off: that is gone on with
        behind the last name that came.
        """
        import obstore

        start = f"{folder}/" if folder else ""
        behind, pages = None if after is None else f"{start}{after}", None

        def next_page() -> Any:
            nonlocal pages
            try:
                if pages is None:
                    pages = iter(obstore.list(self._store, folder or None, offset=behind, chunk_size=_PAGE))
                return next(pages, None)
            except Exception:
                pages = None
                raise

        while True:
            with self.naming(folder, "be listed"):
                page = _until_whole(next_page)
            if page is None:
                return
            for each in page:
                # Not every store that is asked to begin behind a name does so.
                if behind is None or each["path"] > behind:
                    behind = each["path"]
                    if len(behind) > len(start):
                        yield _stored_of(each, len(start))

    def stat(self, paths: Sequence[str]) -> Sequence[StoredFile | None]:
        """The files at some paths; None where there is none."""
        return _in_threads(self._stat_one, paths)

    def _stat_one(self, path: str) -> StoredFile | None:
        import obstore

        try:
            with self.naming(path, "be looked at"):
                return _stored_of(obstore.head(self._store, path), 0)
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
                if attempt == _ATTEMPTS:
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
        for attempt in range(_ATTEMPTS):
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


def _until_whole(ask: Callable[[], _Told]) -> _Told:
    """What a listing answers, asked for again where the answer breaks off."""
    from obstore.exceptions import GenericError

    attempt = 0
    while True:
        attempt += 1
        try:
            return ask()
        except GenericError as error:
            if attempt == _ATTEMPTS or not is_broken_off(error):
                raise


def _in_threads(ask: Callable[[_Asked], _Told], asked: Sequence[_Asked]) -> list[_Told]:
    """Some answers in order, from requests that run side by side."""
    if len(asked) < 2:
        return [ask(each) for each in asked]
    with ThreadPoolExecutor(min(_THREADS, len(asked))) as pool:
        return list(pool.map(ask, asked))


def _stored_of(found: Any, skip: int) -> StoredFile:
    modified = found["last_modified"].replace(microsecond=0)
    # Azure quotes it when asked for one file and not in a listing.
    tag = (found["e_tag"] or "").strip('"')
    return StoredFile(found["path"][skip:], found["size"], modified, tag=tag)


def _folder(name: str) -> StoredFile:
    return StoredFile(name, 0, NO_TIME, is_folder=True)


def _sorted(files: list[StoredFile]) -> list[StoredFile]:
    return sorted(files, key=lambda file: file.name)


def _children(files: Iterator[StoredFile], after: str) -> list[StoredFile]:
    """What a folder holds directly, of what it holds."""
    found: dict[str, StoredFile] = {}
    for file in files:
        name, slash, _ = file.name.partition("/")
        if name > after:
            found[name] = _folder(name) if slash else found.get(name, file)
    return _sorted(list(found.values()))
