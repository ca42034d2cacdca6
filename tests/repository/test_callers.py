"""Every name that the product defines is used by it, or is public, or stands below with a reason."""

from __future__ import annotations

import ast
import re
import runpy
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.repository.tree import ROOT, own_files

PRODUCT = ("hudi_index", "airflow_hudi_index", "spark_jobs")

EXCEPTIONS = {
    "addInPlace": "PySpark's accumulators call it",
    "get_fragments": "a method of pyarrow's datasets, for whoever takes one",
    "get_provider_info": "Airflow calls it by its entry point",
    "HudiIndexPlugin": "Airflow loads it by its entry point",
    "is_overdue": "a method of the public Deprecation, for the tests of whoever deprecates",
    "partition_expression": "a method of pyarrow's datasets, for whoever takes one",
    "physical_schema": "a method of pyarrow's datasets, for whoever takes one",
    "raise_if_failed": "a method of the public ValidationReport",
    "readable": "pyarrow asks it of a file",
    "replace_schema": "a method of pyarrow's datasets, for whoever takes one",
    "scan_batches": "a method of pyarrow's datasets, for whoever takes one",
    "seekable": "pyarrow asks it of a file",
    "to_reader": "a method of pyarrow's datasets, for whoever takes one",
    "was_cancelled": "tells a cancelled job from one that failed, for whoever watches it",
}
"""Names that nobody in the product uses, each with who does."""


def product_files() -> list[Path]:
    return [path for path in own_files(".py") if path.relative_to(ROOT).parts[0] in PRODUCT]


def public_names() -> set[str]:
    """Read, not imported: Airflow takes long to import."""
    listed = runpy.run_path(str(ROOT / "docs" / "public_names.py"))
    names: set[str] = set()
    for module, given in listed["PUBLIC"].items():
        names.update(exported(module) if given == listed["EVERY"] else given)
    return names


def exported(module: str) -> list[str]:
    """The names of a module's `__all__`."""
    path = ROOT / module.replace(".", "/")
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return []


def definitions(tree: ast.Module) -> Iterator[str]:
    """Functions, classes and constants of a module, and the methods and properties of its classes."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (each.id for each in targets if isinstance(each, ast.Name))
        if isinstance(node, ast.ClassDef) and not _is_called_by_others(node):
            yield from (each.name for each in node.body if isinstance(each, ast.FunctionDef))


def _is_called_by_others(node: ast.ClassDef) -> bool:
    """Whether it has a base of another package, or a metaclass: who calls its methods is not seen here."""
    bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
    return any(base.startswith(("Base", "HTML", "Airflow")) for base in bases)


def uses(tree: ast.Module) -> Counter[str]:
    """How often each name is used: read, imported, taken as an attribute, or written in a short text.

    A text may be an annotation or name a method to another language. `__all__` and imports use nothing.
    """
    found: Counter[str] = Counter()
    for node in ast.walk(_without_lists(tree)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            found[node.id] += 1
        elif isinstance(node, ast.Attribute):
            found[node.attr] += 1
        elif isinstance(node, ast.keyword) and node.arg:
            found[node.arg] += 1
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" not in node.value:
            found.update(set(re.findall(r"\w+", node.value)))
    return found


def _without_lists(tree: ast.Module) -> ast.Module:
    """A module without its `__all__` and without texts that stand alone: docstrings."""
    kept = [
        node
        for node in tree.body
        if not (isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__")
    ]
    module = ast.Module(kept, [])
    for node in ast.walk(module):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant(None)
    return module


def unused_names(sources: dict[str, str]) -> list[str]:
    trees = {name: ast.parse(text) for name, text in sources.items()}
    used: Counter[str] = Counter()
    for tree in trees.values():
        used.update(uses(tree))
    return sorted(
        f"{module}: {name}"
        for module, tree in trees.items()
        for name in definitions(tree)
        if not used[name] and not re.fullmatch(r"__\w+__", name)
    )


def test_every_name_has_a_caller_in_the_product() -> None:
    sources = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8") for path in product_files()}
    found = {each.partition(": ")[2] for each in unused_names(sources)} - public_names()

    assert sorted(found - set(EXCEPTIONS)) == []
    # An exception that is used again is none.
    assert sorted(set(EXCEPTIONS) - found) == []


def test_name_without_a_caller_is_seen() -> None:
    sources = {
        "a.py": "__all__ = ['lost', 'kept']\nLEFT = 1\ndef kept(): pass\ndef lost(): '''See `lost`.'''\n",
        "b.py": "from a import kept, lost\nclass C:\n  def __len__(self): ...\n  def gone(self): ...\n",
        "c.py": "from a import kept\nfrom b import C\nkept(C)\n",
    }

    assert unused_names(sources) == ["a.py: LEFT", "a.py: lost", "b.py: gone"]
