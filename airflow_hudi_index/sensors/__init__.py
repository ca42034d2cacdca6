"""Sensors."""

from __future__ import annotations

from airflow_hudi_index.sensors.commits import HudiCommitSensor
from airflow_hudi_index.sensors.freshness import HudiIndexFreshSensor

__all__ = ["HudiCommitSensor", "HudiIndexFreshSensor"]
