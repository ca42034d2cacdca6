"""What obstore raises, as our errors. Its own are no OSErrors, and their texts are pages long."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from hudi_index.errors import (
    StorageDeniedError,
    StorageError,
    StorageNotFoundError,
    StoragePlaceError,
    StorageRefusedError,
    StorageUnreachableError,
    shortened,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["is_broken_off", "status_of", "translated"]

_STATUS = re.compile(r"status code: (\d{3})")
_DENIED = re.compile(
    "status code: 40[13]|ExpiredToken|TokenRefreshRequired|RequestExpired|InvalidToken|AuthenticationFailed"
)
_MESSAGE = re.compile(r"<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", re.DOTALL)
_MISLED = re.compile("Received redirect without LOCATION|HTTP error: builder error")
"""How obstore tells of a bucket in another region, and of an http:// endpoint that it may not use."""
_TRIED_AGAIN = (408, 429)
_BROKEN_OFF = re.compile("Error getting list response body|Got invalid list response")
"""How obstore tells of half a listing, whether its length was known or not."""


@contextlib.contextmanager
def translated(uri: str, operation: str, scrub: Callable[[str], str] = str) -> Iterator[None]:
    """What obstore raises inside becomes a StorageError.

    Args:
        uri: the file or folder that is worked on.
        operation: what is done, to stand after "it can't": `be read`.
        scrub: takes secrets out of what a store says.
    """
    from obstore.exceptions import BaseError

    try:
        yield
    except StorageError:
        raise
    except (BaseError, OSError, ValueError) as error:
        raise _error_of(error, uri, operation, scrub) from None


def _error_of(error: Exception, uri: str, operation: str, scrub: Callable[[str], str]) -> StorageError:
    from obstore.exceptions import InvalidPathError, PermissionDeniedError, UnauthenticatedError

    status, reason = status_of(error), scrub(_reason_of(error))
    kind: type[StorageError] = StorageUnreachableError
    if isinstance(error, FileNotFoundError) or status == 404:
        kind = StorageNotFoundError
    elif isinstance(error, (ValueError, InvalidPathError)):
        kind = StoragePlaceError
    elif isinstance(error, (PermissionDeniedError, UnauthenticatedError)) or _DENIED.search(str(error)):
        kind = StorageDeniedError
    elif _MISLED.search(str(error)) or (status and 300 <= status < 500 and status not in _TRIED_AGAIN):
        kind = StorageRefusedError
    return kind(path=uri, operation=operation, reason=reason)


def status_of(error: Exception) -> int | None:
    """The HTTP status that a store answered with, if it answered."""
    found = _STATUS.search(str(error))
    return int(found[1]) if found else None


def is_broken_off(error: Exception) -> bool:
    """Whether a listing came, but not all of it."""
    return _BROKEN_OFF.search(str(error)) is not None


def _reason_of(error: Exception) -> str:
    """What a person reads of it: the store's own words if it had any, without obstore's debugging."""
    text = str(error).partition("\n\nDebug source")[0]
    status = _STATUS.search(text)
    said = _MESSAGE.search(text)
    if status and said:
        return shortened(f"{status[1]} {said[1]}: {said[2]}".replace("\0", "\\0"))
    cause = re.search(r"source: \"([^\"]+)\"|message: \"([^\"]+)\"", str(error))
    told = next(filter(None, cause.groups()), "") if cause else ""
    return shortened(f"{text}{f' ({told})' if told and told not in text else ''}".replace("\0", "\\0"))
