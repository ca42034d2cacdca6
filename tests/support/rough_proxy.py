"""A proxy before a real object store: it loses answers, makes others up, is late, and kills who asks."""

from __future__ import annotations

import http.client
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from tests.support.faulty_store import Fault
from tests.support.local_server import LocalHandler, error_body, served_by

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

    with served_by(Handler, waits=True) as proxy.endpoint:
        yield proxy


class _Handler(LocalHandler):
    timeout = _PATIENCE
    rough: RoughProxy

    def serve(self) -> None:
        """Pass a request on, or do what was chosen for it."""
        body = self.body()
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
            self.hang_up()
        time.sleep(trouble.delay)
        answer = self._forward(body) if trouble.is_done else None
        if trouble.kills:
            self.rough.kill(request.sender)
        if trouble.kills or trouble.status is None:
            self.hang_up()
        elif trouble.status != 200:
            self.send(trouble.status, {}, error_body(trouble.code))
        elif answer:
            self.send(*answer, is_cut=trouble.is_cut)

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


_OF_ONE_HOP = frozenset({"connection", "keep-alive", "transfer-encoding"})
