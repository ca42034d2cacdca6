"""Jars that only tests need: fetched once, by coordinate and checksum, with the Ivy that comes with Spark.

They come from wherever Ivy is set up to look, as Spark's own packages do.
"""

from __future__ import annotations

import hashlib
import sysconfig
from dataclasses import dataclass
from pathlib import Path

from hudi_index.spark.runtime.certificates import trust_options
from hudi_index.spark.runtime.java import ensure_java
from tests.support.servers import HOME, fetch, fetching, skip_if_unwanted

__all__ = ["Jar", "fetched"]

_IVY = """<ivy-module version="2.0">
  <info organisation="hudi-index" module="tests"/>
  <dependencies>
    <dependency org="{organisation}" name="{name}" rev="{version}" transitive="false" conf="default->master"/>
  </dependencies>
</ivy-module>
"""


@dataclass(frozen=True)
class Jar:
    """One file, without what it depends on."""

    organisation: str
    name: str
    version: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.name}-{self.version}.jar"


def fetched(jar: Jar) -> Path:
    """The jar's file, brought by whoever comes first. Skips the test where programs are not wanted."""
    skip_if_unwanted()
    file = HOME / jar.file
    with fetching():
        if not (file.exists() and _sum_of(file) == jar.sha256):
            _fetch(jar, file)
    return file


def _fetch(jar: Jar, file: Path) -> None:
    java, asked = ensure_java(), HOME / f"{jar.name}.xml"
    asked.write_text(_IVY.format(organisation=jar.organisation, name=jar.name, version=jar.version))
    ivy = next((Path(sysconfig.get_path("purelib")) / "pyspark" / "jars").glob("ivy-*.jar"))
    command = [java, *trust_options(java).split(), "-cp", str(ivy), "org.apache.ivy.Main"]
    command += ["-ivy", str(asked), "-cache", str(HOME / "cache")]
    command += ["-retrieve", f"{HOME}/[artifact]-[revision].[ext]"]
    fetch(jar.name, command, file)
    if (found := _sum_of(file)) != jar.sha256:
        file.unlink()
        raise RuntimeError(f"{jar.file} is not what it should be: its SHA-256 is {found}")


def _sum_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
