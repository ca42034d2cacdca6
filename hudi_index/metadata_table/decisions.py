"""One decision of the ledger: what it says, and its file.

    {"step", "at", "number", "id", "previous", "last_time", "open": [grants], "completes", "content",
     "digest"}

The file's number is in it, and a digest of all it says: what was changed or copied is no decision.
"""

from __future__ import annotations

import base64
import getpass
import json
import os
import socket
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from hudi_index.catalog.digest import digest_of
from hudi_index.errors import TimelineCorruptError

__all__ = ["Decision", "Grant", "LedgerState", "WriterId", "decode_decision", "encode_decision"]

_DIGEST_NAME = "decision"


@dataclass(frozen=True, slots=True)
class WriterId:
    """A process that writes, told apart from all others."""

    user: str
    host: str
    process: int
    started: str
    """Tells a process from a later one that got the same number."""

    @classmethod
    def this_process(cls) -> WriterId:
        """The owner that is us."""
        try:
            user = getpass.getuser()
        except (KeyError, OSError):  # containers run under numbers without a name
            user = str(os.getuid())
        return cls(user, _host(), os.getpid(), _start_of(os.getpid()))

    def is_gone(self) -> bool:
        """Whether the process ran on this host and is no more. False when unknown."""
        return self.host == _host() and self.started != "" and _start_of(self.process) != self.started

    def __str__(self) -> str:
        return f"{self.user}@{self.host.partition('/')[0]}, process {self.process}"


def _host() -> str:
    # Two containers may share a host name; their process numbers live in different namespaces. Two machines
    # may share a name and the number of their first namespace, which is the same on all; not their boot.
    try:
        namespace = Path("/proc/self/ns/pid").readlink().name
    except OSError:
        namespace = ""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        boot = ""
    return f"{socket.gethostname()}/{namespace}/{boot}"


def _start_of(process: int) -> str:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    # A zombie (state Z) has ended; only its parent has not noticed.
    return "" if fields[0] == "Z" else fields[19]


@dataclass(frozen=True, slots=True)
class Grant:
    """A lease that `begin` gave out."""

    token: int
    role: str
    action: str
    requested_time: str
    owner: WriterId
    expires: datetime


@dataclass(frozen=True, slots=True)
class LedgerState:
    """What holds after a decision."""

    number: int = 0
    decision_id: str = ""
    last_time: str = "0" * 17
    """The latest instant given out, as a requested or a completed time."""
    open: dict[str, Grant] = field(default_factory=dict)
    """Leases that have not ended, by role."""

    def is_open(self, requested_time: str) -> bool:
        """Whether the instant may still complete."""
        return any(grant.requested_time == requested_time for grant in self.open.values())


@dataclass(frozen=True, slots=True)
class Decision:
    """One ledger file: the step, the file it completes if it is a commit, and the state after it."""

    step: str
    at: datetime
    state: LedgerState
    previous: str
    completes: str | None = None
    content: bytes = b""


def encode_decision(decision: Decision) -> bytes:
    """The content of its file."""
    state = decision.state
    document = {
        "step": decision.step,
        "at": decision.at.isoformat(),
        "number": state.number,
        "id": state.decision_id,
        "previous": decision.previous,
        "last_time": state.last_time,
        "open": [{**asdict(grant), "expires": grant.expires.isoformat()} for grant in state.open.values()],
        "completes": decision.completes,
        "content": base64.b64encode(decision.content).decode(),
    }
    digest = digest_of(document, _DIGEST_NAME)
    return json.dumps({**document, "digest": digest}, indent=1).encode()


def decode_decision(content: bytes, number: int, *, path: str) -> Decision:
    """The decision of that number. Raises TimelineCorruptError."""
    try:
        document = json.loads(content)
        _check_digest(document, document.pop("digest", None), number)
        return _decode(document)
    # RecursionError: deep nesting exhausts the decoder's stack.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = f"not a ledger decision ({error!r})"
        raise TimelineCorruptError(path=path, reason=reason) from error


def _check_digest(document: dict[str, Any], digest: str | None, number: int) -> None:
    if digest not in (None, digest_of(document, _DIGEST_NAME)):
        raise ValueError("it was changed")
    if document["number"] != number:
        raise ValueError(f"it is decision {document['number']}")


def _decode(document: dict[str, Any]) -> Decision:
    grants = [
        Grant(
            **{
                **grant,
                "owner": WriterId(**grant["owner"]),
                "expires": datetime.fromisoformat(grant["expires"]),
            }
        )
        for grant in document["open"]
    ]
    state = LedgerState(
        document["number"], document["id"], document["last_time"], {grant.role: grant for grant in grants}
    )
    at = datetime.fromisoformat(document["at"]).astimezone(timezone.utc)
    content = base64.b64decode(document["content"])
    return Decision(document["step"], at, state, document["previous"], document["completes"], content)
