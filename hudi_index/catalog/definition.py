"""One index: what it is over, how it is kept, and whether queries may use it.

A definition is a value: frozen, picklable, equal by content. It holds only what fits together, so whoever
has one need not check it again. Its JSON form is one entry of `index.json`:

    {"name", "id", "kind", "source_fields", "source_types", "expression", "expression_type", "meaning",
     "options", "state", "reason", "created_time", "changed_time", "version", "ordering_types", "partition"}

`meaning` may be absent: definitions of before it have none, and queries don't use such an expression.
`ordering_types` is there where entries hold ordering values, and says by which types of which columns they
are spelled; definitions of before lack it.
`version` is that of the kind's entries. `partition` is there for kinds of other packages only, so that an
index can be dropped where its kind is not installed.

An index of a kind that nobody here knows, of a newer version of its kind, or of another package's kind that
does not take it any more, is read as `foreign`: it is listed and can be dropped, is written back as it was,
and `unsupported` says why nobody uses it.

Names become folders of the index metadata table. They are ASCII letters, digits, `_` and `-`, begin with
a letter or `_`, and have at most 128 characters, so that the longest file name made from one stays below
255 bytes. They are stored and used as written but compared without case, quoted or not: Spark's identifiers
ignore case, and so do some file systems, where two folders that differ only in case would be one.

The folder of an index (`partition`) is `func_index_<name>` over an expression (RFC-63), else what its kind's
row in `kind_specs` says: the kind's own, shared by all indexes of it, or `<kind's folder>_<name>` (RFC-77).

`partition_stats` is derived from column_stats and can't be created by itself.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from enum import Enum
from typing import TYPE_CHECKING, Any

from hudi_index.catalog.options import check_options
from hudi_index.errors import (
    CatalogCorruptError,
    InvalidDefinitionError,
    InvalidNameError,
    UnknownIndexKindError,
    UserError,
)
from hudi_index.kind_specs import spec_of, specs
from hudi_index.predicate.catalyst.meaning import Meaning
from hudi_index.predicate.sql.canonical import with_columns

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from hudi_index.kind_specs import KindSpec

__all__ = ["IndexDefinition", "IndexState", "check_name"]

MAX_NAME_LENGTH = 128


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
    kind: str
    """A name of `kind_specs`."""
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
    version: int = 0
    """The layout of its entries: the kind's newest if 0 is given."""
    ordering_types: tuple[str, ...] | None = None
    """The table's ordering fields, with the types by which entries spell their values; None if they hold
    none, or nobody noted it."""
    foreign: Mapping[str, Any] | None = field(default=None, hash=False)
    """The JSON form of an index that this code can't use."""

    def __post_init__(self) -> None:
        check_name(self.name)
        if self.foreign is not None:
            return
        object.__setattr__(self, "version", self.version or self.spec.version)
        self._check_source_fields()
        options = check_options(self.options, spec=self.spec, has_expression=self.is_functional)
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
        if self.is_functional and not self.spec.has_columns:
            self._refuse(f"a {self.kind} is over the record key, not over an expression")

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
        if self.foreign is not None and "partition" in self.foreign:
            return str(self.foreign["partition"])
        if self.is_functional:
            return f"func_index_{self.name}"
        spec = spec_of(self.kind)
        return spec.folder_of(self.name) if spec else ""

    @property
    def spec(self) -> KindSpec:
        """Its kind's row. Raises UnknownIndexKindError."""
        found = spec_of(self.kind)
        if found is None:
            raise UnknownIndexKindError(kind=self.kind, known=specs())
        return found

    @property
    def unsupported(self) -> str | None:
        """Why nobody here can use it; None if that is not so."""
        if self.foreign is None:
            return None
        spec = spec_of(self.kind)
        if spec is None:
            return (
                f"there is no kind of index {self.kind!r} here: install what provides it, or drop the index"
            )
        if self.version <= spec.version:
            return (
                f"{self.kind} as it is installed here does not take the index's definition: use the release "
                "that made it, or drop the index"
            )
        return (
            f"its entries are of version {self.version} of {self.kind}, and this release knows version "
            f"{spec.version}: use the release that made it, or drop the index"
        )

    def option(self, name: str) -> str:
        """An option's value, or its default."""
        return self.options.get(name) or next(each.default for each in self.spec.options if each.name == name)

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
        changed = check_options(options, spec=self.spec, has_expression=self.is_functional)
        return replace(self, options={**self.options, **changed})

    def as_dict(self) -> dict[str, Any]:
        """The JSON form."""
        if self.foreign is not None:
            if self.state.value == self.foreign.get("state"):
                return dict(self.foreign)
            changed = {"state": self.state.value, "reason": self.reason, "changed_time": self.changed_time}
            return {**self.foreign, **changed}
        optional: dict[str, Any] = {} if self.spec.is_built_in else {"partition": self.partition}
        if self.ordering_types is not None:
            optional["ordering_types"] = list(self.ordering_types)
        return {
            "name": self.name,
            "id": self.id,
            "kind": self.kind,
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
            **optional,
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
        # Kind and version go first: others may differ in everything else.
        spec, version = spec_of(str(data.get("kind"))), data.get("version")
        if type(version) is not int or version < 1:
            raise CatalogCorruptError(path=path, reason=f"{label} has version {version!r}")
        if spec is None or version > spec.version:
            return cls._foreign(data, path=path, label=label)
        try:
            return cls._own({"meaning": None, "ordering_types": None, **data}, path=path, label=label)
        except CatalogCorruptError:
            if spec.is_built_in:
                raise
            # What another package takes for options is its own: it must not make the catalog unreadable.
            return cls._foreign(data, path=path, label=label)

    @classmethod
    def _own(cls, data: dict[str, Any], *, path: str, label: str) -> IndexDefinition:
        """An index of a kind and version that are known here."""
        data.pop("partition", None)
        names = {each.name for each in fields(cls)} - {"foreign"}
        if set(data) != names:
            odd = sorted(names ^ {str(name) for name in data})
            raise CatalogCorruptError(path=path, reason=f"{label} lacks or adds {', '.join(odd)}")
        _check_types(data, path=path, label=label)
        try:
            return cls(
                **{
                    **data,
                    "state": IndexState(data["state"]),
                    "source_fields": tuple(data["source_fields"]),
                    "source_types": tuple(data["source_types"]),
                    "ordering_types": None if (noted := data["ordering_types"]) is None else tuple(noted),
                    "meaning": None if data["meaning"] is None else Meaning.from_dict(data["meaning"]),
                }
            )
        except (UserError, ValueError) as error:
            raise CatalogCorruptError(path=path, reason=f"{label}: {error}") from error

    @classmethod
    def _foreign(cls, data: Mapping[str, Any], *, path: str, label: str) -> IndexDefinition:
        """An index that can't be used here, with what has to be known to list and to drop it."""
        texts = {name: data.get(name) for name in ("name", "kind", "id")}
        if not all(isinstance(text, str) for text in texts.values()):
            raise CatalogCorruptError(path=path, reason=f"{label} has a wrong type in {', '.join(texts)}")
        columns, expression = data.get("source_fields"), data.get("expression")
        try:
            return cls(
                name=data["name"],
                kind=data["kind"],
                id=data["id"],
                source_fields=tuple(map(str, columns)) if isinstance(columns, list) else (),
                expression=expression if isinstance(expression, str) else None,
                state=IndexState(data.get("state")),
                reason=_text_or_none(data.get("reason")),
                created_time=_text_or_none(data.get("created_time")),
                changed_time=_text_or_none(data.get("changed_time")),
                version=data["version"],
                foreign=dict(data),
            )
        except (UserError, ValueError) as error:
            raise CatalogCorruptError(path=path, reason=f"{label}: {error}") from error


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _check_types(data: Mapping[str, Any], *, path: str, label: str) -> None:
    texts = ("name", "id", "kind", "state")
    optional_texts = ("expression", "expression_type", "reason", "created_time", "changed_time")
    wrong = [name for name in texts if not isinstance(data[name], str)]
    wrong += [name for name in optional_texts if not isinstance(data[name], (str, type(None)))]
    for name in ("source_fields", "source_types", "ordering_types"):
        is_absent = name == "ordering_types" and data[name] is None
        if not is_absent and (not isinstance(data[name], list) or not _are_texts(data[name])):
            wrong.append(name)
    if not isinstance(data["options"], dict) or not _are_texts(data["options"].values()):
        wrong.append("options")
    if wrong:
        raise CatalogCorruptError(path=path, reason=f"{label} has a wrong type in {', '.join(wrong)}")


def _are_texts(values: Any) -> bool:
    return all(isinstance(value, str) for value in values)
