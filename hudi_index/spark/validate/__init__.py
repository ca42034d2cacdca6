"""Validation on Spark: content and query parity."""
