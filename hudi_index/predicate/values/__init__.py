"""Spark's types, and sets of their values: what a literal is, how it casts, what a domain holds."""
