"""Operators, one per verb of the lifecycle."""

from __future__ import annotations

from airflow_hudi_index.operators.compact import HudiCompactIndexesOperator
from airflow_hudi_index.operators.create import HudiCreateIndexOperator
from airflow_hudi_index.operators.drop import HudiDropIndexOperator
from airflow_hudi_index.operators.job import HudiIndexJobOperator
from airflow_hudi_index.operators.maintain import HudiMaintainIndexesOperator
from airflow_hudi_index.operators.repair import HudiRepairIndexesOperator
from airflow_hudi_index.operators.upsert import HudiIndexedUpsertOperator
from airflow_hudi_index.operators.validate import HudiValidateIndexesOperator

__all__ = [
    "HudiCompactIndexesOperator",
    "HudiCreateIndexOperator",
    "HudiDropIndexOperator",
    "HudiIndexJobOperator",
    "HudiIndexedUpsertOperator",
    "HudiMaintainIndexesOperator",
    "HudiRepairIndexesOperator",
    "HudiValidateIndexesOperator",
]
