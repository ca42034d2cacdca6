"""Proof that indexes are right: pruned answers equal full ones, stored entries equal what the rows give.

validate    the verb; what it finds is a ValidationReport, as JSON, text or HTML page
in_process  the checks without Spark; on Spark they are in hudi_index.spark.validate.on_spark
"""

from hudi_index.validation.in_process import InProcess
from hudi_index.validation.report import ContentResult, IndexResult, QueryResult, ValidationReport
from hudi_index.validation.validate import Checks, Request, validate

__all__ = [
    "Checks",
    "ContentResult",
    "InProcess",
    "IndexResult",
    "QueryResult",
    "Request",
    "ValidationReport",
    "validate",
]
