"""One Airflow for all tests of the provider and of the DAGs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from tests.support import airflow_home as home  # first: it says where Airflow's home is


@pytest.fixture(scope="session")
def airflow_home() -> Any:
    """The home with its database made."""
    from airflow.utils import db

    if home.PRISTINE.exists():
        # Two folders of tests use this fixture, each by a copy of its own.
        return home.HOME
    db.initdb()
    # By SQLite: what it has written lately is not in the file yet.
    with (
        closing(sqlite3.connect(home.HOME / "airflow.db")) as made,
        closing(sqlite3.connect(home.PRISTINE)) as copy,
    ):
        made.backup(copy)
    return home.HOME
