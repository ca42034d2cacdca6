"""Finds and mends damage to the catalog's files.

The newest whole generation holds, wherever it stands. It is certain to be the last one if no damaged file
claims a later number; if one does, what had changed until then is not known, and whoever uses the definitions
must not believe that their indexes are as they say.

Numbers are never given back: a damaged history file is exchanged for what is known, under its own number, so
that nobody who read the generation before it can take its place.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hudi_index.catalog.aside import INDEX_FOLDER
from hudi_index.catalog.catalog import HISTORY, INDEX_FILE, Catalog, generation_of, history_file
from hudi_index.catalog.definition import IndexState
from hudi_index.catalog.snapshot import CatalogSnapshot
from hudi_index.errors import CatalogCorruptError, HudiIndexError, StoragePlaceError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hudi_index.catalog.aside import Aside
    from hudi_index.catalog.definition import IndexDefinition
    from hudi_index.storage import Storage

__all__ = ["CatalogCheck", "mark_doubtful"]


@dataclass(frozen=True)
class CatalogCheck:
    """What a look at the catalog's files found."""

    storage: Storage
    newest: CatalogSnapshot
    """The newest whole generation, an empty one if none is."""
    is_certain: bool
    """Whether nothing later was lost."""
    damage: dict[str, str] = field(default_factory=dict)
    """What is wrong, by path below the table."""
    damaged_generations: tuple[int, ...] = ()

    @classmethod
    def of(cls, storage: Storage) -> CatalogCheck:
        """Look at all of them."""
        damage: dict[str, str] = {}
        found: dict[int, CatalogSnapshot] = {}
        damaged: list[int] = []
        for path in (INDEX_FOLDER, HISTORY):
            if storage.exists(path) and not storage.is_folder(path):
                damage[path] = "is a file where a folder should be"
        listed = [] if damage else storage.list(HISTORY)
        for file in listed:
            generation = generation_of(file.name)
            if generation is None:
                if not file.name.endswith(".tmp"):
                    damage[f"{HISTORY}/{file.name}"] = "is no file of the catalog"
                continue
            path = history_file(generation)
            try:
                snapshot = _read(storage, path)
                if snapshot.generation != generation:
                    raise _wrong(storage, path, f"says it is generation {snapshot.generation}")
                found[generation] = snapshot
            except CatalogCorruptError as error:
                damage[path] = error.reason
                damaged.append(generation)
        published = 0
        if storage.exists(INDEX_FILE):
            try:
                copy = _read(storage, INDEX_FILE)
                published = copy.generation
                found.setdefault(published, copy)
            except CatalogCorruptError as error:
                damage[INDEX_FILE] = error.reason
        newest = found[max(found)] if found else CatalogSnapshot()
        later = [each for each in damaged if each > newest.generation]
        # A later number that nothing leads to is no generation, as long as index.json says where we are.
        is_lost = newest.generation + 1 in later or (later and not published)
        is_certain = not is_lost and bool(found or not damage)
        return cls(storage, newest, is_certain, damage, tuple(damaged))

    def mend(self, aside: Aside, *, recovered: Collection[IndexDefinition] = ()) -> CatalogSnapshot:
        """Make the catalog whole, with definitions added that were found elsewhere; returns what holds.

        No index is left in service that may have been out of it. At each step readers find what holds now,
        or an error.
        """
        catalog = Catalog(self.storage)
        definitions = self.newest.definitions if self.is_certain else mark_doubtful(self.newest)
        last = self.newest.generation
        while last + 1 in self.damaged_generations:
            last += 1
        folders = (INDEX_FOLDER, HISTORY)
        for path in self.damage:
            if path in folders:
                aside.move(path)
        for generation in self.damaged_generations:
            path = history_file(generation)
            if generation > last:
                aside.move(path)
                continue
            aside.copy(path)
            content = replace(self.newest, generation=generation, definitions=definitions)
            self.storage.replace(path, content.to_bytes())
        if INDEX_FILE in self.damage:
            aside.copy(INDEX_FILE)
            if not last:
                self.storage.delete(INDEX_FILE)  # there is nothing to exchange it for
        for path in self.damage:
            if path.startswith(f"{HISTORY}/") and generation_of(path.rpartition("/")[2]) is None:
                aside.move(path)
        catalog.recover(recovered, mark_doubtful if not self.is_certain or recovered else tuple)
        catalog.publish()
        return catalog.load()


def mark_doubtful(definitions: Iterable[IndexDefinition]) -> tuple[IndexDefinition, ...]:
    """The same, out of service: nobody knows what was said of them last."""
    return tuple(
        each
        if each.state in (IndexState.BUILDING, IndexState.DROPPING)
        else each.with_state(IndexState.INVALID, "its definition was damaged and found again")
        for each in definitions
    )


def _read(storage: Storage, path: str) -> CatalogSnapshot:
    try:
        return CatalogSnapshot.from_bytes(storage.read(path), path=path)
    except (FileNotFoundError, StoragePlaceError) as error:
        raise _wrong(storage, path, "is no file") from error


def _wrong(storage: Storage, path: str, reason: str) -> HudiIndexError:
    return CatalogCorruptError(path=storage.uri_of(path), reason=reason)
