"""Spark's own trees, taken from the JVM whole: filters, expressions and analysed plans."""
