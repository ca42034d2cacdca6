"""One process per writer id: a second one with the same id would take the first one's batches for its own.

The lease is a ledger of its own beside the index metadata table. It is renewed while its holder lives, and
free at once when the holder's process is known to have ended, else when it was not renewed for long.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from datetime import datetime, timedelta, timezone
from threading import Event, Thread
from typing import TYPE_CHECKING

from hudi_index.errors import HudiIndexError, LeaseHeldError, WriterRunsError
from hudi_index.metadata_table.ledger import Ledger, WriterId

if TYPE_CHECKING:
    from types import TracebackType

    from hudi_index.storage import Storage

__all__ = ["WriterLease"]

log = logging.getLogger(__name__)

_FOLDER = ".hoodie/.index/writers"
_LEASE = timedelta(minutes=3)


class WriterLease:
    """The right to write under an id, from when it is made until it is closed."""

    def __init__(self, table: Storage, writer: str, *, lease: timedelta = _LEASE) -> None:
        """Take it. Raises WriterRunsError while another process, or this one, has it."""
        self.writer = writer
        digest = hashlib.sha256(writer.encode()).hexdigest()[:32]
        self._ledger = Ledger(
            table.child(f"{_FOLDER}/{digest}"), clock=lambda: datetime.now(timezone.utc), lease=lease
        )
        try:
            self._grant = self._ledger.begin("writer", "write", WriterId.this_process())
        except LeaseHeldError as error:
            raise WriterRunsError(
                uri=table.uri, writer=writer, owner=error.owner, until=error.until
            ) from error
        self._is_over = Event()
        Thread(target=self._keep, args=(lease.total_seconds() / 6,), daemon=True).start()

    def check(self) -> None:
        """Raise CommitConflictError if the lease was lost: another process may have begun to write."""
        self._ledger.check(self._grant)

    def close(self) -> None:
        """Give it back."""
        if not self._is_over.is_set():
            self._is_over.set()
            self._ledger.abort(self._grant)

    def __enter__(self) -> WriterLease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An error that brought us here says more than one met while tidying up.
        if error is None:
            self.close()
        else:
            with suppress(HudiIndexError, OSError):
                self.close()

    def _keep(self, pause: float) -> None:
        while not self._is_over.wait(pause):
            try:
                self._ledger.renew(self._grant)
            except (HudiIndexError, OSError) as error:
                log.warning("the lease of writer %s was not renewed: %s", self.writer, error)
