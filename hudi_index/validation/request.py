"""What a validation is asked to do, checked: whoever has a request need not look at it again."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hudi_index.arguments import check_count, check_list_of_texts, check_seconds, check_text
from hudi_index.errors import InvalidOptionError

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """What to validate, and how thoroughly. Raises InvalidOptionError."""

    queries: int | None = 20
    """How many queries to make; None for as many as `seconds` allow."""
    seconds: float | None = None
    """When to stop asking."""
    seed: int = 0
    where: tuple[str, ...] = ()
    """Predicates to ask as well."""
    sql: tuple[str, ...] = ()
    """Whole statements over the view `view`."""
    view: str = "t"
    sample: int | None = None
    """How many file groups to compare the content of; None for all, 0 for none."""
    indexes: tuple[str, ...] = ()
    """Only these; all that are ready if empty."""
    with_hudi: bool = False
    """Whether Hudi's own reader has to see the same index metadata table."""
    invalidates: bool = True
    """Whether a faulty index is taken out of service."""
    limit: int = 20
    """Most rows and entries that are named."""
    time_zone: str = "UTC"

    def __post_init__(self) -> None:
        for name in ("queries", "sample"):
            if getattr(self, name) is not None:
                self._set(name, check_count(name, getattr(self, name)))
        self._set("limit", check_count("limit", self.limit))
        self._set("seed", check_count("seed", self.seed, least=-(2**63)))
        if self.seconds is not None:
            self._set("seconds", check_seconds("seconds", self.seconds))
        for name in ("where", "sql", "indexes"):
            self._set(name, check_list_of_texts(name, getattr(self, name)))
        check_text("time_zone", self.time_zone)
        if not re.fullmatch(r"[A-Za-z_]\w*", check_text("view", self.view), re.ASCII):
            reason = "expected a plain name: letters, digits and '_'"
            raise InvalidOptionError(option="view", value=self.view, reason=reason)

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
