"""Which file groups the indexes speak for, and which indexes there are to ask.

A file group is covered when its current slice is the one that `files` notes. Nothing else may be refuted by
an index, so whatever happened to the table since merely covers less. What can't be loaded is no error here: a
query without indexes is right, only slower, and the reason is kept for `explain`.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from hudi_index.catalog import IndexState
from hudi_index.coverage import files
from hudi_index.coverage.covered import Covered
from hudi_index.entries.ranges import KeyRange
from hudi_index.errors import CorruptError, UserError
from hudi_index.kinds import kind_in, reason_against, reason_against_schema, summary_of, term_types_of
from hudi_index.log_once import warn_once
from hudi_index.metadata_table import Reader
from hudi_index.predicate import BoundTerm, Session, Term, bind_expression, derivation_of, parse_type
from hudi_index.predicate.calendar import STORED
from hudi_index.side_by_side import each_of
from hudi_index.table.calendar import has_times

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from hudi_index.catalog import Catalog, CatalogSnapshot, IndexDefinition
    from hudi_index.kind_parts.protocol import Answering
    from hudi_index.kind_specs import Tier
    from hudi_index.metadata_table import MetadataTable
    from hudi_index.predicate import Calendar, Derivation, Schema, SqlType
    from hudi_index.table import Snapshot

__all__ = ["READ_ERRORS", "IndexLook", "UsableIndex", "UsableIndexes"]

log = logging.getLogger(__name__)

READ_ERRORS = (CorruptError, OSError, pa.ArrowException)
"""What reading a damaged index may raise; to a plan it is a reason, never an error."""


@dataclass(frozen=True)
class UsableIndex:
    """An index that a plan may ask."""

    name: str
    kind: Answering
    terms: Mapping[Term, Term]
    """How the index calls what a predicate calls otherwise: its expression, or its name for it."""
    derived: Derivation | None = None
    """Of an index over an expression: how its values follow from a column's."""
    is_summary: bool = False
    """Whether what is asked is its summary by partition."""


@dataclass
class UsableIndexes:
    """What a plan can know."""

    covered: Covered
    indexes: list[UsableIndex] = field(default_factory=list)
    unusable: dict[str, str] = field(default_factory=dict)
    """Why the others aren't asked, by name."""
    expression_types: dict[str, SqlType] = field(default_factory=dict)
    """Of expressions that usable indexes are over, by their text."""
    expression_names: dict[str, str] = field(default_factory=dict)
    """The same expressions by the name of their index, which a query may use (RFC-63)."""
    expression_trees: dict[str, BoundTerm] = field(default_factory=dict)
    """The same expressions by the keys of the trees that Spark computed them by."""
    derivations: dict[Term, Derivation] = field(default_factory=dict)
    """How their values follow from a column's, where they do."""
    reader: Reader | None = None
    only: frozenset[str] | None = None
    """The indexes to ask, whatever that costs; None for all, as it pays."""
    table: str = ""
    """For messages."""

    def of_tier(self, tier: Tier) -> Iterator[UsableIndex]:
        """The indexes that are asked at a time."""
        return (each for each in self.indexes if each.kind.spec.tier is tier)

    def report_unusable(self, name: str, reason: str) -> None:
        """Say once that an index is out of use: whoever doesn't ask for `explain` would not learn of it."""
        warn_once(
            log,
            (self.table, name, reason),
            "%s of %s is not used: %s. `hudi-index status --table %s` says what to do.",
            name,
            self.table,
            reason,
            self.table,
        )

    @classmethod
    def of(
        cls,
        snapshot: Snapshot,
        look: IndexLook,
        schema: Schema,
        *,
        session: Session,
        only: Collection[str] | None = None,
        calendar: Calendar = STORED,
    ) -> UsableIndexes:
        """What the indexes of a table know of a snapshot. Raises NoSuchIndexError.

        Args:
            snapshot: The table as it is read.
            look: A look at its indexes, before or after or beside that at the table.
            schema: The table's columns.
            session: What gives the query its meaning.
            only: The indexes to ask; all if None.
            calendar: How whoever reads the slices takes old dates and timestamps.
        """
        found = cls(Covered.none(len(snapshot.slices)), table=snapshot.storage.uri)
        try:
            catalog = look.definitions
            definitions = tuple(catalog)
            if only is not None:
                found.only = frozenset(catalog.definition_of(name).name for name in only)
            if not definitions or not look.has_entries:
                return found
            found.reader = look.reader
            found.covered = _load_covered(snapshot, found.reader)
            if calendar.is_other and has_times(snapshot.schema, snapshot.config.ordering_fields):
                # Which of two records stands is decided by values that the query's reader sees otherwise.
                found.covered = _without_logs(found.covered, snapshot)
        except READ_ERRORS as error:
            found.unusable["all indexes"] = str(error)
            found.report_unusable("every index", str(error))
            found.reader = None
            return found
        described_by = files.describing_indexes(found.reader.view.state.data_snapshot)
        for definition in definitions:
            if reason := reason_against(definition):
                # First: that nobody kept it up follows from it.
                found.unusable[definition.name] = reason
                found.report_unusable(f"index {definition.name}", reason)
            elif definition.state is IndexState.READY and definition.id not in described_by:
                # Created or dropped between our two looks, or its entries are lost.
                found.unusable[definition.name] = "the indexed slices are not described by it"
            else:
                found._add(definition, snapshot, schema, session, calendar)
        return found

    def _add(
        self,
        definition: IndexDefinition,
        snapshot: Snapshot,
        schema: Schema,
        session: Session,
        calendar: Calendar,
    ) -> None:
        reason = _reason_against(definition, snapshot.schema, session, calendar)
        if not reason and self.reader and definition.partition not in self.reader.view.state.shards:
            # A partition that isn't there has no entries, which would refute everything.
            reason = f"the index metadata table has no partition {definition.partition}"
        if reason:
            self.unusable[definition.name] = reason
            if definition.state is IndexState.INVALID:
                self.report_unusable(f"index {definition.name}", reason)
            return
        try:
            kind = kind_in(definition, snapshot)
            summary = summary_of(definition, term_types_of(definition, snapshot.schema))
        except UserError as error:
            self.unusable[definition.name] = str(error)
            self.report_unusable(f"index {definition.name}", str(error))
            return
        terms = self._terms_of(definition, schema)
        derived = next((self.derivations[term] for term in terms if term in self.derivations), None)
        if self.only is not None and definition.name not in self.only:
            # A query may still call its expression by its name.
            self.unusable[definition.name] = "only others are to be asked"
            return
        self.indexes.append(UsableIndex(definition.name, kind, terms, derived))
        if summary is not None and self.reader and summary.partition in self.reader.view.state.shards:
            self.indexes.append(UsableIndex(definition.name, summary, {}, is_summary=True))

    def _terms_of(self, definition: IndexDefinition, schema: Schema) -> dict[Term, Term]:
        """How queries call an index's expression, by text and by tree, and how the index does."""
        expression, meaning = definition.expression, definition.meaning
        if expression is None or meaning is None:
            return {}
        own = Term(expression, is_expression=True)
        by_text = bind_expression(expression, schema)
        by_tree = Term(by_text.text, is_expression=True, meaning=meaning.digest)
        kind = parse_type(definition.expression_type or "")
        self.expression_types[expression] = kind
        self.expression_names[definition.name] = expression
        self.expression_trees.update(dict.fromkeys(meaning.trees, BoundTerm(by_tree, kind)))
        computed_in = Session(definition.options["time_zone"], meaning.zone_data, meaning.settings)
        if derived := derivation_of(meaning.tree, schema, computed_in):
            self.derivations.update({by_text: derived, by_tree: derived})
        return {by_text: own, by_tree: own}


