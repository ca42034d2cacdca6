"""Answers the planning of all scans of a session, whichever table they are of: the Python half of the rule.

A question names its table, the instant that is read and, by a digest, the slices that Hudi lists. What is
known of a table is kept between questions, and looked at for each: its timeline for what its slices and
columns are, the catalog and the index metadata table for what the indexes say. A slice is left out only if
the plan refuted that very slice, so none of this has to be of the same moment as Hudi's listing.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from hudi_index.catalog import Catalog
from hudi_index.errors import UserError
from hudi_index.log_once import warn_once
from hudi_index.metadata_table import MetadataTable
from hudi_index.spark.read.file_index import FilePlanner
from hudi_index.storage import Storage
from hudi_index.table import Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["SessionPlanner"]

_TABLES = 64
"""Most tables that are kept between plans."""
_LISTINGS = 8
"""Most listings of one table that are kept: by partition filter, instant, and reader that is behind."""

log = logging.getLogger(__name__)


@dataclass
class _ListingPlanner(FilePlanner):
    """Plans scans of one listing."""

    def warn(self, error: Exception) -> None:
        """Say it once for each reason: a session goes on asking."""
        _warn(self.storage.uri, error)


@dataclass
class _Table:
    """What is known of one table."""

    storage: Storage
    metadata_table: MetadataTable = field(init=False)
    catalog: Catalog = field(init=False)
    planners: OrderedDict[tuple[str | None, str], _ListingPlanner] = field(default_factory=OrderedDict)
    """By instant, and digest of the listing."""
    lock: threading.RLock = field(default_factory=threading.RLock)
    """Held while a scan is planned: what is kept is for one thread at a time."""
    _seen: OrderedDict[str | None, Snapshot] = field(default_factory=OrderedDict)

    def __post_init__(self) -> None:
        self.metadata_table, self.catalog = MetadataTable.of(self.storage), Catalog(self.storage)

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer to one scan."""
        with self.lock:
            planner = self._planner(asked)
            if self._is_of_other_columns(planner.snapshot, asked):
                return {"keep": None}
            found = planner.answer(asked)
            if "slices_wanted" not in found and planner.last is not None:
                found.update(plan=planner.last.number, by=_told_by(planner))
            return found

    def _planner(self, asked: dict[str, Any]) -> _ListingPlanner:
        key = (asked["as_of"], asked["digest"])
        snapshot = self._snapshot(asked["as_of"])
        found = self.planners.pop(key, None)
        if found is None or found.snapshot is not snapshot or found.options != asked["options"]:
            found = _ListingPlanner(
                self.storage,
                asked["as_of"],
                options=asked["options"],
                seen=snapshot,
                metadata_table=self.metadata_table,
                catalog=self.catalog,
            )
        self.planners[key] = found
        if len(self.planners) > _LISTINGS:
            self.planners.popitem(last=False)
        return found

    def _snapshot(self, as_of: str | None) -> Snapshot:
        """The table as it is now; the same object as before if nobody has written to its timeline."""
        known = self._seen.pop(as_of, None)
        if known is not None and as_of is None:
            found = known.reload_if_moved()
        else:
            found = Snapshot.load(self.storage, as_of, known=known)
        self._seen[as_of] = found
        if len(self._seen) > _LISTINGS:
            self._seen.popitem(last=False)
        return found

    @staticmethod
    def _is_of_other_columns(snapshot: Snapshot, asked: dict[str, Any]) -> bool:
        """Whether a name may mean one column to the reader and another to us.

        Where schema-on-read has renamed columns and taken some out, that takes the same commit.
        """
        if not snapshot.table_schema.has_internal_schema or snapshot.as_of is not None:
            return False
        return snapshot.instant is None or snapshot.instant.requested_time != asked["instant"]


@dataclass
class SessionPlanner:
    """What the rule calls, in as many threads as Spark plans in; java.util.function.Function."""

    storage_options: Mapping[str, str] | None = None
    _tables: OrderedDict[str, _Table] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def apply(self, request: str) -> str:
        """The answer to one question, in JSON; whatever fails here is told once, and prunes nothing."""
        asked = json.loads(request)
        if "exists" in asked:
            return json.dumps({"exists": self._has_indexes(asked["exists"])})
        try:
            return json.dumps(self._table(asked["table"]).answer(asked))
        except Exception as error:  # noqa: BLE001
            _warn(asked["table"], error)
            return json.dumps({"keep": None})

    def _has_indexes(self, location: str) -> bool | None:
        """Whether a table has indexes; None if that can't be told now, but perhaps later."""
        try:
            catalog = Catalog(Storage.open(location, self._options_for(location)))
            return bool(tuple(catalog.load()))
        except UserError as error:
            _warn(location, error)
            return False
        except Exception as error:  # noqa: BLE001
            _warn(location, error)
            return None

    def _table(self, location: str) -> _Table:
        with self._lock:
            found = self._tables.pop(location, None)
            if found is None:
                found = _Table(Storage.open(location, self._options_for(location)))
            self._tables[location] = found
            if len(self._tables) > _TABLES:
                self._tables.popitem(last=False)
            return found

    def _options_for(self, location: str) -> Mapping[str, str] | None:
        # Options say how to reach an object store; a local path takes none.
        return None if location.startswith("/") else self.storage_options

    class Java:
        """What py4j makes of it."""

        implements: ClassVar[list[str]] = ["java.util.function.Function"]


def _told_by(planner: FilePlanner) -> str:
    """The indexes that refuted something, by name."""
    found = planner.last.plan if planner.last is not None else None
    if found is None:
        return ""
    return ", ".join(dict.fromkeys(answer.name for answer in found.answers if answer.refuted))


def _warn(table: str, error: Exception) -> None:
    reason = f"{type(error).__name__}: {error}"
    message = "queries over %s are not pruned, and read what they read without indexes: %s"
    warn_once(log, (table, reason), message, table, reason)
