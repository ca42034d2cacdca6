"""Kinds of other packages, called so that what goes wrong in one of them is told by its name.

Whatever such a kind raises or returns, it is the kind that can't be used: an UnsupportedKindError says so.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hudi_index.entries.schema import KEY
from hudi_index.errors import HudiIndexError, UnsupportedKindError
from hudi_index.kind_parts.protocol import IndexKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from hudi_index.kind_parts.protocol import SliceContext
    from hudi_index.kind_specs import KindSpec

__all__ = ["GuardedBuilder", "check_kind", "failure_text", "guard_kind"]


def failure_text(error: Exception) -> str:
    """What an index of a kind that fails is out of use for."""
    # Some errors have no text of their own.
    return f"its kind fails: {str(error) or type(error).__name__}"


@contextmanager
def guard_kind(spec: KindSpec) -> Iterator[None]:
    """What a kind of another package raises inside becomes an UnsupportedKindError; ours are to be mended."""
    try:
        yield
    except HudiIndexError:
        raise
    except Exception as error:
        if spec.is_built_in:
            raise
        reason = f"{failure_text(error)}; mend {spec.implementation}, or drop its indexes"
        raise UnsupportedKindError(kind=spec.name, reason=reason) from error


def check_kind(found: object) -> None:
    """Raise TypeError unless it is a kind."""
    if not isinstance(found, IndexKind):
        raise TypeError(f"`of` returned {found!r}, which is no IndexKind")


class GuardedBuilder:
    """Describes a slice through a kind of another package. Raises UnsupportedKindError if that fails."""

    def __init__(self, kind: IndexKind, context: SliceContext) -> None:
        self._spec = kind.spec
        (self._builder,) = self._guard(lambda: [kind.builder(context)])

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        """Take rows in."""
        return iter(self._guard(lambda: _tables_of(self._builder.add(batch))))

    def finish(self) -> Iterator[pa.Table]:
        """What is left to tell."""
        return iter(self._guard(lambda: _tables_of(self._builder.finish())))

    def _guard(self, call: Callable[[], Iterable[Any]]) -> list[Any]:
        with guard_kind(self._spec):
            return list(call())


def _tables_of(found: Iterable[Any]) -> Iterator[pa.Table]:
    for each in found:
        if not isinstance(each, pa.Table) or KEY not in each.column_names:
            raise TypeError(f"its builder gave {type(each).__name__}, which is no table of entries")
        yield each