class IndexLook:
    """A look at the indexes of a table, which may be taken beside the look at the table itself.

    No order of the two is wrong, nor of catalog and entries: a commit says by id which indexes describe its
    slices, and a slice is covered only if it is the one that is noted. What can't be read raises where it is
    asked for.
    """

    def __init__(self, catalog: Catalog, metadata_table: MetadataTable) -> None:
        self._catalog, self._metadata_table = catalog, metadata_table
        if not catalog.storage.is_local:
            each_of(self._read_ahead, ["definitions", "reader"], is_local=False)

    @cached_property
    def definitions(self) -> CatalogSnapshot:
        """The catalog."""
        return self._catalog.load()

    @cached_property
    def reader(self) -> Reader:
        """Reads the entries, of which there may be none."""
        return self._metadata_table.reader()

    @property
    def has_entries(self) -> bool:
        """Whether there is an index metadata table."""
        return bool(self.reader.view.commits) or self._metadata_table.exists()

    def _read_ahead(self, name: str) -> None:
        with suppress(*READ_ERRORS):
            found = getattr(self, name)
            if isinstance(found, Reader):
                # What every plan wants first is on its way while the table is listed.
                _load_notes(found)


def _load_covered(snapshot: Snapshot, reader: Reader) -> Covered:
    noted_in = (stat.path for file_slice in reader.view.slices(files.PARTITION) for stat in file_slice.files)
    return Covered.of(
        snapshot,
        (reader.storage.uri, *noted_in),
        lambda: _load_notes(reader),
    )


def _load_notes(reader: Reader) -> pa.Table:
    return reader.lookup(files.PARTITION, [KeyRange.all()], columns=[files.PAYLOAD])


def _without_logs(covered: Covered, snapshot: Snapshot) -> Covered:
    """Those that are base files alone."""
    slices = (snapshot.slices[position] for position in covered.positions.tolist())
    return covered.only(np.array([not each.log_files for each in slices], np.bool_))


def _reason_against(
    definition: IndexDefinition, schema: pa.Schema, session: Session, calendar: Calendar
) -> str | None:
    if definition.state is not IndexState.READY:
        return f"it is {definition.state}" + (f": {definition.reason}" if definition.reason else "")
    if definition.is_functional:
        if definition.meaning is None:
            return f"it does not say what Spark made of its expression: REBUILD INDEX {definition.name}"
        if reason := definition.meaning.reason_against(session):
            return reason
    if reason := reason_against_schema(definition, schema):
        return reason
    if calendar.is_other and definition.is_functional:
        sources = [name.partition(".")[0] for name in definition.source_fields]
        if has_times(schema, [*sources, *definition.source_fields]):
            return calendar.reason
    return None
