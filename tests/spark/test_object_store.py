"""The whole life of indexes on Spark over s3a. The connector is 280 MB, fetched once."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.object_store import BUCKET

if TYPE_CHECKING:
    from tests.support.object_store import ObjectStore

pytestmark = [pytest.mark.slow, pytest.mark.spark, pytest.mark.timeout(3600)]

PROGRAM = Path(__file__).with_name("store_lifecycle.py")


@pytest.mark.parametrize("kind", ["COPY_ON_WRITE", "MERGE_ON_READ"])
@pytest.mark.parametrize("version", ["6", "8", "9"])
def test_whole_life_over_s3a(object_store: ObjectStore, tmp_path: Path, version: str, kind: str) -> None:
    events = tmp_path / "events"
    events.mkdir()
    uri = f"s3a://{BUCKET}/spark life/{kind} {version}"
    done = subprocess.run(
        [sys.executable, str(PROGRAM), uri, version, kind, str(events)],
        input=json.dumps(object_store.options),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-8000:]}"
    (told,) = events.iterdir()
    recorded = told.read_text(encoding="utf-8")
    shown = {"Spark's pages": done.stdout, "the event log": recorded, "what was printed": done.stderr}
    for name in ("Spark's pages", "the event log"):
        assert "fs.s3a.secret.key" in shown[name]
        assert object_store.endpoint in shown[name]
    for name, text in shown.items():
        assert object_store.options["aws_secret_access_key"] not in text, name
        assert object_store.options["aws_access_key_id"] not in text, name
