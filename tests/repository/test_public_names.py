"""What is public is listed once, is there, is described, and is all that documents and examples use."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import pkgutil
from collections.abc import Iterator
from types import ModuleType

import pytest

import hudi_index
from hudi_index.deprecation import DEPRECATIONS, Deprecation
from tests.repository.test_documents import python_blocks
from tests.repository.tree import ROOT, own_files
from tests.support import airflow_home as home  # noqa: F401  says where Airflow's home is, before Airflow is imported

PACKAGES = ("hudi_index", "airflow_hudi_index")
FOR_USERS = ("examples", "dags", "docker")


def _listed() -> ModuleType:
    spec = importlib.util.spec_from_file_location("public_names", ROOT / "docs" / "public_names.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


listed = _listed()
NAMES = [(module, name) for module in listed.PUBLIC for name in listed.public_names(module)]


def imported_names(code: str) -> Iterator[tuple[str, str | None]]:
    """Module and name of each import of ours; None for a module that is imported as such."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.ImportFrom) and str(node.module).partition(".")[0] in PACKAGES:
            yield from ((str(node.module), alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
            yield from ((name, None) for name in named if name.partition(".")[0] in PACKAGES)


def not_public(code: str) -> list[str]:
    return [
        f"{module}.{name}" if name else module
        for module, name in imported_names(code)
        if (module not in listed.PUBLIC if name is None else name not in listed.public_names(module))
    ]


def _texts() -> Iterator[tuple[str, str]]:
    for document in own_files(".md"):
        for block in python_blocks(document.read_text(encoding="utf-8")):
            yield f"{document.relative_to(ROOT)}, line {block.line}", block.code
    for script in own_files(".py"):
        if script.relative_to(ROOT).parts[0] in FOR_USERS:
            yield str(script.relative_to(ROOT)), script.read_text(encoding="utf-8")


def test_documents_examples_and_dags_import_public_names_only() -> None:
    texts = dict(_texts())
    found = {place: names for place, code in texts.items() if (names := not_public(code))}

    assert found == {}
    assert len([code for code in texts.values() if any(imported_names(code))]) > 20


def test_import_of_what_is_not_public_is_seen() -> None:
    code = (
        "import hudi_index\nimport hudi_index.table\nimport json\n"
        "from hudi_index import IndexedTable, lifecycle\nfrom hudi_index.table import Snapshot\n"
        "def f():\n    from airflow_hudi_index.outcome import JobConflict\n"
    )

    assert sorted(not_public(code)) == [
        *("airflow_hudi_index.outcome.JobConflict", "hudi_index.lifecycle"),
        *("hudi_index.table", "hudi_index.table.Snapshot"),
    ]


@pytest.mark.parametrize("module", listed.PUBLIC)
def test_public_names_are_there_and_described(module: str) -> None:
    found = importlib.import_module(module)
    assert found.__doc__

    undescribed = []
    for name in listed.public_names(module):
        each = getattr(found, name)
        # A constant, or a name for several types, has no docstring of its own.
        if (inspect.isclass(each) or inspect.isroutine(each)) and not vars(each).get("__doc__", each.__doc__):
            undescribed.append(name)
    assert undescribed == []


def test_public_names_have_one_home() -> None:
    names = [name for _, name in NAMES]

    assert sorted({name for name in names if names.count(name) > 1}) == []


def test_no_signature_of_a_public_method_hides_its_parameters() -> None:
    hidden = []
    for module, name in NAMES:
        each = getattr(importlib.import_module(module), name)
        if not inspect.isclass(each) or module.startswith("airflow"):
            continue
        for method, function in vars(each).items():
            if not method.startswith("_") and inspect.isfunction(function):
                last = [*inspect.signature(function).parameters.values()][-1]
                is_open = last.kind is last.VAR_KEYWORD and last.annotation == "Any"
                hidden += [f"{name}.{method}"] if is_open else []
    assert hidden == []


def _overdue(deprecations: list[Deprecation], version: str) -> list[str]:
    return [each.name for each in deprecations if each.is_overdue(version)]


def test_deprecated_names_are_gone_by_the_version_that_they_were_promised_for() -> None:
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)

    assert _overdue(DEPRECATIONS, hudi_index.__version__) == []


def test_name_that_stays_too_long_is_seen() -> None:
    late = Deprecation("hudi_index.old", "0.1.0", "0.3.0", "new")

    assert _overdue([late], "0.2.9") == []
    assert _overdue([late], "0.3.0") == ["hudi_index.old"]
