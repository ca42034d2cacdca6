"""All indexes of a table at one generation, and the file that holds them.

    {
      "about":      for the person who opens the file,
      "version":    1,
      "generation": 1, 2, … : which change of the catalog this is,
      "indexes":    [definitions, sorted by name],
      "digest":     of all but "about": tells a whole file from one that was changed
    }

A snapshot is a value. Its `with_…` methods return the next generation and leave this one as it is.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hudi_index.catalog.definition import IndexDefinition
from hudi_index.catalog.digest import digest_of
from hudi_index.errors import CatalogCorruptError, IndexExistsError, NoSuchIndexError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

__all__ = ["CatalogSnapshot"]

VERSION = 1
_NAME = "catalog"
"""The same for all generations: index.json is a copy of one, which says which."""

ABOUT = (
    "The indexes of this table, kept by hudi-index. Change them with CREATE, DROP and REBUILD INDEX; "
    "what is edited by hand is not believed."
)


@dataclass(frozen=True)
class CatalogSnapshot:
    """The definitions, by name."""

    generation: int = 0
    """0 is the table that never had an index."""
    definitions: tuple[IndexDefinition, ...] = ()

    def __iter__(self) -> Iterator[IndexDefinition]:
        return iter(self.definitions)

    def find(self, name: str) -> IndexDefinition | None:
        """The index of that name, in whatever case."""
        return next((each for each in self.definitions if each.key == name.lower()), None)

    def definition_of(self, name: str) -> IndexDefinition:
        """The index of that name, in whatever case. Raises NoSuchIndexError."""
        found = self.find(name)
        if found is None:
            raise NoSuchIndexError(name=name, known=[each.name for each in self.definitions])
        return found

    def with_added(self, definition: IndexDefinition) -> CatalogSnapshot:
        """The next generation, with one index more. Raises IndexExistsError."""
        found = self.find(definition.name)
        if found is not None:
            raise IndexExistsError(name=found.name)
        return self._next((*self.definitions, definition))

    def with_changed(self, definition: IndexDefinition) -> CatalogSnapshot:
        """The next generation, with the index of that name changed. Raises NoSuchIndexError."""
        old = self.definition_of(definition.name)
        return self._next(definition if each is old else each for each in self.definitions)

    def without(self, name: str) -> CatalogSnapshot:
        """The next generation, with one index less. Raises NoSuchIndexError."""
        gone = self.definition_of(name)
        return self._next(each for each in self.definitions if each is not gone)

    def with_definitions(self, definitions: Iterable[IndexDefinition]) -> CatalogSnapshot:
        """The next generation, with other definitions."""
        return self._next(definitions)

    def _next(self, definitions: Iterable[IndexDefinition]) -> CatalogSnapshot:
        ordered = tuple(sorted(definitions, key=lambda each: each.key))
        return replace(self, generation=self.generation + 1, definitions=ordered)

    def to_bytes(self) -> bytes:
        """The content of the file."""
        facts = {
            "version": VERSION,
            "generation": self.generation,
            "indexes": [each.as_dict() for each in self.definitions],
        }
        content = {"about": ABOUT, **facts, "digest": digest_of(facts, _NAME)}
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        # Half a surrogate pair has no UTF-8; Python's backslash form of it is JSON's escape.
        return text.encode("utf-8", errors="backslashreplace")

    @classmethod
    def from_bytes(cls, data: bytes, *, path: str) -> CatalogSnapshot:
        """The snapshot that the file `path` holds.

        Raises:
            CatalogCorruptError: if the content is not one, or one of a newer version.
        """
        content = _object_of(data, path)
        # The version goes first: a newer one may differ in everything else.
        if type(content.get("version")) is not int or content["version"] != VERSION:
            raise CatalogCorruptError(
                path=path,
                reason=f"has version {content.get('version')!r}; this release reads version {VERSION}",
            )
        # Up to 0.1 there was a field more, `table`, which nobody read.
        fields = ("version", "generation", "indexes", *(["table"] if "table" in content else []))
        facts = {name: content.get(name) for name in fields}
        if "digest" in content and content["digest"] != digest_of(facts, _NAME):
            raise CatalogCorruptError(path=path, reason="was changed by other means than hudi-index")
        generation, indexes = content.get("generation"), content.get("indexes")
        if type(generation) is not int or generation < 1:
            raise CatalogCorruptError(path=path, reason=f"generation {generation!r} is no positive number")
        if not isinstance(indexes, list):
            raise CatalogCorruptError(path=path, reason="indexes is no list")
        definitions = [IndexDefinition.from_dict(each, path=path) for each in indexes]
        if len({each.key for each in definitions}) < len(definitions):
            raise CatalogCorruptError(path=path, reason="two indexes have the same name")
        return cls(generation, tuple(sorted(definitions, key=lambda each: each.key)))


def _object_of(data: bytes, path: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    # Deep nesting exhausts the decoder's stack.
    except (ValueError, RecursionError) as error:
        raise CatalogCorruptError(path=path, reason=f"is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise CatalogCorruptError(path=path, reason="is no JSON object")
    return content
