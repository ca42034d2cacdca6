"""Object stores and forked processes.

obstore and hudi-rs work with threads of their own, which a forked child does not have: once a store was used,
every request of a child waits for ever, on a new store too. It is told so instead.
"""

from __future__ import annotations

import os

from hudi_index.errors import StorageForkedError

__all__ = ["refuse_forked"]

_user: int | None = None
"""The process that was the first to use an object store, here or in what this was forked from."""


def refuse_forked(uri: str) -> None:
    """Note that this process uses object stores. Raises StorageForkedError if it can't."""
    global _user
    here = os.getpid()
    if _user is None:
        _user = here
    if _user != here:
        raise StorageForkedError(path=uri)
