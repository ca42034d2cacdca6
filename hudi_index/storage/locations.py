"""Where a storage is, in three spellings.

    location   as people and Hadoop write it: a local path, `file:` URI or, far away, `s3a://bucket/a b`
    uri        percent-quoted: `file:///a%20b`, `s3a://bucket/a%20b`
    address    what obstore and hudi-rs know it by: schemes that only Hadoop has, in theirs

A `file:` URI is percent-quoted and a far location is not, because Hadoop takes it so.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from hudi_index.errors import UnsupportedStorageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["Address", "Provider", "address_of", "is_uri", "local_path", "location_of_uri", "uri_of_location"]

# Hadoop writes file:/path, others file:///path.
_URI = re.compile(r"file:/|[A-Za-z][A-Za-z0-9+.-]*://")
_PARTS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://([^/]*)(.*)", re.DOTALL)
_BLOB_HOST = ".blob.core.windows.net"


class Provider(Enum):
    """Whose protocol an object store speaks, by how its options begin."""

    S3 = "aws"
    GCS = "google"
    AZURE = "azure"


_SCHEMES = {
    **dict.fromkeys(("s3", "s3a", "s3n"), Provider.S3),
    **dict.fromkeys(("gs", "gcs"), Provider.GCS),
    **dict.fromkeys(("abfs", "abfss", "az", "azure", "adl", "wasb", "wasbs"), Provider.AZURE),
}
_RENAMED = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


@dataclass(frozen=True, slots=True)
class Address:
    """An object store and a beginning of names in it, as obstore and hudi-rs take it."""

    provider: Provider
    url: str
    options: Mapping[str, str] = field(default_factory=dict)
    """What the location says and the URL can't."""

    @property
    def is_directory_bucket(self) -> bool:
        """Whether it is one of S3's express buckets, whose names all end so."""
        return self.url.split("/")[2].endswith("--x-s3")


def is_uri(location: str) -> bool:
    """Whether a location is a URI and not a path."""
    return _URI.match(location) is not None


def local_path(location: str | os.PathLike[str]) -> Path | None:
    """The local path that a path or `file:` URI names, None for another URI."""
    if isinstance(location, Path):
        return location
    text = os.fspath(location)
    if match := re.match(r"file:(?://(?:localhost)?(?=/))?(.*)", text, re.DOTALL):
        return Path(unquote(match.group(1)))
    return None if is_uri(text) else Path(text)


def uri_of_location(location: str | os.PathLike[str]) -> str:
    """A location, without credentials, as a URI."""
    local = local_path(location)
    if local:
        return local.absolute().as_uri()
    return _with_path(os.fspath(location), lambda path: quote(re.sub("/+", "/", path)).rstrip("/"))


def location_of_uri(uri: str) -> str:
    """A URI as Hadoop takes it."""
    return _with_path(uri, unquote)


def _with_path(uri: str, change: Callable[[str], str]) -> str:
    found = _PARTS.fullmatch(uri)
    return f"{found[1]}://{found[2]}{change(found[3])}" if found else uri


def address_of(uri: str) -> Address:
    """Who has what a far URI names. Raises UnsupportedStorageError."""
    found = _PARTS.fullmatch(uri)
    scheme, host, path = found.groups() if found else (uri, "", "")
    scheme = scheme.lower()
    provider = _SCHEMES.get(scheme)
    if provider is None:
        known = ", ".join(f"{each}://" for each in _SCHEMES)
        raise _refusal(uri, f"nobody here speaks {scheme}://; expected a local path or one of {known}")
    if not host or host.startswith("@"):
        raise _refusal(uri, f"expected the name of a bucket or container behind {scheme}://")
    if {".", ".."} & set(unquote(path).split("/")):
        raise _refusal(uri, "object stores have no . and .. in their names")
    if scheme in ("wasb", "wasbs"):
        return _address_of_blobs(uri, host, path)
    return Address(provider, f"{_RENAMED.get(scheme, scheme)}://{host}{path}")


def _address_of_blobs(uri: str, host: str, path: str) -> Address:
    container, at, server = host.partition("@")
    account = server.partition(".")[0]
    if not at or not account:
        raise _refusal(uri, "expected wasbs://container@account.blob.core.windows.net/path")
    options = {"azure_storage_account_name": account}
    if not server.endswith(_BLOB_HOST):
        options["azure_storage_endpoint"] = f"https://{server}"
    return Address(Provider.AZURE, f"az://{container}{path}", options)


def _refusal(uri: str, reason: str) -> UnsupportedStorageError:
    return UnsupportedStorageError(uri=uri, operation="be opened", reason=reason)
