"""Rows of a plan as Arrow batches, without a JVM.

row_groups    a base file, row group by row group
row_filter    for which rows a predicate is true, as Spark says
membership    which values of a column meet a condition
texts         patterns over texts, by RE2
batches       all of it: plan, read what it keeps, filter
"""

from hudi_index.scan.batches import ScanReport, scan

__all__ = ["ScanReport", "scan"]
