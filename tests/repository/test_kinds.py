"""A kind of index is one short file, one row, one test class and one section; nobody else names it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from hudi_index.kind_specs import specs
from tests.repository.tree import ROOT, own_files

MOST_LINES = 150
KINDS = sorted(path.stem for path in (ROOT / "hudi_index" / "kinds").glob("*.py") if path.stem != "__init__")

OTHERS = (
    "planner",
    "lifecycle",
    "validation",
    "scan",
    "coverage",
    "metadata_table",
    "spark",
    "cli",
    "engine.py",
)
"""Parts of hudi_index that ask the protocol."""

EXCEPTIONS = {
    "hudi_index/spark/native.py": "speaks of Hudi's own indexes",
    "hudi_index/lifecycle/native_status.py": "speaks of Hudi's own indexes",
}


def module_of(kind: str) -> str:
    return specs()[kind].implementation.partition(":")[0].rpartition(".")[2]


def test_every_kind_has_a_file_and_every_file_a_row() -> None:
    assert sorted(map(module_of, specs())) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_kind_is_short(kind: str) -> None:
    lines = (ROOT / "hudi_index" / "kinds" / f"{kind}.py").read_text(encoding="utf-8").splitlines()

    assert len(lines) <= MOST_LINES


@pytest.mark.parametrize("kind", [spec.name for spec in specs().values() if spec.is_created])
def test_kind_inherits_the_laws(kind: str) -> None:
    tests = ast.parse((ROOT / "tests" / "engine" / "kinds" / f"test_{kind}.py").read_text(encoding="utf-8"))
    bases = {
        ast.unparse(base) for node in tests.body if isinstance(node, ast.ClassDef) for base in node.bases
    }

    assert "IndexKindLaws" in bases


@pytest.mark.parametrize("kind", specs())
def test_kind_has_a_section(kind: str) -> None:
    sections = re.findall(
        r"^### (\w+)$", (ROOT / "docs" / "indexes.md").read_text(encoding="utf-8"), re.MULTILINE
    )

    assert kind in sections


def words_of(tree: ast.AST) -> Iterator[str]:
    """Identifiers, modules that are imported, and texts that are not for people: those without a space."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.name for alias in node.names)
            yield from (getattr(node, "module", None) or "").split(".")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value:
            yield node.value


def kinds_named_in(code: str) -> set[str]:
    names = {each for spec in specs().values() for each in (spec.name, spec.implementation.partition(":")[2])}
    # Words of Arrow, of payloads and of Roaring too; imports of the modules are forbidden by contract.
    names -= {"Array", "array", "bitmap"}
    return names & set(words_of(ast.parse(code)))


def other_files() -> list[Path]:
    folders = [ROOT / "hudi_index" / name for name in OTHERS]
    return [
        path for path in own_files(".py") if any(path == each or each in path.parents for each in folders)
    ]


def test_nobody_else_names_a_kind() -> None:
    found = {}
    for path in other_files():
        name = str(path.relative_to(ROOT))
        kinds = kinds_named_in(path.read_text(encoding="utf-8"))
        if kinds and name not in EXCEPTIONS:
            found[name] = sorted(kinds)

    assert found == {}


def test_name_of_a_kind_is_seen() -> None:
    assert kinds_named_in("if kind.name == 'ngram': pass") == {"ngram"}
    assert kinds_named_in("from hudi_index.kinds.record_index import RecordIndex") == {
        "record_index",
        "RecordIndex",
    }
    assert kinds_named_in("'''Not like an ngram.'''\nraise ValueError('an ngram is over text')") == set()
