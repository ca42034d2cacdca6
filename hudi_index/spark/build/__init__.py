"""Building and maintaining on Spark: the executor, slices that only Hudi reads, expressions."""
