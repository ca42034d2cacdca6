"""Random histories of real Hudi writes: what a table's writers may do, one after the other, from a seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from tests.parity.tables import MOR, REGIONS, hostile_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.parity.tables import HudiTable

__all__ = ["History"]

_KEYS = range(30)
_TEXTS = (
    "x" * 4999 + "ü",
    "x" * 5000,
    "$",
    "$$a$",
    "\"double\" and 'single'",
    "%24",
    "ẞß",
    "\U0001f600",
    " ",
)
# Spark writes no earlier dates and timestamps unless told how.
_HOSTILE: dict[str, tuple[Any, ...]] = {
    "name": _TEXTS,
    "ratio": (math.nan, -0.0, 0.0, math.inf, -math.inf, None),
    "price": (Decimal("-9999999999999999.9999"), Decimal("0.0000"), None),
    "born": (date(1583, 1, 1), date(1969, 12, 31), date(9999, 12, 31), None),
    "seen": (datetime(1900, 1, 1, 12, 3, 58, tzinfo=timezone.utc), None),
    "raw": (b"", b"\0", b"$", None),
    "address": (None, {"city": None, "zip": None}, {"city": "a$b", "zip": -1}),
}
_MOVES = {
    "hoodie.index.type": "GLOBAL_SIMPLE",
    "hoodie.simple.index.update.partition.path": "true",
}


@dataclass
class History:
    """The writers of one table. `done` names the operations so far, to find out what broke."""

    hudi: HudiTable
    seed: int
    done: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self._salt = 1
        self._savepoint: str | None = None
        self._is_compaction_pending = False
        self._is_crashed = False

    def advance(self) -> None:
        """One more operation."""
        choices = self._choices()
        name = self.chance.choices(list(choices), [weight for weight, _ in choices.values()])[0]
        self._salt += 1
        self.done.append(name)
        choices[name][1]()
        if name not in ("clean", "savepoint", "schedule_compaction"):
            self._is_crashed = name == "crash"

    def _choices(self) -> dict[str, tuple[int, Callable[[], object]]]:
        hudi = self.hudi
        choices: dict[str, tuple[int, Callable[[], object]]] = {
            "upsert": (4, lambda: hudi.upsert(self._rows())),
            "upsert_unchanged": (1, lambda: hudi.upsert(self._rows(salt=0))),
            "upsert_other_columns": (1, lambda: hudi.upsert(self._rows(salt=0, tags=[str(self._salt)]))),
            "upsert_late": (1, lambda: hudi.upsert(self._rows(ts=0))),
            "insert": (2, lambda: hudi.insert(self._rows([100 + self._salt, 200 + self._salt]))),
            "move": (2, self._move),
            "delete": (2, lambda: hudi.delete(self._rows(count=4))),
            "bulk_insert_twice": (1, lambda: hudi.bulk_insert([*self._rows(count=3)] * 2)),
            "insert_overwrite": (1, lambda: hudi.insert_overwrite(self._rows(region=self._region()))),
            "insert_overwrite_table": (1, self._overwrite_table),
            "delete_partition": (1, lambda: hudi.delete_partition(self._region())),
            "crash": (2, lambda: hudi.crash_a_write(self._rows())),
            "clean": (1, hudi.clean),
        }
        if self._is_crashed:
            # It leaves the dead write be, and Hudi then can no longer roll that back.
            del choices["delete_partition"]
        else:
            choices["savepoint"] = (2, self._save)
        if not self._is_compaction_pending and not self._is_crashed:
            choices["cluster"] = (2, hudi.cluster)
        if self._savepoint:
            choices["restore"] = (4, self._restore)
        if hudi.table_type == MOR and not self._is_crashed:
            choices["compact"] = (3, self._compact)
            choices["schedule_compaction"] = (1, self._schedule)
        return choices

    def _rows(
        self,
        keys: Iterable[int] | None = None,
        *,
        count: int = 8,
        salt: int | None = None,
        ts: int | None = None,
        **values: object,
    ) -> list[dict[str, Any]]:
        found = []
        for key in keys or self.chance.sample(_KEYS, count):
            row = hostile_row(
                key, ts=self._salt if ts is None else ts, salt=self._salt if salt is None else salt
            )
            if salt is None:
                name = self.chance.choice(list(_HOSTILE))
                row[name] = self.chance.choice(_HOSTILE[name])
            found.append({**row, **values})
        return found

    def _region(self) -> str:
        return self.chance.choice(REGIONS)

    def _move(self) -> None:
        """Records go to another partition: Hudi deletes them here and inserts them there."""
        rows = [{**row, "region": self._region()} for row in self._rows(count=4)]
        self.hudi.write(self.hudi.frame(rows), "upsert", options=_MOVES)

    def _overwrite_table(self) -> None:
        self.hudi.write(self.hudi.frame(self._rows()), "insert_overwrite_table")

    def _compact(self) -> None:
        if self._is_compaction_pending:
            self.hudi.call("run_compaction", op="run")
        else:
            self.hudi.compact()
        self._is_compaction_pending = False

    def _schedule(self) -> None:
        self.hudi.schedule_compaction()
        self._is_compaction_pending = True

    def _save(self) -> None:
        self._savepoint = self.hudi.savepoint()

    def _restore(self) -> None:
        assert self._savepoint
        self.hudi.restore(self._savepoint)
        self._savepoint = None
        self._is_compaction_pending = False
