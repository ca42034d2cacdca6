"""File groups by the short number that some keys end with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries.schema import KEY
from hudi_index.kind_parts.protocol import Question

if TYPE_CHECKING:
    import numpy.typing as npt

    from hudi_index.coverage.covered import Mask

__all__ = ["NumberedQuestion", "numbers_of"]


def numbers_of(keys: Any) -> npt.NDArray[np.int64]:
    """The number of the file group that each key ends with."""
    # No part holds a line break, so this takes all but the last part.
    numbers: Any = pc.replace_substring_regex(keys, r".*\$", "")
    found: npt.NDArray[np.int64] = numbers.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return found


class NumberedQuestion(Question):
    """A file group without an entry in the ranges holds no matching row."""

    def refute(self, entries: pa.Table) -> Mask:
        """The file groups that no key names."""
        named = numbers_of(pc.unique(entries.column(KEY)))
        return ~np.isin(self.candidates.covered.numbers, named)
