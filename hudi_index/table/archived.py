"""What Hudi has archived of a timeline (versions 8 and later): commits with their extra metadata."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow.parquet as pq

from hudi_index.table.damage import naming_table_file
from hudi_index.table.timeline import COMMIT_ACTIONS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from hudi_index.table.timeline import Timeline

__all__ = ["archived_extra_metadata_backwards"]


def archived_extra_metadata_backwards(timeline: Timeline) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Requested time and extra metadata of each archived commit, the latest file's first.

    Files are read one after the other, so that who finds what he looks for reads no more.
    """
    storage, folder = timeline.storage, timeline.config.history_folder
    names = [file.name for file in storage.list(folder) if file.name.endswith(".parquet")]
    # <first instant>_<last instant>_<level>.parquet
    for name in sorted(names, key=lambda each: each.split("_")[1:2], reverse=True):
        path = f"{folder}/{name}"
        with naming_table_file(storage, path), storage.open_input(path) as source:
            rows: list[Any] = pq.read_table(source, columns=["instantTime", "action", "metadata"]).to_pylist()
        for row in sorted(rows, key=lambda each: each["instantTime"], reverse=True):
            if row["action"] in COMMIT_ACTIONS and row["metadata"]:
                records: Any = fastavro.reader(BytesIO(row["metadata"]))
                metadata: Any = next(iter(records), {})
                yield row["instantTime"], metadata.get("extraMetadata") or {}
