"""What the `files` partition notes, read back: by file group, and compared with the slices of a table."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from hudi_index.coverage.files import (
    IndexedSlice,
    columns_of_notes,
    entries_of,
    match_slices,
    parse_indexed_slices,
)
from hudi_index.coverage.identities import identity_columns
from hudi_index.entries.schema import ENTRY_SCHEMA
from hudi_index.table.slices import FileGroupId, FileSlice

BASE = FileSlice(FileGroupId("eu", "a"), "a_0_1.parquet", base_size=10, latest_instant="1")
LOGGED = FileSlice(
    FileGroupId("us", "a"),
    "a_0_1.parquet",
    (".a_2.log.1_0-0-0", ".a_3.log.1_0-0-0"),
    base_size=10,
    log_sizes=(5, 6),
    log_times=(7, 8),
    latest_instant="3",
    as_of="4",
)
LOGS_ONLY = FileSlice(FileGroupId("", "c"), None, (".c_2.log.1_0-0-0",), log_sizes=(5,), latest_instant="2")
SLICES = (BASE, LOGGED, LOGS_ONLY)


def note(file_slice: FileSlice, number: int) -> IndexedSlice:
    return IndexedSlice.of(file_slice, number=number, row_count=100 + number, schema_id="s")


NOTED = {file_slice.group: note(file_slice, number) for number, file_slice in enumerate(SLICES)}


def test_what_is_noted_is_read_back() -> None:
    known = parse_indexed_slices(entries_of(NOTED.values()))
    assert dict(known) == NOTED
    assert len(known) == 3
    assert BASE.group in known
    assert FileGroupId("eu", "b") not in known
    assert known.get(FileGroupId("eu", "b")) is None


def test_nothing_is_noted_in_an_empty_partition() -> None:
    known = parse_indexed_slices(ENTRY_SCHEMA.empty_table())
    assert not known
    assert known.uncovered(SLICES) == list(SLICES)
    assert known.gone(SLICES) == []


def test_entries_of_several_chunks_are_one() -> None:
    tables = [entries_of([each]) for each in NOTED.values()]
    assert dict(parse_indexed_slices(pa.concat_tables(tables))) == NOTED


@pytest.mark.parametrize(
    "other",
    [
        replace(BASE, base_file="a_0_2.parquet"),
        replace(BASE, log_files=(".a_2.log.1_0-0-0",), log_sizes=(5,)),
        replace(BASE, as_of="4"),
        replace(LOGGED, log_sizes=(5, 7)),
        replace(LOGGED, log_times=(7, 9)),
        replace(LOGGED, log_files=LOGGED.log_files[:1], log_sizes=(5,), log_times=(7,)),
        replace(LOGGED, as_of=None),
        replace(LOGGED, unsettled="x"),
        replace(LOGS_ONLY, base_file="c_0_1.parquet"),
        replace(BASE, group=FileGroupId("eu", "z")),
    ],
    ids=str,
)
def test_slice_that_differs_in_anything_is_not_covered(other: FileSlice) -> None:
    known = parse_indexed_slices(entries_of(NOTED.values()))
    current = [other, *(file_slice for file_slice in SLICES if file_slice.group != other.group)]
    assert known.uncovered(current) == [other]
    for file_slice in current:
        is_same = file_slice.group in NOTED and NOTED[file_slice.group].identity == file_slice.identity
        assert is_same == (file_slice is not other)


def test_file_group_that_left_is_gone() -> None:
    known = parse_indexed_slices(entries_of(NOTED.values()))
    assert known.gone([LOGGED]) == [LOGS_ONLY.group, BASE.group]
    assert known.uncovered([LOGGED]) == []


@pytest.mark.parametrize("changed", [None, *SLICES], ids=["nothing", "base", "logged", "logs only"])
@pytest.mark.parametrize("file_slices", [1, 3])
def test_noted_slices_are_found_in_any_order_and_in_any_pieces(
    file_slices: int, changed: FileSlice | None
) -> None:
    notes = [note(file_slice, number) for number, file_slice in enumerate(SLICES)]
    entries = (
        entries_of(notes) if file_slices == 1 else pa.concat_tables(entries_of([each]) for each in notes)
    )
    noted = columns_of_notes(entries)
    now = [
        replace(
            file_slice,
            log_files=(*file_slice.log_files, ".x_9.log.1_0-0-0"),
            log_sizes=(*file_slice.log_sizes, 1),
        )
        if file_slice is changed
        else file_slice
        for file_slice in SLICES
    ]
    extra = FileSlice(FileGroupId("eu", "new"), "new_0_1.parquet")
    for current in (now, now[::-1], now[1:], [*now, extra], [extra, *now], [extra], []):
        rows, places = match_slices(noted, identity_columns(current))
        found = [
            (notes[row].identity, current[place].identity) for row, place in zip(rows, places, strict=True)
        ]
        assert all(one == other for one, other in found)
        same = {file_slice.identity for file_slice in current} & {each.identity for each in notes}
        assert {identity for identity, _ in found} == same
        assert len(found) == len(same)
