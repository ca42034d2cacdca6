"""A Hudi table without a JVM: its configuration, timeline, current file slices and their rows.

`Snapshot.load(storage)` is the way in. File slices are listed here by Hudi's rules, rows are merged by
hudi-rs, and whatever hudi-rs can't merge right is left to Spark by `slice_reader_of`. Everything that
travels to executors can be pickled.
"""

from hudi_index.table.config import KeyGenerator, MergeMode, TableConfig, TableType
from hudi_index.table.footer import ColumnStatistics
from hudi_index.table.partitions import UnreadablePartitionValueError
from hudi_index.table.plain_merge import HeldFiles, HeldLogs
from hudi_index.table.readers import ReaderChoice, SliceReader, slice_reader_of
from hudi_index.table.record_keys import RECORD_KEY, record_key_field
from hudi_index.table.rows import ROW_POSITION, SliceRows, TableReader
from hudi_index.table.schema import TableSchema
from hudi_index.table.shape import TableShape
from hudi_index.table.slices import FileGroupId, FileSlice, SliceIdentity
from hudi_index.table.snapshot import Snapshot
from hudi_index.table.timeline import Instant, Timeline

__all__ = [
    "RECORD_KEY",
    "ROW_POSITION",
    "ColumnStatistics",
    "FileGroupId",
    "FileSlice",
    "HeldFiles",
    "HeldLogs",
    "Instant",
    "KeyGenerator",
    "MergeMode",
    "ReaderChoice",
    "SliceIdentity",
    "SliceReader",
    "SliceRows",
    "Snapshot",
    "TableConfig",
    "TableReader",
    "TableSchema",
    "TableShape",
    "TableType",
    "Timeline",
    "UnreadablePartitionValueError",
    "record_key_field",
    "slice_reader_of",
]
