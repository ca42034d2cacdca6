"""The identities of many slices as columns, named as the index metadata names them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hudi_index.table.slices import FileSlice

__all__ = ["identity_columns"]


def identity_columns(slices: Sequence[FileSlice]) -> dict[str, Any]:
    """What slices are compared by, one row each; `settled` is false for one that equals no other."""
    texts, numbers = pa.list_(pa.string()), pa.list_(pa.int64())
    if any(file_slice.log_files for file_slice in slices):
        lists: dict[str, Any] = {
            "logFiles": pa.array([file_slice.log_files for file_slice in slices], texts),
            "logFileSizes": pa.array([file_slice.log_sizes for file_slice in slices], numbers),
            "logFileTimes": pa.array([file_slice.log_times for file_slice in slices], numbers),
        }
    else:
        as_any: Any = pa.ListArray
        none = as_any.from_arrays(pa.array(np.zeros(len(slices) + 1, np.int32)), pa.array([], pa.string()))
        lists = dict.fromkeys(("logFiles", "logFileSizes", "logFileTimes"), none)
    return {
        "partitionPath": pa.array([file_slice.group.partition_path for file_slice in slices], pa.string()),
        "fileId": pa.array([file_slice.group.file_id for file_slice in slices], pa.string()),
        "baseFile": pa.array([file_slice.base_file for file_slice in slices], pa.string()),
        "asOf": pa.array([file_slice.as_of for file_slice in slices], pa.string()),
        "settled": pa.array([file_slice.unsettled is None for file_slice in slices], pa.bool_()),
        **lists,
    }
