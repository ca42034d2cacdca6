"""What a slice's footer says for its indexes, so that rows are read only for the rest.

Statistics of a slice without logs stand in its base file's footer, where they are exact. A kind that takes
them is described by the footer as far as that goes; if no kind wants anything else, no row is read.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast

from hudi_index.errors import HudiIndexError
from hudi_index.kinds import builder_of
from hudi_index.side_by_side import each_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    import pyarrow as pa

    from hudi_index.kind_parts.protocol import EntryBuilder, FromFooters, IndexKind, SliceContext
    from hudi_index.lifecycle.description import Description, WorkItem
    from hudi_index.table import FileSlice
    from hudi_index.table.footer import ColumnStatistics, Footer

__all__ = ["FROM_ROWS", "Known", "look_ahead", "look_at_footer"]

T = TypeVar("T")

_AT_ONCE = 16
"""So many file groups are looked at ahead: up to half a megabyte is held of each of their files."""


@dataclass(frozen=True)
class Known:
    """What is known of a slice without its rows."""

    statistics: Mapping[str, ColumnStatistics | None] = field(default_factory=dict)
    footer: Footer | None = None
    """None if nobody has looked."""

    @property
    def row_count(self) -> int | None:
        """How many rows there are; None if nobody has looked."""
        return self.footer.row_count if self.footer else None

    def of_rows(self, kinds: Sequence[IndexKind]) -> tuple[IndexKind, ...]:
        """The kinds that need rows, with the columns they need them for."""
        return tuple(rest for kind in kinds if (rest := self._rest_of(kind)) is not None)

    def builder(self, kind: IndexKind, context: SliceContext) -> EntryBuilder:
        """What describes the slice, from the rows that `of_rows` asks for."""
        if not kind.spec.answers_from_footers or not self.statistics:
            return builder_of(kind, context)
        entries = cast("FromFooters", kind).entries_of_statistics(context, self.statistics)
        rest = self._rest_of(kind)
        return _Preceded(entries, builder_of(rest, context) if rest else None)

    def _rest_of(self, kind: IndexKind) -> IndexKind | None:
        if not kind.spec.answers_from_footers or not self.statistics:
            return kind
        return cast("FromFooters", kind).without(self.statistics)


FROM_ROWS = Known()
"""Nothing is known: all comes from rows."""


def look_at_footer(
    description: Description, file_slice: FileSlice | None, kinds: Sequence[IndexKind]
) -> Known:
    """What the footer of a slice says for some kinds."""
    columns = [name for kind in kinds if kind.spec.answers_from_footers for name in kind.columns]
    if file_slice is None or file_slice.log_files or not columns or description.expressions:
        return FROM_ROWS
    if description.reader.choice_of(file_slice).reason is not None:
        # Where columns are not found by their names in the file, the footer can't be read by name either.
        return FROM_ROWS
    footer = description.reader.footer(file_slice)
    return Known(footer.statistics(columns), footer)


def look_ahead(
    look: Callable[[WorkItem], T], items: Iterable[WorkItem], *, is_local: bool
) -> Iterator[tuple[WorkItem, Callable[[], T]]]:
    """Items with what gives the outcome of a look at each, or raises what it raised.

    Where looks are journeys, several are under way at once, ahead of whoever takes the items.
    """

    def outcome(item: WorkItem) -> Callable[[], T]:
        try:
            found = look(item)
        except HudiIndexError as error:
            return partial(_raise, error)
        return lambda: found

    left = iter(items)
    while taken := list(islice(left, 1 if is_local else _AT_ONCE)):
        yield from zip(taken, each_of(outcome, taken, is_local=is_local), strict=True)


def _raise(error: Exception) -> NoReturn:
    raise error


class _Preceded:
    """Entries that are known already, before those of a builder."""

    def __init__(self, entries: pa.Table, builder: EntryBuilder | None) -> None:
        self._entries, self._builder = entries, builder

    def add(self, batch: pa.RecordBatch) -> Iterator[pa.Table]:
        return self._builder.add(batch) if self._builder else iter(())

    def finish(self) -> Iterator[pa.Table]:
        yield self._entries
        if self._builder:
            yield from self._builder.finish()
