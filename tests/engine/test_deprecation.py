"""Names on their way out."""

from __future__ import annotations

import warnings

import pytest

from hudi_index import deprecation
from hudi_index.deprecation import Deprecation, deprecated


@pytest.fixture(autouse=True)
def noted(monkeypatch: pytest.MonkeyPatch) -> list[Deprecation]:
    """A list of the test's own: what is deprecated here must not be looked for in the package."""
    own: list[Deprecation] = []
    monkeypatch.setattr(deprecation, "DEPRECATIONS", own)
    return own


def test_function_works_as_before_and_warns_its_caller_with_the_way_out(noted: list[Deprecation]) -> None:
    @deprecated(since="0.2.0", until="0.4.0", instead="hudi_index.new(x)")
    def old(x: int, *, y: int = 1) -> int:
        """What it does."""
        return x + y

    with pytest.warns(DeprecationWarning, match=r"since 0\.2\.0.*0\.4\.0.*hudi_index\.new\(x\)") as seen:
        assert old(1, y=2) == 3

    assert seen[0].filename == __file__
    assert old.__doc__ == "What it does."
    assert [each.until for each in noted] == ["0.4.0"]
    assert noted[0].name.endswith("old")


def test_method_warns() -> None:
    class Table:
        @deprecated(since="0.2.0", until="0.3.0", instead="Table.new")
        def old(self) -> str:
            return "done"

    with pytest.warns(DeprecationWarning, match=r"Table\.new"):
        assert Table().old() == "done"


def test_class_stays_one_to_derive_from_and_to_ask_for() -> None:
    @deprecated(since="0.2.0", until="0.3.0", instead="New")
    class Old:
        def __init__(self, x: int) -> None:
            self.x = x

    class Derived(Old):
        pass

    with pytest.warns(DeprecationWarning, match="use New"):
        made = Derived(2)
    assert isinstance(made, Old)
    assert made.x == 2


def test_marking_alone_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @deprecated(since="0.2.0", until="0.3.0", instead="new")
        def old() -> None:
            pass


@pytest.mark.parametrize(
    ("version", "is_overdue"),
    [("0.3.9", False), ("0.4.0", True), ("0.4.0+local", True), ("0.10.0", True), ("1.0.0", True)],
)
def test_name_is_overdue_from_the_version_that_should_not_have_it(version: str, is_overdue: bool) -> None:
    assert Deprecation("old", "0.2.0", "0.4.0", "new").is_overdue(version) is is_overdue


@pytest.mark.parametrize("until", ["0.2.0", "0.2.5", "0.1.0"])
def test_warning_lasts_for_a_minor_version_at_least(until: str) -> None:
    with pytest.raises(ValueError, match="at least one minor version"):
        deprecated(since="0.2.0", until=until, instead="new")
