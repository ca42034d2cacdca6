"""Four processes at one table in an object store that loses answers, while some of them are killed.

Every commit that was reported is there once, and no other is there unless its process died, or was told that
the store did not answer.
"""

from __future__ import annotations

import json
import random
import time
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.errors import ConflictError, LeaseHeldError, StorageUnreachableError
from hudi_index.metadata_table.ledger import WriterId
from hudi_index.metadata_table.table import MetadataTable, Settings
from hudi_index.storage import Storage
from tests.store.support import by_hudi_rs, entries_of, ours
from tests.support.entries import check_indexes
from tests.support.own_processes import OWN_PROCESSES
from tests.support.rough_proxy import Request, Trouble, rough_proxy
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.object_store import ObjectStore

PROCESSES = 4
PATIENCE = 600

LOST = Trouble(name="lost")
LOST_AFTER = Trouble(name="lost after", is_done=True)
LATE = Trouble(name="late", is_done=True, is_late=True, delay=0.3)
SLOW = Trouble(name="slow", status=200, is_done=True, delay=0.3)
CUT = Trouble(name="cut", status=200, is_done=True, is_cut=True)
CONFLICT = Trouble(name="409", status=409, code="ConditionalRequestConflict")
KILLED = Trouble(name="killed", kills=True)
KILLED_AFTER = Trouble(name="killed after", kills=True, is_done=True)
FAILURES = [
    Trouble(name=f"{status}{' after' if is_done else ''}", status=status, code=code, is_done=is_done)
    for status, code in ((500, "InternalError"), (503, "SlowDown"))
    for is_done in (False, True)
]
OF_ALL = [LOST, LOST_AFTER, SLOW, *FAILURES]
OF_READS = [CUT, *OF_ALL]
OF_CHANGES = [LATE, *OF_ALL]
OF_CREATES = [CONFLICT, *OF_CHANGES]


class Weather:
    """What goes wrong, by chance: rarely with reads, often where it is decided who is first."""

    def __init__(self, seed: int, kills: int = 0) -> None:
        self.kills = kills
        """How many more processes die."""
        self._chance = random.Random(seed)
        self._reads, self._changes, self._creates, self._deaths = (
            self._deal(kinds) for kinds in (OF_READS, OF_CHANGES, OF_CREATES, [KILLED, KILLED_AFTER])
        )

    def _deal(self, kinds: list[Trouble]) -> Iterator[Trouble]:
        """Each kind once before one comes again."""
        while True:
            yield from self._chance.sample(kinds, len(kinds))

    def __call__(self, request: Request) -> Trouble | None:
        is_change, luck = request.method not in ("GET", "HEAD"), self._chance.random()
        if self.kills and luck < (0.04 if is_change else 0.01):
            self.kills -= 1
            return next(self._deaths)
        if luck > (0.8 if request.is_conditional else 0.97):
            dealt = self._creates if request.is_conditional else self._changes if is_change else self._reads
            return next(dealt)
        return None


@dataclass(frozen=True)
class Place:
    """Where a process finds the table, and who it is."""

    uri: str
    options: dict[str, str]
    name: str
    report: Path
    is_far: bool = False
    """It counts as one of another machine, with a lease that is shorter than some commits."""

    def storage(self) -> Storage:
        return Storage.open(self.uri, {**self.options, "aws_user_agent": self.name})

    def table(self) -> MetadataTable:
        if not self.is_far:
            return MetadataTable(self.storage())
        settings, owner = Settings(lease=timedelta(seconds=2)), WriterId(self.name, "elsewhere", 1, "")
        return MetadataTable(self.storage(), settings, owner=owner, renews_lease=False)

    def tell(self, *words: str) -> None:
        # Opened anew each time, so that it is the system's before anything else happens.
        with self.report.open("a") as report:
            report.write(json.dumps(words) + "\n")

    def told(self) -> list[list[str]]:
        return [json.loads(line) for line in self.report.read_text().splitlines()]


