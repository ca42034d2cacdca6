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
    if any(piece.log_files for piece in slices):
        lists: dict[str, Any] = {
            "logFiles": pa.array([piece.log_files for piece in slices], texts),
            "logFileSizes": pa.array([piece.log_sizes for piece in slices], numbers),
            "logFileTimes": pa.array([piece.log_times for piece in slices], numbers),
        }
    else:
        as_any: Any = pa.ListArray
        none = as_any.from_arrays(pa.array(np.zeros(len(slices) + 1, np.int32)), pa.array([], pa.string()))
        lists = dict.fromkeys(("logFiles", "logFileSizes", "logFileTimes"), none)
    return {
        "partitionPath": pa.array([piece.group.partition_path for piece in slices], pa.string()),
        "fileId": pa.array([piece.group.file_id for piece in slices], pa.string()),
        "baseFile": pa.array([piece.base_file for piece in slices], pa.string()),
        "asOf": pa.array([piece.as_of for piece in slices], pa.string()),
        "settled": pa.array([piece.unsettled is None for piece in slices], pa.bool_()),
        **lists,
    }
