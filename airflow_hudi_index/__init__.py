"""Airflow provider of hudi_index."""
