"""Files of a locally mounted file system: a hard link refuses to overwrite, and a rename swaps."""

from __future__ import annotations

import contextlib
import errno
import os
import uuid
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from pyarrow import fs

from hudi_index.errors import StorageError, StoragePlaceError, UnsupportedStorageError, storage_error_of
from hudi_index.storage.stored import TEMPORARY_SUFFIX, StoredFile, time_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from hudi_index.storage.stored import Facts, Tree

__all__ = ["LocalFiles"]

_FILES = (fs.FileType.File, fs.FileType.Unknown)
_NANOSECONDS = 1_000_000
"""Of a millisecond."""
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS)


class LocalFiles:
    """The files below a folder. Raises what the file system raises, but where another error says more."""

    def __init__(self, root: Path, uri: str) -> None:
        self.root = str(root).rstrip("/")
        self._uri = uri
        self._filesystem = fs.LocalFileSystem()

    def full_path(self, path: str = "") -> str:
        """A path as the file system names it."""
        return f"{self.root}/{path}" if path else self.root or "/"

    def list(self, folder: str, after: str | None) -> list[StoredFile]:
        """What a folder holds directly, by name."""
        selector = fs.FileSelector(self.full_path(folder), allow_not_found=True)
        found = map(_stored_of, self._filesystem.get_file_info(selector))
        chosen = (file for file in found if after is None or file.name > after)
        return sorted(chosen, key=lambda file: file.name)

    def walk(self, folder: str, after: str | None) -> Sequence[StoredFile]:
        """All files below a folder, by path."""
        found = []
        folders = [""]
        while folders:
            path = folders.pop()
            target = self.full_path("/".join(filter(None, (folder, path))))
            with contextlib.suppress(FileNotFoundError), os.scandir(target) as entries:
                for entry in entries:
                    below = f"{path}/{entry.name}" if path else entry.name
                    if entry.is_dir():
                        _refuse_circle(entry)
                        folders.append(below)
                    elif facts := _facts_of(entry):
                        found.append(StoredFile(below, facts[0], time_of(facts[1])))
        found.sort(key=lambda file: file.name)
        return [file for file in found if after is None or file.name > after]

    def tree(self, without: str, unwanted: str, lasting: str, known: Tree) -> dict[str, dict[str, Facts]]:
        """All files by folder, with one look at each, but for those that are `known` and last."""
        found: dict[str, dict[str, Facts]] = {}
        folders = [""]
        while folders:
            folder = folders.pop()
            before = known.get(folder, {})
            files = found[folder] = {}
            with (
                contextlib.suppress(FileNotFoundError),
                _naming(self._uri, folder),
                os.scandir(f"{self.root}/{folder}") as entries,
            ):
                for entry in entries:
                    name = entry.name
                    if entry.is_dir():
                        if folder or name != without:
                            _refuse_circle(entry)
                            folders.append(f"{folder}/{name}" if folder else name)
                    elif name in before and name.endswith(lasting):
                        files[name] = before[name]
                    elif not name.endswith(unwanted) and (facts := _facts_of(entry)):
                        files[name] = facts
        return found

    def stat(self, paths: Sequence[str]) -> Sequence[StoredFile | None]:
        """The files at some paths; None where there is none."""
        infos = self._filesystem.get_file_info([self.full_path(path) for path in paths])
        return [
            replace(_stored_of(info), name=path) if info.type in _FILES else None
            for path, info in zip(paths, infos, strict=True)
        ]

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder."""
        return bool(self._filesystem.get_file_info(self.full_path(path)).type != fs.FileType.NotFound)

    def is_folder(self, path: str) -> bool:
        """Whether there is a folder."""
        return bool(self._filesystem.get_file_info(self.full_path(path)).type == fs.FileType.Directory)

    def open_input(self, path: str) -> pa.NativeFile:
        """A file for random reading."""
        return self._filesystem.open_input_file(self.full_path(path))

    def open_output(self, path: str) -> pa.NativeFile:
        """A new file for writing in sequence."""
        self._make_folder_of(path)
        return self._filesystem.open_output_stream(self.full_path(path))

    def create(self, path: str, data: bytes) -> None:
        """Make a file that did not exist. Raises FileExistsError."""
        with self.temporary(path, data) as temporary:
            try:
                os.link(temporary, self.full_path(path))
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
                raise UnsupportedStorageError(
                    uri=self._uri,
                    operation="create a file only if it is absent",
                    reason="its file system has no hard links",
                ) from error

    def replace(self, path: str, data: bytes) -> None:
        """Swap a file's content in one step."""
        with self.temporary(path, data) as temporary:
            temporary.replace(self.full_path(path))

    def delete(self, paths: Sequence[str]) -> None:
        """Remove files; none there is fine."""
        for path in paths:
            with contextlib.suppress(FileNotFoundError):
                self._filesystem.delete_file(self.full_path(path))

    def delete_folder(self, folder: str) -> None:
        """Remove a folder with all it holds; none there is fine."""
        if self.exists(folder):
            self._filesystem.delete_dir(self.full_path(folder))

    def move(self, path: str, other: str) -> None:
        """Give a file or folder another place, in one step."""
        self._make_folder_of(other)
        self._filesystem.move(self.full_path(path), self.full_path(other))

    def _make_folder_of(self, path: str) -> None:
        folder = self.full_path(path).rpartition("/")[0]
        try:
            self._filesystem.create_dir(folder, recursive=True)
        except FileExistsError as error:
            # Not as `create` says it: there is no use in looking at what another one made.
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder) from error

    @contextlib.contextmanager
    def temporary(self, path: str, data: bytes) -> Iterator[Path]:
        """A file beside `path` that holds `data`; gone at the end unless it was moved.

        On the disk at the end, the move too: the next step may rest on it, even after a power cut.
        """
        self._make_folder_of(path)
        target = Path(self.full_path(path))
        # A dot name with a foreign suffix: Hudi's readers take it for neither an instant nor a data file.
        # Not longer than the name it stands for may be, which some file systems limit to 255 bytes.
        temporary = target.parent / f".{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
        try:
            with temporary.open("xb") as sink:
                sink.write(data)
                sink.flush()
                os.fsync(sink.fileno())
            yield temporary
        finally:
            # What may have denied the file may deny this as well: that it was denied is said once.
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
        _sync_folder(target.parent)


