"""The root of all errors and its branches, by what the caller can do."""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ConflictError",
    "CorruptError",
    "HudiIndexError",
    "UserError",
]


class HudiIndexError(Exception):
    """Root of everything this package raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __reduce__(self) -> tuple[object, ...]:
        # By its fields: the pickled form of an exception would call it with its message alone.
        return _unpickle, (type(self), self.args, self.__dict__)


def _unpickle(kind: type[HudiIndexError], args: tuple[object, ...], fields: dict[str, object]) -> object:
    made = kind.__new__(kind, *args)
    made.args = args
    made.__dict__.update(fields)
    return made


class UserError(HudiIndexError):
    """The request can't be carried out as it stands."""

    exit_code = 2


class CorruptError(HudiIndexError):
    """Stored bytes are missing, cut or not what they claim to be."""


class ConflictError(HudiIndexError):
    """Another process was first; the same request may succeed later."""

    exit_code = 4
