"""A small HTTP server on this machine, in threads of this process: what those of the tests have in common."""

from __future__ import annotations

import http.server
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["LocalHandler", "error_body", "served_by"]


class LocalHandler(http.server.BaseHTTPRequestHandler):
    """Gives every request to `serve`, and keeps quiet."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two packets: the second would wait 40 ms

    def serve(self) -> None:
        """Answer a request."""
        raise NotImplementedError

    def _serve(self) -> None:
        self.serve()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815  the standard library's

    def body(self) -> bytes:
        """What came with the request."""
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def send(self, status: int, headers: dict[str, str], body: bytes, *, is_cut: bool = False) -> None:
        """Answer; if it is cut, only half of it, and the connection breaks."""
        self.send_response_only(status)
        if self.command != "HEAD":
            headers = {name: value for name, value in headers.items() if name.lower() != "content-length"}
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body[: len(body) // 2] if is_cut else body)
        if is_cut:
            self.hang_up()

    def hang_up(self) -> None:
        """Break the connection."""
        self.close_connection = True
        self.server.shutdown_request(self.request)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the standard library's
        pass


class _Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Those who no longer wait for an answer are no news."""


@contextmanager
def served_by(handler: type[LocalHandler], *, waits: bool) -> Iterator[str]:
    """The endpoint of a server that runs while this is open.

    Args:
        handler: what answers.
        waits: whether all that was asked is answered before this is left.
    """
    with _Server(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = not waits
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()


def error_body(code: str) -> bytes:
    """An error in the words of S3."""
    return f"<Error><Code>{escape(code)}</Code><Message>The server says {code}.</Message></Error>".encode()
