"""Small hostile tables: values, rows and slices, what they become as batches, and domains over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from hudi_index.catalog.definition import IndexDefinition
from hudi_index.coverage.covered import Candidates, Covered
from hudi_index.entries.keys import owner_suffix, successor
from hudi_index.kinds import IndexKind, SliceContext, kind_of
from hudi_index.predicate.values.condition import Condition, Constraint, Term
from hudi_index.predicate.values.domain import Bound, Domain, Marker, Range
from hudi_index.table import RECORD_KEY, ROW_POSITION, FileGroupId

COMMIT_TIME = "_hoodie_commit_time"
ORDERING = "version"
NESTED = "place.city"

_UTC = timezone.utc
_EPOCH = datetime(1970, 1, 1, tzinfo=_UTC)

TEXTS = [
    "", " ", "!", '"', "#", "$", "$$", "%", "%~", "&", "a", "a ", "a!", "a$", "a$b", "a%24", "ab", "b", "'",
    "\0", "\n", "~", "é", "ключ", "\ud7ff", "\ue000", "\U0001f600", "\U0010ffff", "x" * 999 + "$y",
    "x" * 998 + " y", "x" * 1000, "x" * 1000 + "a", "x" * 1001, "x" * 5000, "x" * 4999 + "y", "é" * 1200,
    "$" * 400, "$" * 401, "\U0010ffff" * 1001, "x" * 255 + "\U0010ffff" * 2,
]  # fmt: skip
NAN, INFINITY = float("nan"), float("inf")

VALUES: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), TEXTS),
    NESTED: (pa.string(), TEXTS),
    "number": (pa.int32(), [-(2**31), -10, -1, 0, 1, 9, 10, 2**31 - 1]),
    "real": (pa.float64(), [-INFINITY, -1.5, -5e-324, -0.0, 0.0, 5e-324, 0.1, 2.0, 1e308, INFINITY, NAN]),
    "price": (pa.decimal128(10, 2), [Decimal(x) for x in ("-99999999.99", "-0.01", "0.00", "0.01", "7.50")]),
    "flag": (pa.bool_(), [False, True]),
    "data": (pa.binary(), [b"", b"\0", b"\0\0", b"$", b"\xff", b"\xff" * 600, b"\xff" * 601, b"a" * 2000]),
    "day": (pa.date32(), [date(1, 1, 1), date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29)]),
    "at": (
        pa.timestamp("us", "UTC"),
        [
            _EPOCH - timedelta(days=99999),
            _EPOCH - timedelta(microseconds=1),
            _EPOCH,
            datetime(2025, 4, 1, tzinfo=_UTC),
        ],
    ),
}
"""Columns with their types and the values that are tried."""

COLUMNS = tuple(VALUES)
TYPES = {name: kind for name, (kind, _) in VALUES.items()}


def array_column(column: str) -> str:
    """The name of an array column of the values of a column."""
    return f"{column}s"


ARRAYS = {array_column(column): column for column in COLUMNS if column != NESTED}

GROUPS = [
    (FileGroupId("2025/04/01", "2aa10971-11b2-41b3-9baf-ab33c0000144-0"), 1),
    (FileGroupId("2025/04/01", "f-11"), 11),
    (FileGroupId("a$b=%24", "f-1"), 111),
    (FileGroupId("", "f-11"), 2),
]
RECORD_KEYS = ["k", "k$", "k$1", "1", "", "l", "id:1,b:2", "ключ", "x" * 1500, "x" * 1500 + "y"]


@dataclass(frozen=True)
class Row:
    record_key: str
    value: Any
    ordering: int | None = None
    commit_time: str = "20250401000000000"


@dataclass(frozen=True)
class Slice:
    context: SliceContext
    rows: tuple[Row, ...]

    @property
    def group(self) -> FileGroupId:
        return self.context.group

    def holds(self, matches: Callable[[Row], bool]) -> bool:
        return any(map(matches, self.rows))


def candidates_of(table: Sequence[Slice], left: Sequence[bool] | None = None) -> Candidates:
    """Slices that are all covered, of which some are left."""
    groups = [each.group for each in table]
    covered = Covered(
        len(table),
        np.arange(len(table)),
        pa.array([owner_suffix(group.partition_path, group.file_id) for group in groups], pa.string()),
        np.array([each.context.number for each in table], np.int64),
        np.array([len(each.rows) for each in table], np.int64),
    )
    return Candidates.all(covered) if left is None else Candidates(covered, np.array(left, np.bool_))


def slice_of(place: int, rows: Sequence[Row]) -> Slice:
    group, number = GROUPS[place]
    return Slice(SliceContext(group, number), tuple(rows))


def rows_of(*values: Any) -> list[Row]:
    return [Row(f"key-{place}", value) for place, value in enumerate(values)]


def array_of(column: str, values: Sequence[Any]) -> pa.Array[Any]:
    if column in ARRAYS:
        return pa.array(values, pa.list_(TYPES[ARRAYS[column]]))
    if column != NESTED:
        return pa.array(values, TYPES[column])
    # A field is null if it is, or if the struct around it is.
    structs = [
        {"city": value} if value is not None or place % 2 else None for place, value in enumerate(values)
    ]
    return pa.array(structs, pa.struct([pa.field("city", pa.string())]))


def batches_of(file_slice: Slice, column: str, cuts: Sequence[int] = ()) -> list[pa.RecordBatch]:
    """The rows as batches, cut before these positions."""
    whole = pa.RecordBatch.from_pydict(
        {
            RECORD_KEY: pa.array([row.record_key for row in file_slice.rows], pa.string()),
            ROW_POSITION: pa.array(range(len(file_slice.rows)), pa.int64()),
            column.partition(".")[0]: array_of(column, [row.value for row in file_slice.rows]),
            ORDERING: pa.array([row.ordering for row in file_slice.rows], pa.int64()),
            COMMIT_TIME: pa.array([row.commit_time for row in file_slice.rows], pa.string()),
        }
    )
    ends = [0, *sorted(min(cut, len(file_slice.rows)) for cut in cuts), len(file_slice.rows)]
    return [whole.slice(start, stop - start) for start, stop in pairwise(ends)]


def definition_of(kind: str, *columns: str, name: str = "idx", **options: str) -> IndexDefinition:
    return IndexDefinition(name, kind, columns, options=options)


def kind_over(kind: str, *columns: str, **options: str) -> IndexKind:
    return kind_of(definition_of(kind, *columns, **options), TYPES, (ORDERING,))


def on(column: str, condition: Condition) -> Constraint:
    return Constraint(Term(column), condition)


def values(column: str) -> st.SearchStrategy[Any]:
    known = st.sampled_from(VALUES[column][1])
    if column in ("text", NESTED):
        return known | st.text(max_size=3)
    return known


def slices(column: str) -> st.SearchStrategy[list[Slice]]:
    """One to four file groups."""
    return slices_of(st.none() | values(column))


def slices_of(value: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Slice]]:
    """The same of any values."""
    row = st.builds(
        Row,
        st.sampled_from(RECORD_KEYS),
        value,
        st.none() | st.integers(-1, 1),
        st.sampled_from(["20250401000000000", "20250401000000001"]),
    )
    file_slices = [st.lists(row, max_size=5).map(partial(slice_of, place)) for place in range(4)]
    return st.sets(st.integers(0, 3), min_size=1).flatmap(
        lambda places: st.tuples(*(file_slices[p] for p in places)).map(list)
    )


def domains(column: str) -> st.SearchStrategy[Domain]:
    """Points, IN lists, open and closed ranges, prefixes, null, everything and nothing."""
    return domains_of(values(column), has_prefixes=column in ("text", NESTED))


def domains_of(value: st.SearchStrategy[Any], *, has_prefixes: bool) -> st.SearchStrategy[Domain]:
    between = st.builds(
        Range,
        st.builds(Marker, value, st.sampled_from([Bound.EXACTLY, Bound.ABOVE])),
        st.builds(Marker, value, st.sampled_from([Bound.EXACTLY, Bound.BELOW])),
    )
    point = value.map(Range.equal)
    ranges = [
        point,
        between,
        *(value.map(make) for make in (Range.above, Range.at_least, Range.below, Range.at_most)),
    ]
    if has_prefixes:
        ranges.append(value.map(starting_with))
    few = st.lists(st.one_of(*ranges), min_size=1, max_size=3) | st.lists(point, min_size=1, max_size=4)
    special = st.sampled_from([Domain.all(), Domain.null(), Domain.not_null(), Domain.none()])
    return st.builds(lambda each, null: Domain.of(each, has_null=null), few, st.booleans()) | special


def starting_with(prefix: str) -> Range:
    above = successor(prefix)
    return Range(
        Marker(prefix, Bound.EXACTLY), Marker.highest() if above is None else Marker(above, Bound.BELOW)
    )
