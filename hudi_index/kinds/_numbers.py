"""File groups by the short number that some keys end with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa

    from hudi_index.kinds.protocol import CoveredGroup
    from hudi_index.table.slices import FileGroupId

__all__ = ["without_entry"]


def without_entry(keys: pa.ChunkedArray[Any], covered: Collection[CoveredGroup]) -> frozenset[FileGroupId]:
    """The covered file groups that none of the keys names."""
    # No part holds a line break, so this takes all but the last part.
    numbers = pc.unique(pc.replace_substring_regex(keys, r".*\$", ""))
    named = set(numbers.to_pylist())
    return frozenset(each.group for each in covered if str(each.number) not in named)
