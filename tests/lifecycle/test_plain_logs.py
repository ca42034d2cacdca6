"""Indexes over base files and plain logs, whatever comes after what: maintained as if they were built now."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index import IndexedTable
from tests.support.entries import check_indexes
from tests.support.tables import Fabricated, schema_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COLUMNS = schema_of(
    pa.field("id", pa.string(), nullable=False),
    pa.field("ts", pa.int64()),
    pa.field("region", pa.string()),
    pa.field("name", pa.string()),
    pa.field("n", pa.int32()),
)
STATEMENTS = (
    "CREATE INDEX records ON t USING record_index (id)",
    "CREATE INDEX names ON t (name)",
    "CREATE INDEX numbers ON t USING bitmap (n)",
    "CREATE INDEX grams ON t USING ngram (name)",
    "CREATE INDEX stats ON t USING column_stats (ts, n)",
)
MODES = (
    {"hoodie.record.merge.mode": "EVENT_TIME_ORDERING", "hoodie.table.ordering.fields": "ts"},
    {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"},
)
ROWS = st.fixed_dictionaries(
    {
        # Few, so that many stand several times in one file.
        "id": st.sampled_from([f"k{number}" for number in range(5)]),
        "ts": st.integers(0, 3),
        "region": st.just("eu"),
        "name": st.one_of(st.none(), st.sampled_from(["abc", "abcd", ""])),
        "n": st.one_of(st.none(), st.integers(0, 3)),
    }
)
BASE = st.lists(ROWS, min_size=1, max_size=6)
WRITES = st.dictionaries(
    st.sampled_from(["a", "b", "c"]), st.tuples(st.booleans(), BASE), min_size=1, max_size=3
)
"""What one commit writes: by file group whether it begins a new slice or is a log, and the rows."""


def instant(number: int) -> str:
    return f"202401{number + 1:02d}000000000"


@settings(max_examples=settings().max_examples // 3)
@given(
    first=st.fixed_dictionaries(dict.fromkeys("abc", BASE)),
    commits=st.lists(WRITES, min_size=1, max_size=4),
    mode=st.sampled_from(MODES),
)
def test_entries_are_those_of_a_rebuild(
    first: Mapping[str, list[Any]], commits: Sequence[Mapping[str, tuple[bool, list[Any]]]], mode: Any
) -> None:
    with TemporaryDirectory() as folder:
        table = Fabricated(Path(folder), table_type="MERGE_ON_READ", properties=mode, columns=COLUMNS)
        for file_id, rows in first.items():
            table.base_file("eu", file_id, instant(0), rows)
        table.commit(instant(0))
        indexed = IndexedTable.open(table.path)
        indexed.create_all(STATEMENTS)
        for number, writes in enumerate(commits, 1):
            for file_id, (begins, rows) in writes.items():
                if begins:
                    table.base_file("eu", file_id, instant(number), rows)
                else:
                    table.avro_log("eu", file_id, instant(number), rows)
            table.commit(instant(number), "deltacommit")
            indexed.maintain()
            check_indexes(indexed.storage)