def _commit(place: Place, goal: int) -> None:
    """Commit, each time one entry, until all together have made so many commits."""
    table, chance = place.table(), random.Random(place.name)
    place.report.touch()
    for turn in count():
        key = f"{place.name}${turn:05d}"
        try:
            with table.begin() as transaction:
                # Each commit counts itself in: a lost update would show as a gap.
                done = int(transaction.view.state.data_snapshot.get("count", "0"))
                if done >= goal:
                    return
                place.tell("tries", key, transaction.requested_time)
                if place.is_far and chance.random() < 0.1:
                    time.sleep(2.5)
                entries = entries_of({key: transaction.requested_time})
                transaction.add([transaction.writer.write_log("files", 0, upserts=entries)])
                transaction.commit({"count": str(done + 1)})
            place.tell("made", key)
            if chance.random() < 0.1:
                table.compact(force=True)
        except ConflictError as error:
            place.tell("lost", key, str(error))
            time.sleep((0.2 if isinstance(error, LeaseHeldError) else 0.05) * chance.random())
        except StorageUnreachableError as error:
            place.tell("unsure", key, str(error))


def _read(place: Place) -> None:
    place.report.write_text(json.dumps(ours(MetadataTable(place.storage()))))


@dataclass
class Crew:
    """Processes, of which dead ones are replaced."""

    work: Callable[..., None]
    arguments: tuple[Any, ...]
    place_of: Callable[[str], Place]
    running: dict[str, Any] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    killed: set[str] = field(default_factory=set)

    def start(self) -> None:
        name = f"p{len(self.places)}"
        self.places[name] = place = self.place_of(name)
        self.running[name] = OWN_PROCESSES.Process(target=self.work, args=(place, *self.arguments))
        self.running[name].start()

    def kill(self, name: str) -> None:
        self.running[name].kill()

    def run(self) -> None:
        """Until all have ended by themselves."""
        try:
            for _ in range(PROCESSES):
                self.start()
            while self.running:
                assert wait([each.sentinel for each in self.running.values()], PATIENCE), "nothing goes on"
                for name, process in [*self.running.items()]:
                    if process.exitcode is None:
                        continue
                    del self.running[name]
                    assert process.exitcode in (0, -9), f"{name} ended with {process.exitcode}"
                    if process.exitcode:
                        self.killed.add(name)
                        self.start()
        finally:
            for process in self.running.values():
                process.kill()
                process.join()


@pytest.fixture
def folder(object_store: ObjectStore, tmp_path: Path) -> Path:
    return object_store.bucket / tmp_path.parent.name / tmp_path.name


def _uri_of(store: ObjectStore, folder: Path) -> str:
    return f"s3a://{folder.relative_to(store.folder)}"


def _check_commits(
    store: ObjectStore, folder: Path, reports: Path, *, seed: int, goal: int, kills: int, is_far: bool
) -> None:
    uri = _uri_of(store, folder)
    table = MetadataTable(Storage.open(uri, store.options))
    table.create()
    with table.begin(shards={"files": 1}) as transaction:
        empty = pa.table({"key": pa.array([], pa.string())})
        transaction.add([transaction.writer.write_base("files", 0, [empty])])
        transaction.commit()
    weather = Weather(seed, kills)
    with rough_proxy(store.endpoint, weather, lambda name: crew.kill(name)) as proxy:
        options = {**store.options, "aws_endpoint": proxy.endpoint}
        crew = Crew(_commit, (goal,), lambda name: Place(uri, options, name, reports / name, is_far))
        crew.run()

    tried: dict[str, str] = {}
    outcomes: dict[str, str] = {}
    for place in crew.places.values():
        for outcome, key, *rest in place.told():
            if outcome == "tries":
                tried[key] = rest[0]
            elif outcomes.get(key) != "made":  # what comes after it is about a compaction
                outcomes[key] = outcome
    made = {key: tried[key] for key, outcome in outcomes.items() if outcome == "made"}
    found = by_hudi_rs(folder)["files"]
    # Each reported commit is there.
    assert {key: found.get(key) for key in made} == made
    # Each other one that is there was about to be reported when its process died, or is in doubt.
    for key in found.keys() - made.keys():
        assert outcomes.get(key, "killed") == "unsure" or (key not in outcomes and key[:-6] in crew.killed)
        assert found[key] == tried[key]
    # A chain without forks or gaps: as many counts as commits, and each of them once in the timeline.
    view = MetadataTable(Storage.open(uri, store.options)).view()
    instants = [each.instant.requested_time for each in view.commits if each.instant.action == "deltacommit"]
    assert sorted(instants) == sorted([transaction.requested_time, *found.values()])  # type: ignore[type-var]
    assert view.state.data_snapshot == {"count": str(len(found))}
    assert len(found) == goal
    # A new process reads the same.
    reader = Place(uri, store.options, "reader", reports / "reader")
    process = OWN_PROCESSES.Process(target=_read, args=(reader,))
    process.start()
    process.join(PATIENCE)
    assert json.loads(reader.report.read_text()) == {"files": found}
    # All of it happened.
    assert weather.kills == 0
    assert len(crew.killed) == len(crew.places) - PROCESSES > 0
    assert {each.name for each in OF_CREATES} <= proxy.seen.keys()


