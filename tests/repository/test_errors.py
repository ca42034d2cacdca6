"""Errors: where they stand, how they are named and listed."""

from __future__ import annotations

import importlib
import inspect
import pickle
from collections.abc import Iterator
from types import ModuleType

import pytest

from hudi_index import errors
from tests.repository.test_imports import modules_of
from tests.repository.tree import ROOT

HOME = "hudi_index.errors"


def subclasses_of(kind: type[Exception]) -> Iterator[type[Exception]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses_of(each)


def classes_of(module: ModuleType) -> list[type]:
    return [each for each in vars(module).values() if inspect.isclass(each)]


@pytest.fixture(scope="module", autouse=True)
def all_modules() -> list[ModuleType]:
    return [importlib.import_module(name) for name in modules_of("hudi_index")]


def test_every_error_stands_in_one_package() -> None:
    elsewhere = {
        f"{each.__module__}.{each.__qualname__}"
        for each in subclasses_of(errors.HudiIndexError)
        if each.__module__.startswith("hudi_index") and not each.__module__.startswith(f"{HOME}.")
    }
    assert not elsewhere


def test_every_error_is_exported() -> None:
    kinds = {
        each.__name__
        for each in subclasses_of(errors.HudiIndexError)
        if each.__module__.startswith(f"{HOME}.")
    }
    assert kinds | {"HudiIndexError"} == {name for name in errors.__all__ if name.endswith("Error")}


def test_names_end_in_error(all_modules: list[ModuleType]) -> None:
    pytest.importorskip("airflow")
    provider = [importlib.import_module(name) for name in modules_of("airflow_hudi_index")]
    named_otherwise = {
        each.__qualname__
        for module in [*all_modules, *provider]
        for each in classes_of(module)
        if each.__module__ == module.__name__
        and issubclass(each, Exception)
        and not issubclass(each, Warning)
        and not each.__name__.endswith("Error")
    }
    assert not named_otherwise


@pytest.mark.parametrize("document", ["errors.md", "reference.md"])
def test_documents_name_every_error(document: str) -> None:
    text = (ROOT / "docs" / document).read_text(encoding="utf-8")
    assert not [name for name in errors.__all__ if name.endswith("Error") and f"`{name}`" not in text]


def test_errors_cross_processes_with_their_fields() -> None:
    error = errors.SliceChangedError(file_group="p/f-0", reason="its files are no longer listed")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert (copy.file_group, copy.reason) == ("p/f-0", "its files are no longer listed")
