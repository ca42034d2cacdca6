"""A small server that fails as it is told: answers lost or wrong, before or after it did its work.

It speaks S3, and Google's dialect of it, which obstore and hudi-rs use for `gs://`.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from hudi_index.storage import Storage
from tests.support.local_server import LocalHandler, error_body, served_by

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Fault", "FaultyStore", "faulty_store"]

_DATE, _TIME = "Wed, 18 Nov 2026 05:00:00 GMT", "2026-11-18T05:00:00.123Z"
"""Of all objects: a second like any other, and told more finely by a listing, as some stores do."""
_PAGE = 1000


@dataclass(frozen=True)
class Fault:
    """What goes wrong with a request."""

    status: int | None = None
    """The answer; None if the connection breaks instead."""
    code: str = "InternalError"
    is_done: bool = False
    """Whether the request does its work all the same."""
    hangs: bool = False
    """No answer before the test is over."""
    breaks_off: bool = False
    """The true answer, but the connection breaks in the middle of it."""


Chooser = Callable[[str, str, int], Fault | None]
"""From a request's method, path and number to what goes wrong with it."""


@dataclass
class FaultyStore:
    """Objects by name, and all requests that came."""

    endpoint: str = ""
    objects: dict[str, bytes] = field(default_factory=dict)
    requests: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    choose: Chooser = field(default=lambda method, path, number: None)
    ignores_conditions: bool = False
    ignores_start: bool = False
    """Lists from the first name whatever is asked."""
    refuses_start: bool = False
    is_listed: Callable[[str], bool] = field(default=lambda key: True)
    order: Callable[[str], Any] = field(default=str)
    """What it lists its objects by."""
    bucket: str = "bucket"
    speaks_google: bool = False
    lock: threading.Lock = field(default_factory=threading.Lock)
    over: threading.Event = field(default_factory=threading.Event)

    def fail(self, method: str, *faults: Fault | None) -> None:
        """Let the next requests of a method fail one after the other, None not."""
        left = list(faults)

        def choose(asked: str, path: str, number: int) -> Fault | None:
            return left.pop(0) if asked == method and left else None

        self.choose = choose

    def fail_always(self, *methods: str, fault: Fault) -> None:
        """Let all requests of some methods fail."""
        self.choose = lambda asked, path, number: fault if asked in methods else None

    def storage(self, path: str = "t", **options: str) -> Storage:
        """The storage at a path."""
        if self.speaks_google:
            # Somebody who needs no token: without anybody the metadata service of the machine would be asked.
            nobody = dict.fromkeys(("client_email", "private_key", "private_key_id"), "")
            account = {**nobody, "disable_oauth": True, "gcs_base_url": self.endpoint}
            given = {"google_service_account_key": json.dumps(account), "google_allow_http": "true"}
            return Storage.open(f"gs://{self.bucket}/{path}", {**given, **options})
        given = {
            "aws_access_key_id": "testkey",
            "aws_secret_access_key": "testsecret",
            "aws_region": "us-east-1",
            "aws_endpoint": self.endpoint,
            "aws_allow_http": "true",
        }
        return Storage.open(f"s3://{self.bucket}/{path}", {**given, **options})


@contextmanager
def faulty_store(*, speaks_google: bool = False) -> Iterator[FaultyStore]:
    """A server that runs while this is open."""
    store = FaultyStore(speaks_google=speaks_google)

    class Handler(_Handler):
        faulty = store

    with served_by(Handler, waits=False) as store.endpoint:
        try:
            yield store
        finally:
            store.over.set()


