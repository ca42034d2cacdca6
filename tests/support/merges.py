"""Who merges the logs of a slice: the engine itself, where they are plain, or hudi-rs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index.table import plain_merge, rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa
    import pytest

__all__ = ["count_merges"]


def count_merges(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each merge from now on was done without hudi-rs."""
    found: list[bool] = []
    merge = plain_merge.merge_plainly

    def counted(*arguments: Any) -> Iterator[pa.RecordBatch] | None:
        merged = merge(*arguments)
        found.append(merged is not None)
        return merged

    monkeypatch.setattr(rows, "merge_plainly", counted)
    return found
