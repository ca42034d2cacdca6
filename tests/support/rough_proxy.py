"""A proxy before a real object store: it loses answers, makes others up, is late, and kills who asks."""

from __future__ import annotations

import http.client
import http.server
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from tests.support.faulty_store import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Request", "RoughProxy", "Trouble", "rough_proxy"]

_PATIENCE = 300


@dataclass(frozen=True)
class Trouble(Fault):
    """What goes wrong with a request on its way."""

    name: str = ""
    delay: float = 0.0
    """Seconds before it reaches the store."""
    is_late: bool = False
    """It reaches the store only after the connection broke: to who sent it, it may never have."""
    is_cut: bool = False
    """The answer breaks off in its middle."""
    kills: bool = False
    """Who sent it dies, before it gets an answer."""


@dataclass(frozen=True)
class Request:
    """What the choice of a trouble rests on."""

    sender: str
    """Its `User-Agent`."""
    method: str
    path: str
    query: str
    is_conditional: bool


Chooser = Callable[[Request], Trouble | None]


@dataclass
class RoughProxy:
    """Where it listens, what it was told to do, and how often it did what."""

    target: str
    choose: Chooser
    kill: Callable[[str], None]
    """Ends the process of a sender at once."""
    endpoint: str = ""
    seen: Counter[str] = field(default_factory=Counter)
    """Requests, by what went wrong with them."""
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def rough_proxy(
    target: str, choose: Chooser, kill: Callable[[str], None] = lambda sender: None
) -> Iterator[RoughProxy]:
    """A proxy that runs while this is open; left, all that it was sent has reached the store.

    Whoever uses it has to have ended by then, for it waits until they hang up.
    """
    proxy = RoughProxy(target, choose, kill)

    class Handler(_Handler):
        rough = proxy

    with _Server(("127.0.0.1", 0), Handler) as server:
        proxy.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield proxy
        finally:
            server.shutdown()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = False
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The dead don't wait for answers."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two packets: the second would wait 40 ms
    timeout = _PATIENCE
    rough: RoughProxy

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = Request(
            self.headers.get("User-Agent", ""),
            self.command,
            unquote(urlsplit(self.path).path),
            urlsplit(self.path).query,
            "If-None-Match" in self.headers,
        )
        with self.rough.lock:
            trouble = self.rough.choose(request) or Trouble(name="none", is_done=True, status=200)
            self.rough.seen[trouble.name] += 1
        if trouble.is_late:
            self._hang_up()
        time.sleep(trouble.delay)
        answer = self._forward(body) if trouble.is_done else None
        if trouble.kills:
            self.rough.kill(request.sender)
        if trouble.kills or trouble.status is None:
            self._hang_up()
        elif trouble.status != 200:
            text = f"<Error><Code>{trouble.code}</Code><Message>The proxy says so.</Message></Error>"
            self._send(trouble.status, {}, text.encode())
        elif answer:
            self._send(*answer, is_cut=trouble.is_cut)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815  the standard library's

    def _forward(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        """Ask the store the very same: what is signed has to stay as it is, its `Host` too."""
        connection = http.client.HTTPConnection(urlsplit(self.rough.target).netloc, timeout=_PATIENCE)
        try:
            connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
            for name, value in self.headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            answer = connection.getresponse()
            content = answer.read()
            headers = {name: value for name, value in answer.getheaders() if name.lower() not in _OF_ONE_HOP}
            return answer.status, headers, content
        finally:
            connection.close()

    def _send(self, status: int, headers: dict[str, str], body: bytes, *, is_cut: bool = False) -> None:
        self.send_response_only(status)
        if self.command != "HEAD":
            headers = {name: value for name, value in headers.items() if name.lower() != "content-length"}
            headers["Content-Length"] = str(len(body))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if is_cut else body)
        if is_cut:
            self._hang_up()

    def _hang_up(self) -> None:
        self.close_connection = True
        self.server.shutdown_request(self.request)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the standard library's
        pass


_OF_ONE_HOP = frozenset({"connection", "keep-alive", "transfer-encoding"})
