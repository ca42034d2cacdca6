"""The kinds of index that there are, one row each: everything that others have to know of a kind.

A row is data. SQL, catalog, options, planner, maintenance, validation and the Airflow provider follow it;
none of them names a kind. What a kind does stands in the class that its row names (hudi_index.kinds).

A package of its own adds a kind by an entry point of the group `hudi_index.kinds`, whose object is a row:

    [project.entry-points."hudi_index.kinds"]
    soundex = "my_package.soundex_spec:SOUNDEX"
"""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from enum import Enum, IntEnum
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from hudi_index.errors import UnknownIndexKindError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = [
    "DEFAULT",
    "DEFAULT_BY_NAME",
    "DEFAULT_OF_EXPRESSION",
    "KindSpec",
    "Option",
    "Sharing",
    "Tier",
    "built_in",
    "parse_kind",
    "spec_of",
    "specs",
]

log = logging.getLogger(__name__)

GROUP = "hudi_index.kinds"
_FOLDERS = ("files", "func_index")
"""Folders of the index metadata table, or how they begin, that are no kind's."""
DEFAULT = "secondary_index"
"""What CREATE INDEX over columns makes without USING (RFC-77)."""
DEFAULT_OF_EXPRESSION = "column_stats"
"""What it makes over an expression (RFC-63)."""
DEFAULT_BY_NAME = ("record_index",)
"""What it makes of an index that is called so (RFC-77)."""


class Tier(IntEnum):
    """When a plan asks an index: cheap look-ups before expensive ones."""

    PARTITIONS = 0
    """A few entries for the whole table."""
    FILE_GROUPS = 1
    """An entry per file group, which plans keep in memory."""
    VALUES = 2
    """An entry per file group and value. From here on a look-up must pay."""
    ROWS = 3
    """An entry per row."""

    @property
    def is_weighed(self) -> bool:
        """Whether a look-up is made only if it costs less than it can save."""
        return self >= Tier.VALUES


class Sharing(Enum):
    """Whose entries are in a kind's folder of the index metadata table."""

    OWN = "own"
    """Each index has a folder of its own, named after it."""
    ALIKE = "alike"
    """All indexes of the kind share one; two over one column write the same entries."""
    BY_COLUMN = "by column"
    """All indexes of the kind share one; entries depend on options, so a column may have one index only."""
    ONE = "one"
    """There can be only one index of the kind."""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of `OPTIONS (name = 'value', …)`: its names, and how its value is read."""

    name: str
    spelling: Callable[[str], str]
    """The value in its one stored spelling; a ValueError says what was expected."""
    default: str = ""
    aliases: tuple[str, ...] = ()
    is_for_expressions: bool = False
    """Whether only an index over an expression has it."""


@dataclass(frozen=True, slots=True)
class KindSpec:
    """One kind of index."""

    name: str
    implementation: str
    """Where its class is, `package.module:Class`: loaded when first needed."""
    answers: str
    """For people: which predicates it answers."""
    tier: Tier
    folder: str
    """Its folder in the index metadata table, or how its folders begin."""
    sharing: Sharing
    payload: str | None
    """The payload of its entries (hudi_index.entries.schema); None if keys say it all."""
    payload_type: int
    """What the field `type` of its entries says, in Hudi's numbering where Hudi has the kind."""
    version: int = 1
    """The newest layout of its entries that this code knows. An index of a newer one is left alone."""
    aliases: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    is_created: bool = True
    """Whether a statement can create it; a summary comes with the kind that it sums up."""
    summary: str | None = None
    """The kind that sums its entries up by partition."""
    has_columns: bool = True
    """Whether it is over columns or an expression; if not, over the record key."""
    names_owner_by_number: bool = False
    """Whether keys end with the file group's number, not with its partition path and file id."""
    is_divisible: bool = False
    """Whether a large slice may be described in parts: its entries are those of the parts."""
    is_by_record: bool = False
    """Whether an entry is made of rows of one record key, which its own key holds, and not of their
    positions: rows of other records neither give nor change it."""
    answers_from_footers: bool = False
    """Whether statistics of Parquet footers can stand for rows."""
    knows_rows: bool = False
    """Whether it can tell which rows of a file group may match."""
    asks_together: bool = False
    """Whether it can be asked for several terms at once."""
    preference: tuple[str, ...] = ()
    """Fields of the payload: of entries that share a key the one with the largest of these counts."""

    @property
    def is_built_in(self) -> bool:
        """Whether it is one of this package's."""
        return self.implementation.startswith("hudi_index.")

    def folder_of(self, name: str) -> str:
        """The folder of an index of this kind over columns."""
        return f"{self.folder}_{name}" if self.sharing is Sharing.OWN else self.folder


def integer(low: int, high: int) -> Callable[[str], str]:
    """Reads whole numbers between two."""

    def spelling(value: str) -> str:
        if re.fullmatch(r"[0-9]{1,18}", value) and low <= int(value) <= high:
            return str(int(value))
        raise ValueError(f"a whole number from {low} to {high}")

    return spelling


def fraction(value: str) -> str:
    """Reads numbers between 0 and 1."""
    # The pattern keeps out what float() also takes: "nan", "inf", underscores.
    if re.fullmatch(r"[0-9]*\.?[0-9]+([eE]-?[0-9]{1,3})?", value) and 0 < float(value) < 1:
        return repr(float(value))
    raise ValueError("a number between 0 and 1, both excluded")


def boolean(value: str) -> str:
    """Reads true and false."""
    if value.lower() in ("true", "false"):
        return value.lower()
    raise ValueError("true or false")


