"""Statistics of whole partitions: merged from file groups, used only while they are of exactly those."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.catalog.definition import IndexDefinition
from hudi_index.entries.schema import KEY
from hudi_index.kinds import SliceContext, describe, summary_of
from hudi_index.kinds.partition_stats import PartitionStats
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.table import FileGroupId
from tests.engine.kinds.laws import content_of, entries_of, is_in, prune
from tests.engine.kinds.rows import (
    COLUMNS,
    NAN,
    TYPES,
    Slice,
    batches_of,
    definition_of,
    domains,
    kind_over,
    on,
    rows_of,
    slice_of,
    slices,
)


def stats_over(*columns: str) -> PartitionStats:
    found = summary_of(definition_of("column_stats", *columns), TYPES)
    assert isinstance(found, PartitionStats)
    return found


def merged(column: str, table: list[Slice]) -> pa.Table:
    return stats_over(column).merge(entries_of(kind_over("column_stats", column), column, table))


def refute(
    column: str, table: list[Slice], domain: Domain, current: list[Slice] | None = None
) -> set[FileGroupId]:
    covered = table if current is None else current
    return set(prune(stats_over(column), on(column, domain), merged(column, table), covered))


@pytest.mark.parametrize("column", COLUMNS)
def test_no_row_is_lost(column: str) -> None:
    @settings(max_examples=settings().max_examples // 5)
    @given(slices(column), domains(column), st.sets(st.integers(0, 3)))
    def check(table: list[Slice], domain: Domain, gone: set[int]) -> None:
        covered = [file_slice for place, file_slice in enumerate(table) if place not in gone]
        found = refute(column, table, domain, covered)
        holding = {
            file_slice.group
            for file_slice in table
            if file_slice.holds(lambda row: domain.contains(row.value))
        }
        assert not found & holding
        assert found <= {file_slice.group for file_slice in covered}

    check()


def test_keys_and_counts() -> None:
    table = [slice_of(0, rows_of(1, None, 5)), slice_of(1, rows_of(-3)), slice_of(3, rows_of(None))]

    found = content_of(stats_over("number"), merged("number", table))  # type: ignore[arg-type]

    assert list(found) == ["number$.", "number$2025/04/01"]
    assert found["number$2025/04/01"]["ColumnStatsMetadata"] == {
        "columnName": "number",
        "minValue": f"7{2**60 - 3:015x}",
        "maxValue": f"8{5:015x}",
        "valueCount": 4,
        "nullCount": 1,
        "nanCount": 0,
        "isExact": True,
        "groupCount": 2,
    }


def test_a_partition_is_refuted_as_a_whole() -> None:
    table = [slice_of(0, rows_of(1)), slice_of(1, rows_of(3)), slice_of(3, rows_of(9))]

    assert refute("number", table, Domain.points([9])) == {table[0].group, table[1].group}
    assert refute("number", table, Domain.points([2])) == {table[2].group}


# A14, #12953: statistics of a partition that was deleted and made again pruned its new rows.
def test_other_file_groups_than_were_merged_are_not_refuted() -> None:
    table, wanted = [slice_of(0, rows_of(1)), slice_of(1, rows_of(3))], Domain.points([9])
    grown = replace(table[1], rows=tuple(rows_of(9, 9)))
    other = Slice(SliceContext(FileGroupId("2025/04/01", "new"), 12), tuple(rows_of(9)))

    assert refute("number", table, wanted) == {file_slice.group for file_slice in table}
    assert not refute("number", table, wanted, [table[0]])
    assert not refute("number", table, wanted, [table[0], grown])
    assert not refute("number", table, wanted, [grown])
    assert not refute("number", table, wanted, [*table, other])


# A2, #18754: one NaN made bounds of 0.0, and partition statistics dropped rows.
def test_nan_is_the_largest_value_of_its_partition() -> None:
    table = [slice_of(0, rows_of(5.0, NAN)), slice_of(1, rows_of(7.0))]

    assert not refute("real", table, Domain.points([7.0]))
    assert not refute("real", table, Domain.of([Range.above(7.0)]))
    assert refute("real", table, Domain.of([Range.below(5.0)])) == {file_slice.group for file_slice in table}


def test_an_uncertain_file_group_leaves_its_partition_without_an_entry() -> None:
    kind = kind_over("column_stats", "number")
    entries = entries_of(kind, "number", [slice_of(0, rows_of(1)), slice_of(3, rows_of(1))])
    payload = entries.column("ColumnStatsMetadata").to_pylist()
    payload[0]["nullCount"] = None  # type: ignore[index]  # no null among them
    column = pa.array(payload, entries.schema.field("ColumnStatsMetadata").type)

    found = stats_over("number").merge(entries.set_column(2, "ColumnStatsMetadata", column))

    assert found.column(KEY).to_pylist() == ["number$."]


def test_unknown_bounds_stay_unknown() -> None:
    kind = kind_over("column_stats", "number")
    table = [slice_of(0, rows_of(1)), slice_of(1, rows_of(2))]
    entries = entries_of(kind, "number", table)
    payload = entries.column("ColumnStatsMetadata").to_pylist()
    payload[0]["minValue"] = None  # type: ignore[index]  # no null among them
    column = pa.array(payload, entries.schema.field("ColumnStatsMetadata").type)

    found = stats_over("number").merge(entries.set_column(2, "ColumnStatsMetadata", column))

    assert not prune(stats_over("number"), on("number", Domain.points([9])), found, table)
    assert prune(stats_over("number"), on("number", Domain.null()), found, table)


def test_source_ranges_find_the_partitions_entries_and_no_others() -> None:
    kind = kind_over("column_stats", "number")
    near = Slice(SliceContext(FileGroupId("2025/04/01/x", "f"), 12), ())
    entries = [
        key
        for file_slice in (slice_of(0, []), slice_of(1, []), near, slice_of(3, []))
        for key in describe(kind, file_slice.context, batches_of(file_slice, "number"))
        .column(KEY)
        .to_pylist()
    ]
    ((part, wanted),) = stats_over("number").source_ranges("2025/04/01")

    assert part == "number"
    assert [key for key in entries if is_in(str(key), wanted)] == entries[:2]


def test_only_statistics_of_columns_are_merged() -> None:
    functional = IndexDefinition("f", "column_stats", ("text",), "upper(text)")

    assert summary_of(functional, {"upper(text)": pa.string()}) is None
    assert summary_of(definition_of("bitmap", "text"), TYPES) is None


def test_travels() -> None:
    kind = stats_over("number", "text")

    assert pickle.loads(pickle.dumps(kind)) == kind
