"""What Airflow's provider manager is told about this distribution."""

from __future__ import annotations

from typing import Any

from hudi_index import __version__

__all__ = ["get_provider_info"]


def get_provider_info() -> dict[str, Any]:
    """The provider's description, by Airflow's `provider_info.schema.json`."""
    return {
        "package-name": "airflow-hudi-index",
        "name": "Hudi Index",
        "description": "Indexes for Apache Hudi tables as a managed lifecycle.",
        "versions": [__version__],
    }
