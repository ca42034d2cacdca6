"""Which of the file slices that Hudi lists a scan reads: the Python half of `IndexedFileIndex.java`.

Spark asks once per scan, in JSON: the query's filters as Catalyst's trees, what gives them their meaning, and
the slices of Hudi's own listing by name. The answer is a `1` or `0` for each slice. Hudi lists one moment of
the table and we look at another: a slice is left out only if our plan refuted that very slice, base file and
log files by name and size. What Hudi lists and we have not seen so is read.
"""

from __future__ import annotations

import itertools
import json
import logging
import threading
import traceback
import warnings
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import numpy as np

from hudi_index.catalog import Catalog
from hudi_index.metadata_table import MetadataTable
from hudi_index.planner import plan
from hudi_index.predicate import Calendar, Filters, Session
from hudi_index.spark.catalyst.trees import compile_source
from hudi_index.table import FileGroupId, Snapshot

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import numpy.typing as npt

    from hudi_index.planner import ScanPlan
    from hudi_index.storage import Storage
    from hudi_index.table import FileSlice

__all__ = [
    "FilePlanner",
    "ListedSlice",
    "NotPlannedWarning",
    "SparkPlan",
    "index_factory",
    "index_loader",
    "last_plans",
    "make_unplanned_index",
]

_REMEMBERED = 100
_FIRST_VERSION_WITH_INSTANT_IN_LOG_NAME = 8

log = logging.getLogger(__name__)
_plans: deque[SparkPlan] = deque(maxlen=_REMEMBERED)
_numbers = itertools.count(1)
_seen: WeakValueDictionary[tuple[str, str | None], Snapshot] = WeakValueDictionary()
"""The newest look at each table, by URI and instant, while anybody has it: it may do for the next one."""


class NotPlannedWarning(UserWarning):
    """A scan reads the whole table because it could not be planned."""


@dataclass(frozen=True)
class SparkPlan:
    """One scan as it was planned."""

    path: str
    predicate: str
    """The filters that were put to the indexes."""
    total: int
    """File slices that Hudi lists."""
    kept: int
    """Those that are read, before Spark prunes partitions."""
    time_zone: str
    plan: ScanPlan | None = None
    """Which index said what; None if there was nothing to ask."""
    error: str | None = None
    """Why everything is read."""
    number: int = 0
    """Which of the plans of this process it is."""

    def explain(self) -> str:
        """The plan for people."""
        lines = [f"table         {self.path}", f"scan          {self.kept} of {self.total} file slices"]
        if self.plan is not None:
            lines.append(self.plan.explain())
        if self.error is not None:
            lines.append(f"failed        {self.error}")
        return "\n".join(lines)


def last_plans(count: int | None = None) -> list[SparkPlan]:
    """The latest scans that this process planned, newest last; at most a hundred are remembered."""
    found = list(_plans)
    return found if count is None else found[len(found) - min(count, len(found)) :]


SliceKey = str | tuple[str, str | None, tuple[tuple[str | int, ...], ...]]
"""The path of a base file without logs; else partition path, base file, and what tells log from log."""


