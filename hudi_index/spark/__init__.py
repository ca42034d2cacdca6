"""Spark: sessions that speak Hudi, and the Java they run on. The only package that imports pyspark."""
