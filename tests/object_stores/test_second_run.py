"""Some tests of store, catalog and lifecycle once more, in an object store; `make test-s3` runs them all."""

from __future__ import annotations

import os
import subprocess
import sys

SAMPLE = [
    "tests/engine/catalog/test_index_catalog.py::test_crash_at_every_point_leaves_old_or_new_and_later_changes_work",
    "tests/engine/catalog/test_index_catalog.py::test_change_overtaken_by_others_keeps_all_and_publishes_the_newest",
    "tests/store/test_leases.py",
    "tests/lifecycle/test_create_all.py::test_death_leaves_all_building_and_creating_again_starts_over",
    "tests/lifecycle/test_create_all.py::test_conflict_leaves_nothing",
    "tests/lifecycle/test_compaction.py::test_compact_takes_what_is_due_and_with_force_what_is_named",
    "tests/lifecycle/test_status.py",
]


def test_sample_passes_in_an_object_store() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-q",
        "-m",
        "not slow and not spark",
        "--tb=short",
        "-rp",
    ]
    done = subprocess.run(
        [*command, "-p", "no:cacheprovider", *SAMPLE],
        env={**os.environ, "HUDI_INDEX_TEST_STORE": "s3"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    for each in SAMPLE:
        assert f"PASSED {each}" in done.stdout, "nothing of it is left"