_ROWS = (
    KindSpec(
        "column_stats",
        "hudi_index.kinds.column_stats:ColumnStats",
        "=, IN, ranges, LIKE 'x%', IS NULL: by minimum, maximum and null count",
        Tier.FILE_GROUPS,
        "column_stats",
        Sharing.ALIKE,
        "ColumnStatsMetadata",
        3,
        aliases=("col_stats", "column_stat"),
        summary="partition_stats",
        answers_from_footers=True,
    ),
    KindSpec(
        "partition_stats",
        "hudi_index.kinds.partition_stats:PartitionStats",
        "what column_stats answers, for whole partitions",
        Tier.PARTITIONS,
        "partition_stats",
        Sharing.ALIKE,
        "ColumnStatsMetadata",
        6,
        is_created=False,
    ),
    KindSpec(
        "bloom_filters",
        "hudi_index.kinds.bloom_filters:BloomFilters",
        "=, IN, <=>, IS NULL",
        Tier.VALUES,
        "bloom_filters",
        Sharing.BY_COLUMN,
        "BloomFilterMetadata",
        4,
        aliases=("bloom", "bloom_filter", "bloomfilter"),
        options=(Option("false_positive_rate", fraction, "0.01", aliases=("fpp",)),),
    ),
    KindSpec(
        "bitmap",
        "hudi_index.kinds.bitmap:Bitmap",
        "=, IN, ranges, LIKE 'x%', IS NULL, and their AND, OR and NOT row by row",
        Tier.VALUES,
        "bitmap_index",
        Sharing.BY_COLUMN,
        "BitmapIndexMetadata",
        20,
        aliases=("bitmap_index", "bitmaps"),
        options=(Option("max_values", integer(1, 10**9), "10000"),),
        knows_rows=True,
    ),
    KindSpec(
        "record_index",
        "hudi_index.kinds.record_index:RecordIndex",
        "=, IN and ranges of record keys",
        Tier.ROWS,
        "record_index",
        Sharing.ONE,
        "recordIndexMetadata",
        5,
        aliases=("record_level", "record_level_index"),
        options=(Option("partitioned", boolean, "false"),),
        has_columns=False,
        names_owner_by_number=True,
        is_divisible=True,
        is_by_record=True,
        preference=("orderingValue", "instantTime"),
    ),
    KindSpec(
        "secondary_index",
        "hudi_index.kinds.secondary_index:SecondaryIndex",
        "=, IN, ranges, LIKE 'x%', IS NULL, on several leading columns at once",
        Tier.ROWS,
        "secondary_index",
        Sharing.OWN,
        None,
        7,
        aliases=("secondary",),
        names_owner_by_number=True,
        is_divisible=True,
        is_by_record=True,
        asks_together=True,
    ),
    KindSpec(
        "ngram",
        "hudi_index.kinds.ngram:Ngram",
        "LIKE '%x%', contains, startswith, endswith, =, IN, and RLIKE with literals in it",
        Tier.VALUES,
        "ngram_index",
        Sharing.OWN,
        "BitmapIndexMetadata",
        21,
        aliases=("ngrams", "trigram", "ngram_index"),
        names_owner_by_number=True,
        options=(
            Option("size", integer(2, 8), "3"),
            Option("max_grams", integer(1, 10**9), "100000"),
        ),
        knows_rows=True,
    ),
    KindSpec(
        "array",
        "hudi_index.kinds.array:Array",
        "array_contains, arrays_overlap and exists over an array's elements",
        Tier.VALUES,
        "array_index",
        Sharing.OWN,
        "BitmapIndexMetadata",
        22,
        aliases=("array_index", "arrays"),
        names_owner_by_number=True,
        options=(Option("max_values", integer(1, 10**9), "100000"),),
        knows_rows=True,
    ),
)


def built_in(name: str) -> KindSpec:
    """The row of a kind of this package."""
    return next(spec for spec in _ROWS if spec.name == name)


@cache
def specs() -> Mapping[str, KindSpec]:
    """All kinds by name: those of this package, then those that others register."""
    found = {spec.name: spec for spec in _ROWS}
    for point in metadata.entry_points(group=GROUP):
        try:
            spec = point.load()
        except Exception as error:  # noqa: BLE001  whatever a foreign package raises must not stop this one
            log.warning("kind of index %s (%s) can't be loaded: %s", point.name, point.value, error)
            continue
        reason = "it is no KindSpec" if not isinstance(spec, KindSpec) else _clash(spec, found.values())
        if reason:
            log.warning("kind of index %s (%s) is left out: %s", point.name, point.value, reason)
        else:
            found[spec.name] = spec
    return found


def _clash(spec: KindSpec, others: Iterable[KindSpec]) -> str | None:
    """What a kind has in common with one of others; None if nothing."""
    words = {word.lower() for word in (spec.name, *spec.aliases)}
    if spec.folder in _FOLDERS or not re.fullmatch(r"[a-z][a-z0-9_]*", spec.folder):
        return f"the folder {spec.folder!r} can't be a kind's"
    for other in others:
        if common := words & {other.name, *other.aliases}:
            return f"{other.name} is called {', '.join(sorted(common))} already"
        if spec.folder == other.folder:
            return f"the folder {spec.folder!r} is {other.name}'s"
    return None


def spec_of(name: str) -> KindSpec | None:
    """The kind of a name as the catalog keeps it; None if nobody here knows it."""
    return specs().get(name)


def parse_kind(text: str) -> str:
    """The name of the kind that `USING text` means, by its name or an alias.

    Raises:
        UnknownIndexKindError: if there is no such kind.
    """
    word = text.lower()
    created = [spec for spec in specs().values() if spec.is_created]
    for spec in created:
        if word == spec.name or word in spec.aliases:
            return spec.name
    raise UnknownIndexKindError(kind=text, known=[spec.name for spec in created])
