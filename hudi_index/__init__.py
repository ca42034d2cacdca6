"""Indexes for Apache Hudi tables."""
