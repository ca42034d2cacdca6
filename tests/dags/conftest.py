"""The DAGs run in the same Airflow as the provider's tests."""

from __future__ import annotations

from tests.provider.conftest import airflow_home

__all__ = ["airflow_home"]
