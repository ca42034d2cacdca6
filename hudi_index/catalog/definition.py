"""One index: what it is over, how it is kept, and whether queries may use it.

A definition is a value: frozen, picklable, equal by content. It holds only what fits together, so whoever
has one need not check it again. Its JSON form is one entry of `index.json`:

    {"name", "id", "kind", "source_fields", "source_types", "expression", "expression_type", "meaning",
     "options", "state", "reason", "created_time", "changed_time", "version"}

`meaning` may be absent: definitions of before it have none, and queries don't use such an expression.

Names become folders of the index metadata table. They are ASCII letters, digits, `_` and `-`, begin with
a letter or `_`, and have at most 128 characters, so that the longest file name made from one stays below
255 bytes. They are stored and used as written but compared without case, quoted or not: Spark's identifiers
ignore case, and so do some file systems, where two folders that differ only in case would be one.

The folder of an index (`partition`):

    any kind over an expression     func_index_<name>          RFC-63
    secondary_index                 secondary_index_<name>     RFC-77
    column_stats, bloom_filters, record_index                  the kind's name, shared by all indexes of it
    bitmap                          bitmap_index               RFC-92, shared as well

`partition_stats` is derived from column_stats and is nobody's to create.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from hudi_index.catalog.options import checked_options
from hudi_index.errors import (
    CatalogCorruptError,
    InvalidDefinitionError,
    InvalidNameError,
    UnknownIndexKindError,
    UserError,
)
from hudi_index.predicate.catalyst.meaning import Meaning
from hudi_index.predicate.sql.canonical import with_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["IndexDefinition", "IndexState", "Kind", "check_name"]

VERSION = 1
"""The newest layout of index entries, and of the JSON form, that this code knows."""

MAX_NAME_LENGTH = 128


class Kind(str, Enum):
    """The kinds of index that a user may create."""

    COLUMN_STATS = "column_stats"
    BLOOM_FILTERS = "bloom_filters"
    RECORD_INDEX = "record_index"
    SECONDARY_INDEX = "secondary_index"
    BITMAP = "bitmap"

    def __str__(self) -> str:
        return self.value

    @classmethod
    def parse(cls, text: str) -> Kind:
        """The kind that `USING text` means, by its name or a name the RFCs use for it.

        Raises:
            UnknownIndexKindError: if there is no such kind.
        """
        word = text.lower()
        kind = _ALIASES.get(word)
        if kind is not None:
            return kind
        try:
            return cls(word)
        except ValueError:
            raise UnknownIndexKindError(kind=text, known=[kind.value for kind in cls]) from None


_ALIASES = {
    "bitmap_index": Kind.BITMAP,
    "bitmaps": Kind.BITMAP,
    "bloom": Kind.BLOOM_FILTERS,
    "bloom_filter": Kind.BLOOM_FILTERS,
    "bloomfilter": Kind.BLOOM_FILTERS,
    "col_stats": Kind.COLUMN_STATS,
    "column_stat": Kind.COLUMN_STATS,
    "record_level": Kind.RECORD_INDEX,
    "record_level_index": Kind.RECORD_INDEX,
    "secondary": Kind.SECONDARY_INDEX,
}


class IndexState(str, Enum):
    """How far an index is in its life. Queries use `ready` ones only."""

    BUILDING = "building"
    READY = "ready"
    INVALID = "invalid"
    DROPPING = "dropping"

    def __str__(self) -> str:
        return self.value

    def may_become(self, state: IndexState) -> bool:
        """Whether the step is one of the lifecycle's."""
        return state is self or state in _NEXT[self]


# `invalid` reaches `ready` only through a rebuild: a builder that finishes late must not overrule a
# validation that failed. `dropping` leads nowhere: part of its entries may be gone.
_NEXT = {
    IndexState.BUILDING: (IndexState.READY, IndexState.INVALID, IndexState.DROPPING),
    IndexState.READY: (IndexState.BUILDING, IndexState.INVALID, IndexState.DROPPING),
    IndexState.INVALID: (IndexState.BUILDING, IndexState.DROPPING),
    IndexState.DROPPING: (),
}


def check_name(name: str) -> None:
    """Raise InvalidNameError unless the name can be a folder's everywhere."""
    if not name:
        reason = "is empty"
    elif len(name) > MAX_NAME_LENGTH:
        reason = f"has {len(name)} characters; at most {MAX_NAME_LENGTH} fit into file names"
    elif not re.fullmatch(r"[A-Za-z0-9_-]+", name):
        reason = "has other characters than letters, digits, '_' and '-'"
    elif not re.match(r"[A-Za-z_]", name):
        reason = "does not begin with a letter or '_'"
    else:
        return
    raise InvalidNameError(name=name, reason=reason)


