"""Which file slices a query has to read: predicate in, the smallest set proven safe out, with the reasons."""

from hudi_index.planner.plan import Answer, ScanPlan, plan

__all__ = ["Answer", "ScanPlan", "plan"]
