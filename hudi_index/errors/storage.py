"""What a file system refuses, as errors that name the file, what was to be done with it, and the way out.

    StorageError                  anything else: an input/output error, too many open files      exit code 1
      StorageNotFoundError        there is no such file                                          1
      StoragePlaceError           no place for it: a file where a folder should be or the
                                  reverse, links in a circle, a name too long or with NUL        2
      StorageDeniedError          no permission                                                  2
      StorageFullError            read-only, full, over quota, or the file may not grow          2
      StorageRefusedError         an object store does not do what it is asked: another
                                  region, a request that it does not know                        2
      StorageForkedError          an object store, in a process that was forked                  2
      StorageUnreachableError     the storage does not answer                                    4

Exit code 2 is for what a person has to mend before the same request can succeed, 4 for what may pass by
itself. All are OSErrors as well: who expects one, such as a plan that does without an unreadable index, needs
not know these names.
"""

from __future__ import annotations

import errno
import os
import re
from typing import ClassVar

from hudi_index.errors.root import HudiIndexError

__all__ = [
    "NOT_DAMAGE",
    "StorageDeniedError",
    "StorageError",
    "StorageForkedError",
    "StorageFullError",
    "StorageNotFoundError",
    "StoragePlaceError",
    "StorageRefusedError",
    "StorageUnreachableError",
    "shortened",
    "storage_error_of",
]


class StorageError(HudiIndexError, OSError):
    """The file system refused something."""

    numbers: ClassVar[frozenset[int]] = frozenset()
    """The system's own numbers for it."""
    words: ClassVar[str] = r"(?!)"
    """How stores without such numbers say it."""
    way_out: ClassVar[str] = "look at the storage, then try again"

    def __init__(self, *, path: str, operation: str, reason: str, number: int | None = None) -> None:
        super().__init__(f"{path}: it can't {operation}: {reason}; {self.way_out}")
        self.path, self.operation, self.reason, self.errno = path, operation, reason, number

    def __str__(self) -> str:
        # OSError's own would show the number alone where one is set.
        return str(self.args[0])


class StorageNotFoundError(StorageError, FileNotFoundError):
    """There is no such file."""

    numbers = frozenset({errno.ENOENT})
    words = r"PATH_NOT_FOUND|NO_SUCH_(KEY|BUCKET)"
    way_out = "somebody has deleted or moved it; try again, and bring it back if it stays away"


class StoragePlaceError(StorageError):
    """What stands there is no place for such a file or folder."""

    exit_code = 2
    numbers = frozenset({errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP, errno.ENAMETOOLONG})
    words = r"is a directory|[Nn]ot a directory|Embedded NUL|embedded null"
    way_out = "give another path, or move away what stands there"


class StorageDeniedError(StorageError, PermissionError):
    """No permission."""

    exit_code = 2
    numbers = frozenset({errno.EACCES, errno.EPERM})
    words = r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE_DOES_NOT_MATCH|PERMISSION_DENIED|\b40[13]\b"
    way_out = "let this user have it (owner, mode, credentials), or run as one who may"


class StorageFullError(StorageError):
    """Nothing can be written there, or not so much."""

    exit_code = 2
    numbers = frozenset({errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
    way_out = "make the storage writable or make room, then run it again"


class StorageRefusedError(StorageError):
    """An object store does not do what it is asked."""

    exit_code = 2
    way_out = "see that endpoint, region and bucket are right; http:// needs the option allow_http"


class StorageForkedError(StorageError):
    """An object store can't be used in a process that was forked from one that used it."""

    exit_code = 2
    way_out = "start the process by spawning, or fork before the first use of an object store"

    def __init__(self, *, path: str) -> None:
        reason = "this process was forked from one that used object stores, and has none of its threads"
        super().__init__(path=path, operation="be reached", reason=reason)


class StorageUnreachableError(StorageError):
    """The storage does not answer."""

    exit_code = 4
    numbers = frozenset(
        {
            *(errno.ECONNREFUSED, errno.ECONNRESET, errno.ECONNABORTED, errno.EHOSTUNREACH, errno.EHOSTDOWN),
            *(errno.ENETUNREACH, errno.ENETDOWN, errno.ETIMEDOUT, errno.ESTALE, errno.ENOTCONN),
        }
    )
    words = r"NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|REQUEST_TIMEOUT|[Tt]imed? ?out|\b50[34]\b"
    way_out = "see that it runs and can be reached from here, then retry"


NOT_DAMAGE = (StorageDeniedError, StorageRefusedError, StorageForkedError, StorageUnreachableError)
"""What says nothing against a file that can't be read: to write it anew would not help."""

_MOST_CHARACTERS = 400
_KINDS = (
    StorageNotFoundError,
    StoragePlaceError,
    StorageDeniedError,
    StorageFullError,
    StorageUnreachableError,
)


def shortened(text: str) -> str:
    """A text on one line, and not longer than a person reads."""
    line = " ".join(text.split())
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:_MOST_CHARACTERS]}…"


def storage_error_of(error: Exception, *, path: str, operation: str) -> StorageError:
    """What the file system said, as an error of ours.

    Args:
        error: what it raised.
        path: the file or folder.
        operation: what was to be done, to stand after "it can't": `be read`.
    """
    number = error.errno if isinstance(error, OSError) else None
    text = shortened(str(error).replace("\0", "\\0"))
    reason = os.strerror(number).lower() if number else text
    for kind in _KINDS:
        if number in kind.numbers or (number is None and re.search(kind.words, text)):
            return kind(path=path, operation=operation, reason=reason, number=number)
    return StorageError(path=path, operation=operation, reason=reason, number=number)
