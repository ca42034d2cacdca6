"""An Airflow of the test run's own: a home that is gone afterwards, SQLite, this repository's DAGs.

Airflow reads its settings when it is first imported, so the `conftest.py` of each folder that needs it
imports this module before anything else does.
"""

from __future__ import annotations

import atexit
import base64
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

from hudi_index.spark.runtime.session import SHORT_RUN

ROOT = Path(__file__).resolve().parents[2]
HOME = Path(tempfile.mkdtemp(prefix="airflow-home-"))
PRISTINE = HOME / "pristine.db"
"""The database as it was made, for an Airflow of other processes."""
FEW_TASKS = {"spark.sql.shuffle.partitions": "2", "spark.default.parallelism": "2"}


def bundles(**folders: Path) -> str:
    """Folders of DAGs, as Airflow's setting."""
    classpath = "airflow.dag_processing.bundles.local.LocalDagBundle"
    return json.dumps(
        [
            {"name": name, "classpath": classpath, "kwargs": {"path": str(folder)}}
            for name, folder in folders.items()
        ]
    )


SETTINGS = {
    "AIRFLOW_HOME": str(HOME),
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
    "AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": bundles(
        **{"dags-folder": ROOT / "dags", "tests": ROOT / "tests" / "provider" / "dags"}
    ),
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "AIRFLOW__LOGGING__LOGGING_LEVEL": "WARNING",
    "AIRFLOW__API_AUTH__JWT_SECRET": "tests " * 12,
    # Of services that start together one writes the settings file with its key; one was seen without a key.
    "AIRFLOW__CORE__FERNET_KEY": base64.urlsafe_b64encode(b"tests of this machine's own kind").decode(),
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{HOME / 'airflow.db'}",
    "AIRFLOW_CONN_HUDI_INDEX_DEFAULT": json.dumps(
        {"conn_type": "hudi_index", "extra": {"spark_conf": {**SHORT_RUN, **FEW_TASKS}}}
    ),
    "HUDI_INDEX_TABLE": str(HOME / "watched" / "trips_mor"),
    # `airflow` and `spark-submit` are started by name.
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
}


def prepare() -> None:
    """Set all of it, once."""
    if "airflow" in sys.modules:
        raise RuntimeError("Airflow was imported before it was told where its home is")
    os.environ.update(SETTINGS)
    atexit.register(shutil.rmtree, HOME, ignore_errors=True)


prepare()