@contextlib.contextmanager
def _naming(uri: str, folder: str) -> Iterator[None]:
    """An error of one folder out of many names it."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        path = f"{uri.removesuffix('/')}/{quote(folder)}"
        raise storage_error_of(error, path=path, operation="be listed") from error


def _refuse_circle(entry: os.DirEntry[str]) -> None:
    """Raise StoragePlaceError for a link to a folder that it is in itself: listing would not end."""
    if entry.is_symlink():
        here = Path(entry.path).parent.resolve()
        if Path(entry.path).resolve() in (here, *here.parents):
            reason = "it is a link to a folder that it is in itself"
            path = Path(entry.path).absolute().as_uri()
            raise StoragePlaceError(path=path, operation="be listed", reason=reason)


def _facts_of(entry: os.DirEntry[str]) -> Facts | None:
    try:
        status = entry.stat()
    except FileNotFoundError:
        # Deleted since: as if it had been before.
        return None
    return status.st_size, status.st_mtime_ns // _NANOSECONDS, ""


def _stored_of(info: fs.FileInfo) -> StoredFile:
    # Not `info.mtime`, which is rounded: another look at the file has to tell the same millisecond.
    nanoseconds = info.mtime_ns
    modified = datetime.now(timezone.utc) if nanoseconds is None else time_of(nanoseconds // _NANOSECONDS)
    return StoredFile(info.base_name, info.size or 0, modified, info.type == fs.FileType.Directory)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
