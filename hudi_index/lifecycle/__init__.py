"""The life of indexes: create, maintain, compact, rebuild, drop, and how they are. One function per verb."""

from hudi_index.lifecycle.compact import compact
from hudi_index.lifecycle.create import create, create_all, rebuild
from hudi_index.lifecycle.drop import drop
from hudi_index.lifecycle.executor import Executor
from hudi_index.lifecycle.local_executor import LocalExecutor
from hudi_index.lifecycle.maintain import maintain
from hudi_index.lifecycle.repair import RepairReport, repair
from hudi_index.lifecycle.state import Kept
from hudi_index.lifecycle.status import IndexStatus, TableStatus, status

__all__ = [
    "Executor",
    "IndexStatus",
    "Kept",
    "LocalExecutor",
    "RepairReport",
    "TableStatus",
    "compact",
    "create",
    "create_all",
    "drop",
    "maintain",
    "rebuild",
    "repair",
    "status",
]