def test_commits_of_killed_processes_with_lost_answers_are_there_once(
    object_store: ObjectStore, folder: Path, tmp_path: Path
) -> None:
    _check_commits(object_store, folder, tmp_path, seed=1, goal=15, kills=3, is_far=False)


@pytest.mark.slow
@pytest.mark.parametrize("is_far", [False, True], ids=["one machine", "several machines"])
@pytest.mark.parametrize("seed", range(2, 5))
def test_many_commits_of_killed_processes_with_lost_answers_are_there_once(
    object_store: ObjectStore, folder: Path, tmp_path: Path, seed: int, is_far: bool
) -> None:
    _check_commits(object_store, folder, tmp_path, seed=seed, goal=300, kills=50, is_far=is_far)


STATEMENTS = {
    "by_n": "CREATE INDEX IF NOT EXISTS by_n ON t (n)",
    "stats": "CREATE INDEX IF NOT EXISTS stats ON t USING column_stats (n, region)",
    "regions": "CREATE INDEX IF NOT EXISTS regions ON t USING bitmap (region)",
}


def _work(place: Place, staging: Path, rounds: int) -> None:
    """The first writes the table and maintains its indexes, the others make and drop one each."""
    table, chance = IndexedTable(place.storage()), random.Random(place.name)
    number = int(place.name[1:])

    def do(verb: Callable[[], object]) -> None:
        while True:
            try:
                verb()
            except (ConflictError, StorageUnreachableError):
                time.sleep(0.2 * chance.random())
            else:
                return

    for turn in range(1, rounds + 1):
        if number == 0:
            _change(Fabricated(staging, partition_fields=""), place.storage(), turn, chance)
            do(table.maintain)
            continue
        name = list(STATEMENTS)[number - 1]
        do(lambda: table.sql(STATEMENTS[name]))  # noqa: B023  called at once
        do(table.maintain)
        if turn < rounds:
            do(lambda: table.sql(f"DROP INDEX IF EXISTS {name} ON t"))  # noqa: B023  called at once


def _change(table: Fabricated, storage: Storage, turn: int, chance: random.Random) -> None:
    """Write some file groups anew, as a writer of the table does: first the files, then the commit."""
    instant = f"202401{turn + 1:02d}000000000"
    for group in chance.sample("abcde", 2):
        rows = [{"id": f"{group}{each}", "n": chance.randrange(50), "region": "eu"} for each in range(50)]
        name = table.base_file("", group, instant, rows)
        storage.write(name, (table.path / name).read_bytes())
    table.commit(instant)
    for file in sorted((table.path / table.timeline_folder).glob(f"{instant}*")):
        storage.write(f"{table.timeline_folder}/{file.name}", file.read_bytes())


def _check_verbs(store: ObjectStore, folder: Path, path: Path, *, seed: int, rounds: int) -> None:
    table = Fabricated(folder, partition_fields="")
    for group in "abcde":
        table.base_file("", group, "20240101000000000", [{"id": f"{group}1", "n": 1, "region": "us"}])
    table.commit("20240101000000000")
    uri = _uri_of(store, folder)
    with rough_proxy(store.endpoint, Weather(seed)) as proxy:
        options = {**store.options, "aws_endpoint": proxy.endpoint}
        arguments = (path / "staging", rounds)
        Crew(_work, arguments, lambda name: Place(uri, options, name, path / name)).run()

    indexed = IndexedTable(Storage.open(uri, store.options))
    assert {each.name: each.state for each in indexed.indexes()} == dict.fromkeys(
        STATEMENTS, IndexState.READY
    )
    indexed.maintain()
    check_indexes(indexed.storage)
    assert indexed.maintain().commit is None
    assert {each.name for each in OF_CREATES} <= proxy.seen.keys()


def test_indexes_are_right_after_verbs_of_four_processes_with_lost_answers(
    object_store: ObjectStore, folder: Path, tmp_path: Path
) -> None:
    _check_verbs(object_store, folder, tmp_path, seed=1, rounds=2)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_indexes_are_right_after_many_verbs_of_four_processes_with_lost_answers(
    object_store: ObjectStore, folder: Path, tmp_path: Path, seed: int
) -> None:
    _check_verbs(object_store, folder, tmp_path, seed=seed, rounds=20)
