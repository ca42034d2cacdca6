"""Which file slices a query has to read: predicate in, the smallest set proven safe out, with the reasons.

`scan` reads them.
"""

from hudi_index.planner.plan import Answer, ScanPlan, files_to_query, plan
from hudi_index.planner.scan import ScanReport, scan

__all__ = ["Answer", "ScanPlan", "ScanReport", "files_to_query", "plan", "scan"]
