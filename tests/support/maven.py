"""Jars that only tests need: fetched once, by coordinate and checksum, with the Ivy that comes with Spark.

They come from wherever Ivy is set up to look, as Spark's own packages do.
"""

from __future__ import annotations

import hashlib
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_index.spark.runtime.certificates import trust_options
from hudi_index.spark.runtime.java import ensure_java
from tests.support.servers import HOME, fetch, fetching, skip_if_unwanted

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Jar", "fetched", "fetched_with_dependencies"]

_IVY = """<ivy-module version="2.0">
  <info organisation="hudi-index" module="tests"/>
  <configurations><conf name="default"/></configurations>
  <dependencies>
{dependencies}
  </dependencies>
</ivy-module>
"""
_ALONE = '<dependency org="{}" name="{}" rev="{}" transitive="false" conf="default->master"/>'
_WITH_ALL = '<dependency org="{}" name="{}" rev="{}" conf="default->master,runtime"/>'


@dataclass(frozen=True)
class Jar:
    """One file."""

    organisation: str
    name: str
    version: str
    sha256: str = ""

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


def fetched_with_dependencies(folder: str, jars: Sequence[Jar]) -> list[Path]:
    """All jars that these need, in a folder of their own; those with a checksum come alone."""
    skip_if_unwanted()
    home = HOME / folder
    done = home / "complete"
    with fetching():
        if not done.exists():
            asked = [(_ALONE if jar.sha256 else _WITH_ALL).format(*_coordinate(jar)) for jar in jars]
            _retrieve(folder, asked, f"{home}/[artifact]-[revision].[ext]", home / jars[0].file)
            for jar in jars:
                _check(jar, home / jar.file)
            done.touch()
    return sorted(home.glob("*.jar"))


def _fetch(jar: Jar, file: Path) -> None:
    _retrieve(jar.name, [_ALONE.format(*_coordinate(jar))], f"{HOME}/[artifact]-[revision].[ext]", file)
    _check(jar, file)


def _retrieve(name: str, dependencies: Sequence[str], pattern: str, made: Path) -> None:
    java, asked = ensure_java(), HOME / f"{name}.xml"
    asked.write_text(_IVY.format(dependencies="\n".join(dependencies)))
    ivy = next((Path(sysconfig.get_path("purelib")) / "pyspark" / "jars").glob("ivy-*.jar"))
    command = [java, *trust_options(java).split(), "-cp", str(ivy), "org.apache.ivy.Main"]
    command += ["-ivy", str(asked), "-cache", str(HOME / "cache"), "-retrieve", pattern]
    fetch(name, command, made)


def _coordinate(jar: Jar) -> tuple[str, str, str]:
    return jar.organisation, jar.name, jar.version


def _check(jar: Jar, file: Path) -> None:
    if jar.sha256 and (found := _sum_of(file)) != jar.sha256:
        file.unlink()
        raise RuntimeError(f"{jar.file} is not what it should be: its SHA-256 is {found}")


def _sum_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
