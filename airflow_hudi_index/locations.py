"""Which table a name, a path or a URI means, and whether a connection gives it out.

A connection with a base path gives out what is below it, and what its catalog of tables names; nothing else,
unless it allows absolute paths. One without a base path takes absolute paths and URIs as they are.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote

from hudi_index.credentials import split_uri, without_credentials
from hudi_index.errors import InvalidOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["TableLocations", "is_far", "refuse_credentials", "refuse_password", "with_one_scheme"]

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
# Hadoop writes file:/path, others file:///path.
_FILE = re.compile(r"file:(?://(?:localhost)?(?=/))?(/.*)", re.DOTALL | re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_MOST_QUOTES = 8
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "gcs": "gs", "abfs": "abfss", "wasb": "wasbs", "azure": "az"}


@dataclass(frozen=True)
class TableLocations:
    """Where a connection's tables are."""

    # Both may hold credentials.
    base_path: str | None = field(default=None, repr=False)
    tables: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Names of tables with their places."""
    allow_absolute_paths: bool | None = None
    """Whether tables outside the base path may be named; if unsaid, only where there is no base path."""

    def location_of(self, table: str) -> str:
        """The path or URI of a table, with the connection's credentials if it has some in its URIs.

        Raises:
            InvalidOptionError: if it is no table of this connection.
        """
        _check_text(table)
        if table in self.tables:
            return self.tables[table]
        refuse_credentials(table)
        # Whoever was told a place of the catalog may say it again.
        for location in self.tables.values():
            if with_one_scheme(without_credentials(location)) == with_one_scheme(table):
                return location
        if _CONTROL.search(table):
            raise _refuse(table, "there are control characters in it")
        if _is_absolute(table):
            return self._absolute(table)
        if self.base_path is None:
            known = f"; it knows {', '.join(self.tables)}" if self.tables else ""
            reason = f"it is no absolute path and no URI, and the connection has no base path{known}"
            raise _refuse(table, reason)
        base, credentials = split_uri(self.base_path)
        self._check_parts(table, table)
        location = f"{base.rstrip('/')}/{table}"
        self._check_inside(table, location)
        return credentials.add_to(location)

    def _absolute(self, table: str) -> str:
        is_allowed = self.allow_absolute_paths
        if self.base_path is None if is_allowed is None else is_allowed:
            return table
        if self.base_path is None:
            raise _refuse(table, "the connection takes no absolute paths; name the table in its Tables")
        base, credentials = split_uri(self.base_path)
        base = base.rstrip("/")
        plain, plain_base = with_one_scheme(table), with_one_scheme(base)
        if plain.rstrip("/") != plain_base:
            is_below = _is_below(plain, plain_base)
            self._check_parts(table, plain.removeprefix(plain_base) if is_below else _path(table))
            self._check_inside(table, table)
        return credentials.add_to(table)

    def _check_parts(self, table: str, path: str) -> None:
        """Raises InvalidOptionError for a path with steps in it, written plainly or in any quoting."""
        for text in _readings(path):
            if "\\" in text or _CONTROL.search(text):
                raise _refuse(table, "there are backslashes or control characters in it")
            # One slash at its end means nothing.
            if not {"", ".", ".."}.isdisjoint(text.removeprefix("/").removesuffix("/").split("/")):
                raise _refuse(table, f"there are empty steps, '.' or '..' in it; {self._way_out}")

    def _check_inside(self, table: str, location: str) -> None:
        base = without_credentials(self.base_path or "")
        here, there = _local(base), _local(location)
        if here is None or there is None:
            is_inside = here is there and _is_below(with_one_scheme(location), with_one_scheme(base))
        else:
            # A link inside must not lead outside.
            is_inside = _is_below(os.path.realpath(there), os.path.realpath(here))
        if not is_inside:
            raise _refuse(table, f"it is outside the connection's base path {base!r}; {self._way_out}")

    @property
    def _way_out(self) -> str:
        return "name its place in the connection's Tables, or set allow_absolute_paths there"


def is_far(location: str) -> bool:
    """Whether a place is on a store, not on a disk that is mounted here."""
    return _local(location) is None


def with_one_scheme(location: str) -> str:
    """A place as all names of its store say it: `s3a://b/t` and `s3n://b/t` are `s3://b/t`."""
    scheme, colon, rest = location.partition("://")
    return (
        f"{_SAME_STORE.get(scheme.lower(), scheme.lower())}://{rest}"
        if colon and is_far(location)
        else location
    )


def refuse_credentials(table: object) -> None:
    """Raises InvalidOptionError for credentials in what names a table, which Airflow stores and shows."""
    if isinstance(table, str):
        clean, credentials = split_uri(table)
        if credentials:
            reason = (
                "there are credentials or a query in the URI; they belong into the connection: its storage "
                "options, or a URI among its Tables, and here the table's name"
            )
            raise _refuse(clean, reason)


def refuse_password(option: str, uri: object) -> None:
    """Raises InvalidOptionError for a password or a query in a URI; `s3://connection@bucket` is Airflow's."""
    if isinstance(uri, str):
        clean, credentials = split_uri(uri)
        if ":" in credentials.user or credentials.query:
            reason = "everybody can read it on the job's command line: leave out the password and the query"
            raise InvalidOptionError(option=option, value=clean, reason=reason)


def _check_text(table: object) -> None:
    if not isinstance(table, str) or not table.strip():
        raise _refuse(table, "a table is a path, a URI or a name")


def _refuse(table: object, reason: str) -> InvalidOptionError:
    return InvalidOptionError(option="table", value=table, reason=reason)


def _is_absolute(table: str) -> bool:
    return bool(table.startswith("/") or _URI.match(table) or _FILE.match(table))


def _local(location: str) -> str | None:
    """The local path that a path or `file:` URI names, None for another URI."""
    if found := _FILE.match(location):
        return unquote(found[1])
    return None if _URI.match(location) else location


def _path(table: str) -> str:
    """What stands behind the host."""
    if found := _FILE.match(table):
        return found[1]
    return "/" + table[found.end() :].partition("/")[2] if (found := _URI.match(table)) else table


def _readings(text: str) -> Iterator[str]:
    """A text, and what it becomes each time that somebody undoes its quotes."""
    for _ in range(_MOST_QUOTES):
        yield text
        if (plain := unquote(text)) == text:
            return
        text = plain
    yield ".."  # quoted so often by nobody with good intentions


def _is_below(location: str, base: str) -> bool:
    return f"{location.rstrip('/')}/".startswith(f"{base.rstrip('/')}/")