@dataclass
class FilePlanner:
    """Answers the planning of scans of one table, in as many threads as Spark plans in."""

    storage: Storage
    as_of: str | None = None
    is_strict: bool = False
    only: Collection[str] | None = None
    """The indexes to ask, whatever that costs; None for those that pay."""
    options: Mapping[str, str] = field(default_factory=dict)
    """What Hudi's reader was told."""
    seen: Snapshot | None = None
    """The table as we see it; looked at when first needed if None."""
    last: SparkPlan | None = None
    """The newest plan."""
    metadata_table: MetadataTable | None = None
    """Of that table, if somebody keeps it between planners; so the catalog."""
    catalog: Catalog | None = None
    _positions: npt.NDArray[np.int64] | None = None
    """Where each slice of the snapshot stands in Hudi's listing, -1 for one that is not there."""
    _count: int = 0
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def __post_init__(self) -> None:
        self._metadata_table = self.metadata_table or MetadataTable.of(self.storage)
        self._catalog = self.catalog or Catalog(self.storage)

    @property
    def snapshot(self) -> Snapshot:
        """The table as we see it, looked at once."""
        with self._lock:
            if self.seen is None:
                key = (self.storage.uri, self.as_of)
                self.seen = Snapshot.load(self.storage, self.as_of, known=_seen.get(key))
                _seen[key] = self.seen
            return self.seen

    def apply(self, request: str) -> str:
        """The answer to one scan; java.util.function.Function."""
        return json.dumps(self.answer(json.loads(request)))

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The same, of what JSON says and to be said in JSON."""
        with self._lock:
            if "slices" not in asked and self._positions is None:
                return {"slices_wanted": True}
            try:
                # What breaks here must not break the query: reading everything is right.
                return {"keep": self.keep(asked)}
            except Exception as error:  # noqa: BLE001
                return self._note_failure(asked, error)

    def keep(self, asked: dict[str, Any]) -> str:
        """A `1` for each slice to read, in the order of the listing."""
        if "slices" in asked:
            self._count = len(asked["slices"])
            self._positions = self._positions_in(asked["slices"])
            unseen = self._count - int(np.count_nonzero(self._positions >= 0))
            log.debug(
                "Hudi lists %d file slices of %s, %d unseen by us", self._count, self.storage.uri, unseen
            )
        assert self._positions is not None
        filters = _filters_of(asked)
        found, is_kept = None, np.ones(self._count, np.bool_)
        if filters.trees:
            found = plan(
                self._metadata_table,
                self.storage,
                filters,
                snapshot=self.snapshot,
                catalog=self._catalog,
                only=self.only,
                calendar=Calendar.of_session(asked["calendar"], self.options),
            )
            is_refuted = np.ones(found.total, np.bool_)
            is_refuted[found.positions] = False
            refuted = self._positions[is_refuted]
            is_kept[refuted[refuted >= 0]] = False
        self._remember(filters, int(is_kept.sum()), plan=found)
        log.debug("a scan of %s reads %d of %d file slices", self.storage.uri, is_kept.sum(), self._count)
        return np.where(is_kept, b"1", b"0").tobytes().decode()

    def _note_failure(self, asked: dict[str, Any], error: Exception) -> dict[str, Any]:
        told = f"{type(error).__name__}: {error}"
        self._remember(_filters_of(asked), self._count, error=told)
        if self.is_strict:
            return {"error": "".join(traceback.format_exception(error))}
        self.warn(error)
        return {"keep": None}

    def warn(self, error: Exception) -> None:
        """Say that a scan reads everything, and why."""
        log.warning("can't plan a scan of %s: everything is read", self.storage.uri, exc_info=error)
        told = f"{type(error).__name__}: {error}"
        message = f"can't plan a scan of {self.storage.uri}, everything is read: {told}"
        warnings.warn(message, NotPlannedWarning, stacklevel=3)

    def _remember(self, filters: Filters, kept: int, **facts: Any) -> None:
        zone = filters.session.time_zone
        self.last = SparkPlan(
            self.storage.uri, filters.text, self._count, kept, zone, number=next(_numbers), **facts
        )
        _plans.append(self.last)

    @property
    def _is_named_by_instant(self) -> bool:
        return self.snapshot.config.version >= _FIRST_VERSION_WITH_INSTANT_IN_LOG_NAME

    def _positions_in(self, listed: Sequence[Any]) -> npt.NDArray[np.int64]:
        """Where each slice of the snapshot stands in Hudi's listing."""
        positions = {self._key_of(each): position for position, each in enumerate(listed)}
        found = (positions.get(self._key(file_slice), -1) for file_slice in self.snapshot.slices)
        return np.fromiter(found, np.int64, len(self.snapshot.slices))

    def _key_of(self, listed: Any) -> SliceKey:
        """What tells a slice of Hudi's listing from any other."""
        if isinstance(listed, str):
            return listed
        partition_path, file_id, base_file, logs = listed
        found = []
        for name, size, modified in logs:
            if name.endswith(".cdc") or self._is_later(name, file_id):
                continue
            found.append((name, size) if self._is_named_by_instant else (name, size, modified))
        if base_file is not None and not found:
            return FileGroupId(partition_path, file_id).path_of(base_file)
        return partition_path, base_file, tuple(sorted(found))

    def _is_later(self, log_name: str, file_id: str) -> bool:
        """Whether a log is newer than `as_of`: Hudi lists it, and leaves its records out when reading."""
        as_of = self.snapshot.as_of
        if as_of is None or not self._is_named_by_instant:
            return False
        return log_name.removeprefix(f".{file_id}_").partition(".")[0] > as_of

    def _key(self, file_slice: FileSlice) -> SliceKey:
        if file_slice.base_file is not None and not file_slice.log_files:
            return file_slice.group.path_of(file_slice.base_file)
        logs = (
            zip(file_slice.log_files, file_slice.log_sizes, strict=True)
            if self._is_named_by_instant
            else zip(file_slice.log_files, file_slice.log_sizes, file_slice.log_times, strict=True)
        )
        return file_slice.group.partition_path, file_slice.base_file, tuple(sorted(logs))

    class Java:
        """What py4j makes of it."""

        implements: ClassVar[list[str]] = ["java.util.function.Function"]


def _filters_of(asked: dict[str, Any]) -> Filters:
    filters = asked["filters"]
    trees, texts = [each["tree"] for each in filters], [each["text"] for each in filters]
    return Filters(trees, texts, Session.of_spark(asked["session"]))


class ListedSlice(NamedTuple):
    """One file slice of Hudi's own listing."""

    group: FileGroupId
    base_file: str | None
    logs: list[tuple[str, int, int]]
    """Name, size and modification time; -1 for what Hudi does not know."""
    path: str
    """What Spark calls the file that the slice's rows come from."""

    @classmethod
    def of(cls, told: Sequence[Any]) -> ListedSlice:
        """A slice as `listing()` tells it."""
        partition_path, file_id, base_file, logs, path = told
        return cls(FileGroupId(partition_path, file_id), base_file, [tuple(each) for each in logs], path)


_SOURCE = "IndexedFileIndex.java"
_FACTORY = "hudi_index.IndexedFileIndex$Factory"


def index_factory(gateway: Any, hudi_index: Any) -> Any:
    """What makes IndexedFileIndex objects in the JVM of a gateway, compiled there when first asked for.

    Raises:
        UserError: if there is nothing to compile it with.
    """
    return index_loader(gateway, hudi_index.getClass().getClassLoader()).loadClass(_FACTORY).newInstance()


def index_loader(gateway: Any, beneath: Any) -> Any:
    """The class loader with IndexedFileIndex, over the one that Hudi's own comes from. Raises as above."""
    return compile_source(gateway, compile_source(gateway, beneath), _SOURCE, package=__package__)


def make_unplanned_index(gateway: Any, hudi_index: Any) -> Any:
    """An IndexedFileIndex that asks nobody: `listing()` tells its slices, `planned(keep)` chooses some."""
    return index_factory(gateway, hudi_index).over(hudi_index, None, True)  # noqa: FBT003  a call of Java's
