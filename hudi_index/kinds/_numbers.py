"""File groups by the short number that some keys end with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Collection

    import numpy as np
    import numpy.typing as npt

    from hudi_index.kinds.protocol import CoveredGroup
    from hudi_index.table.slices import FileGroupId

__all__ = ["numbers_in", "without_entry"]


def without_entry(keys: pa.ChunkedArray[Any], covered: Collection[CoveredGroup]) -> frozenset[FileGroupId]:
    """The covered file groups that none of the keys names."""
    named = set(numbers_in(keys).tolist())
    return frozenset(each.group for each in covered if each.number not in named)


def numbers_in(keys: pa.ChunkedArray[Any]) -> npt.NDArray[np.int64]:
    """The numbers of file groups that keys end with."""
    # No part holds a line break, so this takes all but the last part.
    numbers: Any = pc.unique(pc.replace_substring_regex(keys, r".*\$", ""))
    found: npt.NDArray[np.int64] = numbers.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found
