from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hudi_index.errors import MissingSliceFileError
from hudi_index.storage import Storage
from hudi_index.table import (
    ColumnStatistics,
    FileGroupId,
    FileSlice,
    TableConfig,
    TableReader,
    TableSchema,
    TableShape,
)
from hudi_index.table.partitions import PartitionColumns
from tests.support.tables import schema_of

if TYPE_CHECKING:
    from pathlib import Path

NAME = "a_0-1-2_20240101000000000.parquet"
SLICE = FileSlice(FileGroupId("", "a"), NAME)


def reader_of(path: Path, schema: pa.Schema) -> TableReader:
    config = TableConfig.parse({"hoodie.table.version": "9"})
    table_schema = TableSchema(schema, schema)
    partitions = PartitionColumns.of(config, table_schema, [""])
    return TableReader(Storage.open(path), TableShape(config, table_schema, partitions), "")


def statistics_of(
    path: Path, table: pa.Table, columns: list[str], *, schema: pa.Schema | None = None, **options: Any
) -> dict[str, ColumnStatistics | None]:
    pq.write_table(table, path / NAME, **options)
    return reader_of(path, schema or table.schema).statistics(SLICE, columns)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (pa.int32(), [3, None, -5, 2]),
        (pa.int64(), [1 << 62, -(1 << 62)]),
        (pa.string(), ["b", "", "zürich", None, "日本"]),
        (pa.binary(), [b"\xff", b"\x00", None]),
        (pa.bool_(), [True, None]),
        (pa.date32(), [date(1969, 12, 31), date(2024, 2, 29)]),
        (pa.timestamp("us", tz="UTC"), [datetime(1901, 1, 1, 0, 0, 0, 1, tzinfo=timezone.utc), None]),
        (pa.timestamp("us"), [datetime(2024, 1, 1), datetime(1969, 1, 1)]),  # noqa: DTZ001
        (pa.decimal128(20, 4), [Decimal("-1.5000"), Decimal("0.0001"), None]),
        (pa.string(), [None, None]),
    ],
    ids=str,
)
def test_statistics_hold_over_all_row_groups(tmp_path: Path, kind: pa.DataType, values: list[Any]) -> None:
    found = statistics_of(tmp_path, pa.table({"c": pa.array(values, kind)}), ["c"], row_group_size=2)["c"]
    present = [value for value in values if value is not None]
    assert found is not None
    assert (found.null_count, found.value_count) == (len(values) - len(present), len(values))
    order = (lambda v: v.encode()) if pa.types.is_string(kind) else (lambda v: v)
    assert (found.minimum and found.minimum.as_py()) == min(present, key=order, default=None)
    assert (found.maximum and found.maximum.as_py()) == max(present, key=order, default=None)
    assert found.minimum is None or found.minimum.type == kind


@pytest.mark.parametrize(
    "array",
    [
        pa.array([1.0, float("nan")]),
        pa.array([1.0, 2.0], pa.float32()),
        pa.array([1, 2], pa.uint32()),
        pa.array([["a"], []]),
        pa.array([{"a": 1}]),
        pa.array([b"12", b"34"], pa.binary(2)),
    ],
    ids=lambda array: str(array.type),
)
def test_what_a_footer_cannot_prove_is_left_open(tmp_path: Path, array: pa.Array[Any]) -> None:
    assert statistics_of(tmp_path, pa.table({"c": array}), ["c", "d"]) == {"c": None, "d": None}


def test_int96_timestamps_prove_nothing(tmp_path: Path) -> None:
    table = pa.table({"c": pa.array([datetime(2024, 1, 1)], pa.timestamp("us"))})  # noqa: DTZ001
    assert statistics_of(tmp_path, table, ["c"], use_deprecated_int96_timestamps=True) == {"c": None}


def test_missing_statistics_prove_nothing(tmp_path: Path) -> None:
    assert statistics_of(tmp_path, pa.table({"c": [1]}), ["c"], write_statistics=False) == {"c": None}


def test_writer_that_may_cut_bounds_proves_nothing_of_strings(tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": ["x"], "n": [1]}), tmp_path / NAME)
    data = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(data.replace(b"parquet-cpp-arrow ", b"someone-elses-own "))
    reader = reader_of(tmp_path, schema_of(pa.field("c", pa.string()), pa.field("n", pa.int64())))
    found = reader.statistics(SLICE, ["c", "n"])
    assert found["c"] is None
    assert found["n"] is not None


def test_nested_leaf_counts_rows_without_the_struct_as_null(tmp_path: Path) -> None:
    array = pa.array([{"b": 5}, None, {"b": None}], pa.struct([pa.field("b", pa.int32())]))
    found = statistics_of(tmp_path, pa.table({"a": array}), ["a.b", "a.c", "a"])
    assert found["a.b"] is not None
    assert found["a.b"].null_count == 2
    assert found["a.b"].minimum == pa.scalar(5, pa.int32())
    assert (found["a.c"], found["a"]) == (None, None)


def test_column_of_another_type_in_the_table(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array([1], pa.int32()), "t": pa.array([1], pa.int32())})
    wanted = schema_of(pa.field("n", pa.int64()), pa.field("t", pa.string()), pa.field("new", pa.int32()))
    found = statistics_of(tmp_path, table, ["n", "t", "new"], schema=wanted)
    assert found["n"] == ColumnStatistics(pa.scalar(1, pa.int64()), pa.scalar(1, pa.int64()), 0, 1)
    assert found["t"] is None
    assert found["new"] == ColumnStatistics(None, None, 1, 1)


def test_slice_with_logs_is_not_described_by_its_footer(tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": [1]}), tmp_path / NAME)
    reader = reader_of(tmp_path, schema_of(pa.field("c", pa.int64())))
    logs = FileSlice(SLICE.group, NAME, (".a_20240102000000000.log.1_0-1-2",), 1, (1,))
    assert reader.statistics(logs, ["c"]) == {"c": None}


def test_missing_base_file_is_named(tmp_path: Path) -> None:
    reader = reader_of(tmp_path, schema_of(pa.field("c", pa.int64())))
    with pytest.raises(MissingSliceFileError, match=NAME):
        reader.row_count(SLICE)
