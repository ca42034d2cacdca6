"""What every file of the repository has to keep to."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, own_files

# Written so that this file does not match itself.
REGISTRY_HOST = re.compile(
    r"pypi[.]org|pythonhosted[.]org|maven[.]org|maven[.]apache[.]org|repository[.]apache[.]org"
    r"|https?://[^/\s]*(?:artifact|nexus|mirror|registry)",
    re.IGNORECASE,
)
MACHINE_PATH = re.compile(r"(?<![\w./-])/(?:root|work|home/\w+|Users/\w+)/(?=\w)")


def texts() -> list[tuple[Path, str]]:
    found = []
    for path in own_files():
        data = path.read_bytes()
        if b"\0" not in data:
            found.append((path.relative_to(ROOT), data.decode("utf-8")))
    return found


@pytest.mark.parametrize("pattern", [REGISTRY_HOST, MACHINE_PATH], ids=["registry host", "machine path"])
def test_no_file_names_a_registry_or_a_machine(pattern: re.Pattern[str]) -> None:
    found = [
        f"{path}:{number}: {line.strip()}"
        for path, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]

    assert found == []


def test_licence_is_the_one_that_is_declared() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert 'license = "Apache-2.0"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_ci_script_is_executable() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)
