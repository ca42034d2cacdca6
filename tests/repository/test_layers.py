"""The layers that documents show are those that the import contracts hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import hudi_index
from tests.repository.tree import ROOT

# Indented, and without a point: a path or a sentence is no layer.
LAYER = re.compile(r"^ +(\w+(?: \| \w+)*)(?: {2,}\S.*)?$", re.MULTILINE)


def contract_layers() -> list[list[str]]:
    tomllib = pytest.importorskip("tomllib")  # Python 3.11
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = [each["layers"] for each in contracts["contracts"] if each["id"] == "layers"]
    return [re.findall(r"\w+", layer) for layer in layers]


def shown_layers(text: str) -> list[list[str]]:
    return [found.split(" | ") for found in LAYER.findall(text)]


def test_docstring_shows_the_layers_of_the_contract() -> None:
    assert shown_layers(str(hudi_index.__doc__)) == contract_layers()


def test_design_shows_the_layers_of_the_contract() -> None:
    design = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    section = design.partition("\n## Layers\n")[2].partition("\n## ")[0]

    packages = [["airflow_hudi_index", "spark_jobs"], ["hudi_index"]]
    assert shown_layers(section) == [*packages, *contract_layers()]


def test_every_layer_is_a_part_of_the_package() -> None:
    package = Path(str(hudi_index.__file__)).parent
    names = {name for layer in contract_layers() for name in layer}
    parts = {
        each.stem for each in package.iterdir() if each.suffix == ".py" or (each / "__init__.py").exists()
    }

    assert parts - {"__init__"} == names


@pytest.mark.parametrize(
    "fault", ["", "    one\n    three | two\n", "    two | three\n    one\n", "    one\n"]
)
def test_another_order_or_another_name_is_seen(fault: str) -> None:
    right = "    one            first of all\n    two | three    others\n                   in two lines\n"

    assert shown_layers(right) == [["one"], ["two", "three"]]
    assert shown_layers(fault) != [["one"], ["two", "three"]]
