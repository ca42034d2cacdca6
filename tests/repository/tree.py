"""Where the repository is, and which files are its own."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_NOT_OURS = {"build", "dist", "metastore_db", "spark-warehouse"}
"""What tools leave at the top; a package may be called `build`."""


def own_files(*suffixes: str) -> list[Path]:
    """The files that belong to the repository, those with a given suffix if any is given."""
    return [path for path in _all_files() if not suffixes or path.suffix in suffixes]


def _all_files() -> list[Path]:
    if shutil.which("git") and (ROOT / ".git").exists():
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return sorted(path for name in listed.split("\0") if (path := ROOT / name).is_file())
    # An unpacked archive, or a machine without git.
    top = [
        path
        for path in ROOT.iterdir()
        if path.name not in _NOT_OURS and (not path.name.startswith(".") or path.name == ".ci")
    ]
    return sorted(
        path
        for entry in top
        for path in ([entry] if entry.is_file() else entry.rglob("*"))
        if path.is_file()
        and "__pycache__" not in path.parts
        and not any(p.endswith(".egg-info") for p in path.parts)
    )
