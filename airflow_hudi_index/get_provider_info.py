"""What Airflow's provider manager is told about this distribution."""

from __future__ import annotations

from typing import Any

from hudi_index import __version__

__all__ = ["get_provider_info"]

_NAME = "Hudi Index"


def get_provider_info() -> dict[str, Any]:
    """The provider's description, by Airflow's `provider_info.schema.json`."""
    return {
        "package-name": "airflow-hudi-index",
        "name": _NAME,
        "description": "Indexes for Apache Hudi tables as a managed lifecycle.",
        "versions": [__version__],
        "integrations": [
            {
                "integration-name": _NAME,
                "external-doc-url": "https://hudi.apache.org/docs/indexes",
                "tags": ["apache"],
            }
        ],
        "hooks": [_modules("hooks.hudi_index")],
        "operators": [
            _modules(*(f"operators.{verb}" for verb in ("create", "maintain", "compact", "validate", "drop")))
        ],
        "sensors": [_modules("sensors.commits", "sensors.freshness")],
        "triggers": [_modules("triggers.commits", "triggers.freshness", "triggers.jobs")],
        "connection-types": [_connection_type()],
        "extra-links": [
            f"airflow_hudi_index.links.{name}"
            for name in ("ValidationReportLink", "JobLogLink", "SparkUiLink")
        ],
        "config": {"hudi_index": _config()},
    }


def _modules(*names: str) -> dict[str, Any]:
    return {"integration-name": _NAME, "python-modules": [f"airflow_hudi_index.{name}" for name in names]}


def _connection_type() -> dict[str, Any]:
    def field(label: str, description: str, **schema: Any) -> dict[str, Any]:
        return {
            "label": label,
            "description": description,
            "schema": {"type": ["string", "null"], **schema},
        }

    return {
        "connection-type": "hudi_index",
        "hook-class-name": "airflow_hudi_index.hooks.hudi_index.HudiIndexHook",
        "hook-name": _NAME,
        "ui-field-behaviour": {
            "hidden-fields": ["schema", "port", "login", "password"],
            "relabeling": {"host": "Base path"},
            "placeholders": {"host": "/data/warehouse, or one table's path"},
        },
        "conn-fields": {
            "tables": field("Tables", 'Names with places, as JSON: {"trips": "/data/trips"}'),
            "allow_absolute_paths": {
                "label": "Allow absolute paths",
                "description": "Also tables outside the base path; if unsaid, only without a base path",
                "schema": {"type": ["boolean", "null"], "default": None},
            },
            "storage_conn_id": field(
                "Storage connection",
                "To the object store that holds the tables: of type aws, google_cloud_platform, wasb or adls",
            ),
            "storage_options": field(
                "Storage options", "How to reach the object store, as JSON, over the storage connection's"
            ),
            "run_mode": field(
                "Run jobs by",
                "local: a Spark session beside the worker. spark_submit: the Spark connection's",
                enum=["local", "spark_submit"],
                default="local",
            ),
            "spark_conn_id": field(
                "Spark connection", "For spark_submit; it must exist", default="spark_default"
            ),
            "spark_conf": field("Spark settings", "As JSON, for every job of this connection"),
            "cores": {
                "label": "Cores",
                "description": "Threads of a local Spark session",
                "schema": {"type": ["integer", "null"], "default": 2, "minimum": 1},
            },
        },
    }


def _config() -> dict[str, Any]:
    def option(description: str, kind: str, default: str, example: str | None = None) -> dict[str, Any]:
        return {
            "description": description,
            "version_added": "0.1.0",
            "type": kind,
            "example": example,
            "default": default,
        }

    return {
        "description": "Settings of the Hudi Index provider.",
        "options": {
            "state_folder": option(
                "Where local jobs, their logs and reports are; by default hudi_index under AIRFLOW_HOME. "
                "Workers, triggerers and API servers must all see it.",
                "string",
                "",
                "/opt/airflow/shared/hudi_index",
            ),
            "poll_interval": option("Seconds between two looks of sensors.", "float", "5.0"),
        },
    }