class _Handler(LocalHandler):
    faulty: FaultyStore

    def serve(self) -> None:
        """Do as the store was told."""
        store, body = self.faulty, self.body()
        parts = urlsplit(self.path)
        key = unquote(parts.path).removeprefix(f"/{store.bucket}").strip("/")
        with store.lock:
            store.requests.append(f"{self.command} {key}")
            store.headers.append({name.lower(): value for name, value in self.headers.items()})
            fault = store.choose(self.command, key, len(store.requests))
            is_done = fault is None or fault.is_done or fault.breaks_off
            answer = self._answer(key, parts.query, body) if is_done else (500, b"", {})
        if fault is None or fault.breaks_off:
            status, content, headers = answer
            self.send(status, headers, content, is_cut=fault is not None)
        elif fault.hangs:
            store.over.wait()
            self.close_connection = True
        elif fault.status is None:
            self.close_connection = True
        else:
            self.send(fault.status, {}, error_body(fault.code))

    def _answer(self, key: str, query: str, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        objects = self.faulty.objects
        if self.command == "PUT":
            if self._wants_none() and key in objects and not self.faulty.ignores_conditions:
                return 412, error_body("PreconditionFailed"), {}
            objects[key] = body
            return 200, b"", {"ETag": _tag(body)}
        if self.command == "DELETE":
            is_there = objects.pop(key, None) is not None
            return (
                (204, b"", {})
                if is_there or not self.faulty.speaks_google
                else (404, error_body("NoSuchKey"), {})
            )
        if self.command == "POST":
            return self._delete_many(body)
        if not key:
            return self._listing(parse_qs(query))
        if key not in objects:
            return 404, error_body("NoSuchKey"), {}
        return self._content(objects[key])

    def _wants_none(self) -> bool:
        """Whether there must be no such object."""
        is_google = self.faulty.speaks_google
        name, value = ("x-goog-if-generation-match", "0") if is_google else ("If-None-Match", "*")
        return self.headers.get(name) == value

    def _content(self, data: bytes) -> tuple[int, bytes, dict[str, str]]:
        headers = {"ETag": _tag(data), "Last-Modified": _DATE}
        wanted = self.headers.get("Range", "")
        if not wanted:
            return 200, data, headers
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        start = int(first) if first else max(0, len(data) - int(last))
        end = min(len(data), int(last) + 1) if first and last else len(data)
        if start >= len(data):
            return 416, error_body("InvalidRange"), {}
        return 206, data[start:end], {**headers, "Content-Range": f"bytes {start}-{end - 1}/{len(data)}"}

    def _listing(self, query: dict[str, list[str]]) -> tuple[int, bytes, dict[str, str]]:
        asked = {name: values[0] for name, values in query.items()}
        prefix, delimiter = asked.get("prefix", ""), asked.get("delimiter", "")
        start = "" if self.faulty.ignores_start else asked.get("start-after", "")
        order = self.faulty.order
        after = max(start, asked.get("continuation-token", ""), key=order)
        if start and self.faulty.refuses_start:
            return 501, error_body("NotImplemented"), {}
        rows: dict[str, str] = {}
        for key, data in self.faulty.objects.items():
            folder = key[len(prefix) :].partition(delimiter)[0] if delimiter else key
            is_folder = delimiter and prefix + folder != key
            name = f"{prefix}{folder}/" if is_folder else key
            if (
                not key.startswith(prefix)
                or not self.faulty.is_listed(key)
                or (after and order(name) <= order(after))
            ):
                continue
            rows[name] = (
                f"<CommonPrefixes><Prefix>{escape(name)}</Prefix></CommonPrefixes>"
                if is_folder
                else f"<Contents><Key>{escape(key)}</Key><LastModified>{_TIME}</LastModified>"
                f"<ETag>{escape(_tag(data))}</ETag><Size>{len(data)}</Size></Contents>"
            )
        page = sorted(rows, key=order)[:_PAGE]
        more = len(rows) > len(page)
        token = f"<NextContinuationToken>{escape(page[-1])}</NextContinuationToken>" if more else ""
        text = f"<IsTruncated>{str(more).lower()}</IsTruncated>{token}{''.join(rows[name] for name in page)}"
        return 200, f"<ListBucketResult>{text}</ListBucketResult>".encode(), {}

    def _delete_many(self, body: bytes) -> tuple[int, bytes, dict[str, str]]:
        keys = [part.partition("</Key>")[0] for part in body.decode().split("<Key>")[1:]]
        for key in keys:
            self.faulty.objects.pop(key, None)
        rows = "".join(f"<Deleted><Key>{key}</Key></Deleted>" for key in keys)
        return 200, f"<DeleteResult>{rows}</DeleteResult>".encode(), {}


def _tag(data: bytes) -> str:
    return f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
