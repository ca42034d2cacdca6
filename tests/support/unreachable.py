"""A storage that stops answering for some of its files."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from hudi_index.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hudi_index.errors import StorageError

__all__ = ["refusing"]

_READING = ("read", "tail", "open_input")


@contextmanager
def refusing(pattern: str, error: type[StorageError]) -> Iterator[list[str]]:
    """Whoever reads a file whose URI fits the pattern gets the error; gives those that were asked for."""
    asked: list[str] = []

    def guarded(operation: Callable[..., Any]) -> Callable[..., Any]:
        def reading(self: Storage, path: str, *given: Any) -> Any:
            uri = self.uri_of(path)
            if re.search(pattern, uri):
                asked.append(uri)
                raise error(path=uri, operation="be read", reason="as a test wants it")
            return operation(self, path, *given)

        return reading

    with pytest.MonkeyPatch.context() as patch:
        for name in _READING:
            patch.setattr(Storage, name, guarded(getattr(Storage, name)))
        yield asked
