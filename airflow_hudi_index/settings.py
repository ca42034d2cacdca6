"""Section `[hudi_index]` of Airflow's configuration, and where a task keeps its files."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

from airflow.providers.common.compat.sdk import conf

from airflow_hudi_index.arguments import check_number

__all__ = ["SECTION", "poll_interval", "report_url", "state_folder", "task_folder", "task_key"]

SECTION = "hudi_index"
_LONGEST_NAME = 180
"""File systems take 255 bytes, and a digest follows."""


def state_folder() -> Path:
    """Where local jobs, their logs and reports are; workers, triggerers and API servers must all see it."""
    chosen = conf.get(SECTION, "state_folder", fallback="")
    if chosen:
        return Path(chosen).expanduser()
    return Path(os.environ.get("AIRFLOW_HOME", "~/airflow")).expanduser() / "hudi_index"


def poll_interval() -> float:
    """Seconds between two looks of sensors and triggers."""
    chosen = float(conf.getfloat(SECTION, "poll_interval", fallback=5.0))
    return float(check_number(f"[{SECTION}] poll_interval", chosen))


def task_key(task_instance: Any) -> tuple[str, str, str, str]:
    """What names a task instance whatever the try: DAG, run, task, map index."""
    index = getattr(task_instance, "map_index", -1)
    return (
        str(task_instance.dag_id),
        str(task_instance.run_id),
        str(task_instance.task_id),
        str(-1 if index is None else index),
    )


def task_folder(key: tuple[str, str, str, str]) -> Path:
    """The folder of a task instance. Ids hold characters that no file name should; two never share one."""
    return state_folder().joinpath(*(_file_name(part) for part in key))


def _file_name(part: str) -> str:
    name = re.sub(r"^\.", "%2E", quote(part, safe="+:@=~ ,"))
    if len(name) <= _LONGEST_NAME:
        return name
    # "%~" is no quoted character, so no other id has this name.
    return f"{name[:_LONGEST_NAME]}%~{hashlib.sha256(part.encode()).hexdigest()}"


def report_url(key: tuple[str, str, str, str], file: str) -> str:
    """Where the API server shows a file of a task's folder."""
    base = str(conf.get("api", "base_url", fallback="") or "").rstrip("/")
    return "/".join([base, "hudi-index", "reports", *(quote(part, safe="") for part in key), file])
