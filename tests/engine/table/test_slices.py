from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from hudi_index.errors import MissingSliceFileError
from hudi_index.table import FileGroupId, FileSlice
from hudi_index.table.slices import parse_base_file, parse_log_file

GROUP = FileGroupId("region=eu/day=1", "00000001-a794-49be-a22f-adb0106c26ba-0")
BASE = f"{GROUP.file_id}_1-29-68_20240101000000000.parquet"
LOG = f".{GROUP.file_id}_20240102000000000.log.1_0-3-4"


def test_names_are_taken_apart() -> None:
    base = parse_base_file(BASE, 7)
    log = parse_log_file(LOG, 8)
    assert base is not None
    assert (base.file_id, base.instant, base.size) == (GROUP.file_id, "20240101000000000", 7)
    assert log is not None
    assert (log.file_id, log.instant, log.version, log.token) == (
        GROUP.file_id,
        "20240102000000000",
        1,
        "0-3-4",
    )


@pytest.mark.parametrize(
    "name", [f"{LOG}.cdc", f".{BASE}.crc", ".hoodie_partition_metadata", "notes.parquet", "a_b_c.orc"]
)
def test_other_names_are_neither(name: str) -> None:
    assert parse_base_file(name, 1) is None
    assert parse_log_file(name, 1) is None


def test_logs_apply_by_instant_then_version_then_token() -> None:
    names = [".g_3.log.1_0-1-1", ".g_2.log.10_0-1-1", ".g_2.log.2_0-1-2", ".g_2.log.2_0-1-1"]
    parsed = [log for log in (parse_log_file(name, 1) for name in names) if log]
    assert [log.name for log in sorted(parsed, key=lambda log: log.order)] == list(reversed(names))


def test_slice_of_an_identity_reads_the_same_files() -> None:
    file_slice = FileSlice(
        GROUP, BASE, (LOG,), 70, (8,), base_instant="20240101000000000", latest_instant="20240102000000000"
    )
    again = FileSlice.of_identity(file_slice.identity)
    assert again == replace(file_slice, base_size=0)
    assert again.identity == file_slice.identity
    assert hash(again.identity) == hash(file_slice.identity)
    assert again.paths == (f"region=eu/day=1/{BASE}", f"region=eu/day=1/{LOG}")
    assert pickle.loads(pickle.dumps(file_slice)) == file_slice


@pytest.mark.parametrize(
    "change", [{"log_sizes": (9,)}, {"log_files": (), "log_sizes": ()}, {"as_of": "2"}, {"unsettled": "x"}]
)
def test_identity_tells_slices_of_other_rows_apart(change: dict[str, object]) -> None:
    file_slice = FileSlice(GROUP, BASE, (LOG,), 70, (8,))
    assert replace(file_slice, **change).identity != file_slice.identity  # type: ignore[arg-type]


def test_unsettled_slice_cannot_be_read_again() -> None:
    file_slice = FileSlice(GROUP, BASE, (LOG,), 70, (8,), unsettled="x")
    with pytest.raises(MissingSliceFileError, match="still being written"):
        FileSlice.of_identity(file_slice.identity)