@dataclass(frozen=True)
class IndexDefinition:
    """An index as the catalog keeps it."""

    name: str
    kind: Kind
    source_fields: tuple[str, ...]
    """The columns read to build it, in order, as the table spells them; `a.b` is field b of struct a."""
    expression: str | None = None
    """Spark SQL over the source fields, in canonical form; None for an index over the columns themselves."""
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    state: IndexState = IndexState.BUILDING
    reason: str | None = None
    """Why it is invalid."""
    id: str = ""
    """Made by the catalog: tells an index from a later one of the same name."""
    source_types: tuple[str, ...] = ()
    """The source fields' types when the index was built: a later change makes it invalid."""
    expression_type: str | None = None
    """The type of the expression's values, in Spark's words."""
    meaning: Meaning | None = None
    """What Spark made of the expression: the trees and the settings that its values were computed by."""
    created_time: str | None = None
    changed_time: str | None = None
    """ISO 8601 in UTC, by the clock of whoever made the change: for people, not for ordering."""
    version: int = VERSION

    def __post_init__(self) -> None:
        check_name(self.name)
        self._check_source_fields()
        options = checked_options(self.options, kind=self.kind.value, has_expression=self.is_functional)
        object.__setattr__(self, "options", options)
        if (self.state is IndexState.INVALID) != bool(self.reason):
            self._refuse(f"it is {self.state} with reason {self.reason!r}; only an invalid one has any")

    def _check_source_fields(self) -> None:
        if not self.source_fields:
            self._refuse("it is over no column")
        for path in self.source_fields:
            if not path.isprintable() or not all(part.strip() for part in path.split(".")):
                self._refuse(f"{path!r} is no column")
        if len({path.lower() for path in self.source_fields}) < len(self.source_fields):
            self._refuse(f"a column stands twice in {', '.join(self.source_fields)}")
        if self.is_functional and self.kind is Kind.RECORD_INDEX:
            self._refuse("a record_index is over the record key, not over an expression")

    def _refuse(self, reason: str) -> None:
        raise InvalidDefinitionError(name=self.name, reason=reason)

    @property
    def is_functional(self) -> bool:
        """Whether it is over an expression."""
        return self.expression is not None

    @property
    def key(self) -> str:
        """The name as it is compared."""
        return self.name.lower()

    @property
    def partition(self) -> str:
        """Its folder in the index metadata table."""
        if self.is_functional:
            return f"func_index_{self.name}"
        if self.kind is Kind.SECONDARY_INDEX:
            return f"secondary_index_{self.name}"
        return "bitmap_index" if self.kind is Kind.BITMAP else self.kind.value

    def with_state(self, state: IndexState, reason: str | None = None) -> IndexDefinition:
        """A copy in another state."""
        return replace(self, state=state, reason=reason)

    def with_columns_as(self, spelling: Callable[[str], str]) -> IndexDefinition:
        """A copy whose columns are spelled as a function spells them, in the expression as well."""
        if self.expression is None:
            return replace(self, source_fields=tuple(map(spelling, self.source_fields)))
        read: dict[str, None] = {}

        def spelled(path: tuple[str, ...]) -> tuple[str, ...]:
            found = spelling(".".join(path))
            read[found] = None
            return tuple(found.split("."))

        expression = with_columns(self.expression, spelled)
        return replace(self, expression=expression, source_fields=tuple(read))

    def with_options(self, options: Mapping[str, str]) -> IndexDefinition:
        """A copy with these options set, the others as they are."""
        changed = checked_options(options, kind=self.kind.value, has_expression=self.is_functional)
        return replace(self, options={**self.options, **changed})

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {
            "name": self.name,
            "id": self.id,
            "kind": self.kind.value,
            "source_fields": list(self.source_fields),
            "source_types": list(self.source_types),
            "expression_type": self.expression_type,
            "expression": self.expression,
            "meaning": self.meaning.as_dict() if self.meaning else None,
            "options": dict(self.options),
            "state": self.state.value,
            "reason": self.reason,
            "created_time": self.created_time,
            "changed_time": self.changed_time,
            "version": self.version,
        }

    @classmethod
    def from_dict(cls, data: object, *, path: str) -> IndexDefinition:
        """The definition that `data`, read from the file `path`, is the JSON form of.

        Raises:
            CatalogCorruptError: if it is not one, or one of a newer version.
        """
        if not isinstance(data, dict):
            raise CatalogCorruptError(path=path, reason=f"{data!r} is no index definition")
        label = f"index {data.get('name')!r}"
        # The version goes first: a newer one may differ in everything else.
        if data.get("version") != VERSION or isinstance(data["version"], bool):
            raise CatalogCorruptError(
                path=path,
                reason=f"{label} has version {data.get('version')!r}; this release reads version {VERSION}",
            )
        data = {"meaning": None, **data}
        if set(data) != {each.name for each in fields(cls)}:
            odd = sorted({each.name for each in fields(cls)} ^ {str(name) for name in data})
            raise CatalogCorruptError(path=path, reason=f"{label} lacks or adds {', '.join(odd)}")
        _check_types(data, path=path, label=label)
        try:
            return cls(
                **{
                    **data,
                    "kind": Kind(data["kind"]),
                    "state": IndexState(data["state"]),
                    "source_fields": tuple(data["source_fields"]),
                    "source_types": tuple(data["source_types"]),
                    "meaning": None if data["meaning"] is None else Meaning.from_dict(data["meaning"]),
                }
            )
        except (UserError, ValueError) as error:
            raise CatalogCorruptError(path=path, reason=f"{label}: {error}") from error


def _check_types(data: Mapping[str, Any], *, path: str, label: str) -> None:
    texts = ("name", "id", "kind", "state")
    optional_texts = ("expression", "expression_type", "reason", "created_time", "changed_time")
    wrong = [name for name in texts if not isinstance(data[name], str)]
    wrong += [name for name in optional_texts if not isinstance(data[name], (str, type(None)))]
    for name in ("source_fields", "source_types"):
        if not isinstance(data[name], list) or not _are_texts(data[name]):
            wrong.append(name)
    if not isinstance(data["options"], dict) or not _are_texts(data["options"].values()):
        wrong.append("options")
    if wrong:
        raise CatalogCorruptError(path=path, reason=f"{label} has a wrong type in {', '.join(wrong)}")


def _are_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)
