"""Where entries live: a Hudi merge-on-read table of sorted records, its commits, compaction and cleaning.

What an entry means is not known here; `docs/metadata-table.md` gives the format.
"""

from hudi_index.metadata_table.commit import Transaction
from hudi_index.metadata_table.commit_metadata import TableState, WriteStat
from hudi_index.metadata_table.compaction import DueRule, compact_slice
from hudi_index.metadata_table.ledger import WriterId
from hudi_index.metadata_table.reader import Reader
from hudi_index.metadata_table.table import MetadataTable, PartitionStatus, Settings
from hudi_index.metadata_table.view import ShardSlice, View
from hudi_index.metadata_table.writer import ShardWriter

__all__ = [
    "DueRule",
    "MetadataTable",
    "PartitionStatus",
    "Reader",
    "Settings",
    "ShardSlice",
    "ShardWriter",
    "TableState",
    "Transaction",
    "View",
    "WriteStat",
    "WriterId",
    "compact_slice",
]
