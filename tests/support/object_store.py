"""An object store of our own: S3Proxy on the Java that Spark's tests run on, with objects as plain files.

Its jar is fetched once, by coordinate and checksum, with the Ivy that comes with Spark: from wherever Ivy is
set up to look, as Spark's own packages are.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hudi_index.spark.runtime.certificates import trust_options
from hudi_index.spark.runtime.java import ensure_java
from hudi_index.storage import Storage, storage
from hudi_index.storage.locations import uri_of_location
from tests.support.servers import HOME, fetch, fetching, served, skip_if_unwanted

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["ObjectStore", "put_tests_into_a_store", "started", "use_store_of_tests"]

BUCKET = "bucket"

STORE = "HUDI_INDEX_TEST_STORE"
"""Set to `s3`, it makes tests run in an object store: the local paths that they open are objects."""
_ROOT = "HUDI_INDEX_TEST_ROOT"
"""Which paths those are; processes that tests start get to know it this way."""

_JAR = "s3proxy-4.1.0-jar-with-dependencies.jar"
_SHA256 = "a4d025969aaf796616ed4b1e2491d87d455ce84bb28cb9db086b2e6aaa68b48d"
_IVY = """<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="hudi-index" module="tests"/>
  <dependencies>
    <dependency org="org.gaul" name="s3proxy" rev="4.1.0" transitive="false" conf="default->*">
      <artifact name="s3proxy" type="jar" ext="jar" m:classifier="jar-with-dependencies"/>
    </dependency>
  </dependencies>
</ivy-module>
"""
_SMALL = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m")


@dataclass(frozen=True)
class ObjectStore:
    """A running store: a folder in `folder` is a bucket, and a file in it is an object."""

    folder: Path
    endpoint: str

    @property
    def options(self) -> dict[str, str]:
        """What it is opened with, in hudi-rs's words."""
        return {
            "aws_access_key_id": "testkey",
            "aws_secret_access_key": "testsecret",
            "aws_region": "us-east-1",
            "aws_endpoint": self.endpoint,
            "aws_allow_http": "true",
        }

    @property
    def bucket(self) -> Path:
        """The folder that is the bucket."""
        return self.folder / BUCKET

    def storage(self, path: str, **options: str) -> Storage:
        """The storage at a path in the bucket."""
        return Storage.open(f"s3://{BUCKET}/{path}".rstrip("/"), {**self.options, **options})


@contextlib.contextmanager
def put_tests_into_a_store(folder: Path) -> Iterator[None]:
    """Whatever local path below `folder` a Storage opens, it opens as an object store, here and in children.

    Tests go on making, copying and damaging plain files, while the engine speaks S3.
    """
    with started(folder.parent, folder.name) as store, pytest.MonkeyPatch.context() as patch:
        for name, value in {**store.options, _ROOT: str(folder)}.items():
            patch.setenv(name.upper(), value)
        use_store_of_tests()
        yield
        patch.setattr(storage, "uri_of_location", uri_of_location)


def use_store_of_tests() -> None:
    """Do so in this process, if an environment variable says where."""
    root = os.environ.get(_ROOT)
    if not root:
        return

    def uri_of(location: str | os.PathLike[str]) -> str:
        uri = uri_of_location(location)
        return uri.replace(Path(root).as_uri(), f"s3://{Path(root).name}", 1)

    storage.uri_of_location = uri_of  # type: ignore[attr-defined]  # where the name is looked up


@contextlib.contextmanager
def started(folder: Path, bucket: str = BUCKET) -> Iterator[ObjectStore]:
    """A store that runs while this is open, with its objects below `folder`."""
    skip_if_unwanted()
    java, jar = ensure_java(), _fetched_jar()
    (folder / bucket).mkdir(parents=True, exist_ok=True)
    settings, log = (folder.parent / f"{folder.name}-{bucket}.{each}" for each in ("conf", "log"))

    def command(port: int) -> list[str]:
        settings.write_text(
            f"s3proxy.authorization=aws-v2-or-v4\ns3proxy.identity=testkey\ns3proxy.credential=testsecret\n"
            f"s3proxy.endpoint=http://127.0.0.1:{port}\njclouds.provider=filesystem-nio2\n"
            f"jclouds.filesystem.basedir={folder}\n"
        )
        return [java, *_SMALL, "-jar", str(jar), "--properties", str(settings)]

    with served("S3Proxy", log, command) as endpoint:
        yield ObjectStore(folder, endpoint)


def _fetched_jar() -> Path:
    """The jar, brought by whoever comes first."""
    jar = HOME / _JAR
    with fetching():
        if not (jar.exists() and _sum_of(jar) == _SHA256):
            _fetch(jar)
    return jar


def _fetch(jar: Path) -> None:
    java = ensure_java()
    (HOME / "ivy.xml").write_text(_IVY)
    ivy = next((Path(sysconfig.get_path("purelib")) / "pyspark" / "jars").glob("ivy-*.jar"))
    command = [java, *trust_options(java).split(), "-cp", str(ivy), "org.apache.ivy.Main"]
    command += ["-ivy", str(HOME / "ivy.xml"), "-cache", str(HOME / "cache")]
    command += ["-retrieve", f"{HOME}/[artifact]-[revision](-[classifier]).[ext]"]
    fetch("S3Proxy", command, jar)
    if _sum_of(jar) != _SHA256:
        jar.unlink()
        raise RuntimeError(f"{_JAR} is not what it should be: its SHA-256 is another one")


def _sum_of(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
