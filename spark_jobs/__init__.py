"""Spark jobs: one thin script per lifecycle verb, from arguments over the engine to a report.

Installed as `airflow_hudi_index.spark_jobs`, so that the provider always finds them; they import only the
engine, never Airflow.
"""
