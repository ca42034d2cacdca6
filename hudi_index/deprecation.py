"""Public names on their way out: each says since when, until when, and what takes its place.

A deprecated name works as before and warns whoever calls it. It goes away in the version `until`: the tests
fail from that version on while it is still there, so that nothing is deprecated for ever.
"""

from __future__ import annotations

import functools
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["DEPRECATIONS", "Deprecation", "deprecated"]

Named = TypeVar("Named", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True)
class Deprecation:
    """One name that goes away."""

    name: str
    since: str
    """The version that first warned."""
    until: str
    """The version that no longer has it."""
    instead: str
    """What to use, as a reader would write it."""

    def __str__(self) -> str:
        span = f"since {self.since} and goes away in {self.until}"
        return f"{self.name} is deprecated {span}: use {self.instead}"

    def is_overdue(self, version: str) -> bool:
        """Whether a version should no longer have the name."""
        return _numbers(version) >= _numbers(self.until)


DEPRECATIONS: list[Deprecation] = []
"""All that the imported modules deprecate."""


def deprecated(*, since: str, until: str, instead: str) -> Callable[[Named], Named]:
    """Mark a function, method or class as one that goes away; calling it warns, once per place that calls.

    Args:
        since: The version that first warns.
        until: The version that no longer has the name; at least one minor version later.
        instead: What to use, as a reader would write it.
    """
    if _numbers(until)[:2] <= _numbers(since)[:2]:
        raise ValueError(f"until={until!r} has to be at least one minor version after since={since!r}")

    def mark(named: Named) -> Named:
        noted = Deprecation(f"{named.__module__}.{named.__qualname__}", since, until, instead)
        DEPRECATIONS.append(noted)
        if isinstance(named, type):
            # The class itself stays: what is one of its instances, or derives from it, must not change.
            named.__init__ = _warning(noted, named.__init__)  # type: ignore[misc]
            return named
        return cast("Named", _warning(noted, named))

    return mark


def _warning(noted: Deprecation, function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def warn_and_call(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(str(noted), DeprecationWarning, stacklevel=2)
        return function(*args, **kwargs)

    return warn_and_call


def _numbers(version: str) -> tuple[int, ...]:
    """The release part of a version, as numbers that compare."""
    return tuple(int(part) for part in version.partition("+")[0].split(".")[:3])
