"""Airflow provider of `hudi_index`.

Airflow imports this package in every one of its processes, so nothing heavy is imported at its modules'
top: no pyspark, no pyarrow, no hudi. `airflow_hudi_index.spark_jobs` is the repository's `spark_jobs/`.
"""
