"""The classes of Spark and Hudi as Java keeps them in memory: every Java of a test maps them from a file.

Reading and checking some twenty thousand classes is half of what a short Spark job does. The archive is made
once per environment and Java, by a small run of it all, and kept in the environment. It is for speed only: a
Java that it does not fit goes without, and so do all where it can't be made.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from hudi_index.spark.runtime.java import ensure_java
from hudi_index.spark.runtime.session import HUDI_BUNDLE, SHORT_RUN, local_session

__all__ = ["OPTIONS", "use_class_archive"]

OPTIONS = "JDK_JAVA_OPTIONS"
"""The variable with options for every Java."""

_MAKING = "-XX:ArchiveClassesAtExit="
# What does not fit would be told on the standard output, which belongs to whoever started that Java.
_USING = "-Xlog:disable -XX:SharedArchiveFile="
_ROOT = Path(__file__).resolve().parents[2]

log = logging.getLogger(__name__)


def use_class_archive() -> None:
    """Make this process's children use the archive, made first if need be; for one process at a time."""
    archive = _archive_of(ensure_java())
    options = os.environ.get(OPTIONS, "")
    if _USING in options:
        return
    if not archive.exists():
        _make(archive, options)
    if archive.exists():
        os.environ[OPTIONS] = f"{options} {_USING}{archive}".strip()


def _archive_of(java: str) -> Path:
    """One per Java, Spark and Hudi."""
    program = Path(java).resolve()
    parts = (str(program), str(program.stat().st_mtime_ns), version("pyspark"), HUDI_BUNDLE)
    return Path(sys.prefix) / f"classes-{hashlib.sha256(' '.join(parts).encode()).hexdigest()[:16]}.jsa"


def _make(archive: Path, options: str) -> None:
    with tempfile.TemporaryDirectory(prefix="class-archive-") as folder:
        made = Path(folder) / archive.name
        done = subprocess.run(
            [sys.executable, "-m", __name__, folder],
            cwd=_ROOT,
            env={**os.environ, OPTIONS: f"{options} -Xlog:disable {_MAKING}{made}".strip()},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not made.exists():
            log.warning("no archive of classes: %s", done.stderr[-2000:])
            return
        # Whole or not at all, and on the same file system.
        beside = archive.with_suffix(f".{os.getpid()}")
        try:
            shutil.copyfile(made, beside)
            beside.replace(archive)
        except OSError as error:
            log.warning("no archive of classes: %s", error)
            beside.unlink(missing_ok=True)


def _run_it_all(folder: Path) -> None:
    """Write tables, index them, ask them: what most tests load is then loaded."""
    from hudi_index import IndexedTable
    from tests.parity.tables import MOR, HudiTable, hostile_rows

    spark = local_session("classes", settings={**SHORT_RUN, "spark.log.level": "ERROR"})
    hudi = HudiTable(spark, folder / "t", MOR)
    hudi.bulk_insert(hostile_rows(range(6)))
    hudi.upsert(hostile_rows(range(2), ts=2, salt=1))
    hudi.rows()
    IndexedTable.open(hudi.path).sql("CREATE INDEX shout ON t (upper(name))", spark=spark)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    spark.stop()
    gateway.shutdown()
    # The archive is written while Java ends, which it does when nobody is left to tell it anything.
    java = gateway.proc
    java.stdin.close()
    java.wait()


if __name__ == "__main__":
    _run_it_all(Path(sys.argv[1]))
