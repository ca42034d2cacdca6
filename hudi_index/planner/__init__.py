"""Which file slices a query has to read: predicate in, the smallest set proven safe out, with the reasons."""

from hudi_index.planner.plan import files_to_query, plan
from hudi_index.planner.scan_plan import Answer, ScanPlan

__all__ = ["Answer", "ScanPlan", "files_to_query", "plan"]
