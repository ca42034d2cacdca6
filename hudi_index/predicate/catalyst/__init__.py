"""Catalyst's trees as bound expressions, and what Spark made of an index's expression."""
