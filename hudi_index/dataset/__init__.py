"""A table as a `pyarrow.dataset.Dataset`: DuckDB, Polars and DataFusion hand it the query's own filter.

expressions   Arrow's expressions as typed trees
literals      Arrow's constants as Spark's literals
filters       a filter as a predicate that indexes understand
scanner       the rows of one scan, filtered by Arrow
dataset       the dataset: plan by the filter, read what is kept, let Arrow filter
"""

from hudi_index.dataset.dataset import IndexedDataset, SliceFragment
from hudi_index.dataset.filters import ArrowFilter

__all__ = ["ArrowFilter", "IndexedDataset", "SliceFragment"]
