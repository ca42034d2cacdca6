"""The laws of `kinds/protocol.py`, for every kind to inherit.

1. never refutes a file group that holds a matching row (against a row-by-row oracle)
2. refutes covered file groups only
3. the entries of a slice depend on its rows and its owner, not on batch boundaries
4. picklable, and equal after a round trip
5. after commits through the real store, all that still holds
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_index.entries.keys import shard_of, shards_of
from hudi_index.entries.ranges import KeyRange
from hudi_index.entries.schema import KEY, as_entries
from hudi_index.kind_parts.protocol import RowOwners
from hudi_index.kinds import Answering, IndexKind, Question, RowQuestion, describe, diff_entries
from hudi_index.metadata_table import MetadataTable, Reader
from hudi_index.predicate.values.condition import Condition, Constraint
from hudi_index.predicate.values.domain import Domain
from hudi_index.table import FileGroupId
from tests.engine.kinds.rows import (
    COLUMNS,
    Row,
    Slice,
    batches_of,
    candidates_of,
    domains,
    on,
    slices,
)
from tests.store.support import Clock, open_table

SHARDS = 3


class IndexKindLaws:
    """Inherited by the tests of a kind, which says how it is made."""

    columns: ClassVar[Sequence[str]] = COLUMNS
    """Columns to try it on."""
    is_exact: ClassVar[bool] = False
    """Whether `=`, `IN` and `IS NULL` keep exactly the file groups with matching rows."""

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        columns = metafunc.cls.columns
        if "stored_column" in metafunc.fixturenames:
            # Commits take time, and all types are text by then.
            few = [name for name in columns if name in ("text", "real")]
            metafunc.parametrize("stored_column", few or columns)
        elif "column" in metafunc.fixturenames:
            metafunc.parametrize("column", columns)

    def kind(self, column: str) -> IndexKind:
        raise NotImplementedError

    def slices(self, column: str) -> st.SearchStrategy[list[Slice]]:
        return slices(column)

    def conditions(self, column: str) -> st.SearchStrategy[Condition]:
        """What it is asked; patterns where it answers some."""
        return self.domains(column)

    def domains(self, column: str) -> st.SearchStrategy[Domain]:
        return domains(column)

    def constraint(self, column: str, condition: Condition) -> Constraint:
        return on(column, condition)

    def matches(self, column: str, condition: Condition) -> Callable[[Row], bool]:
        return lambda row: condition.contains(row.value)

    def check(
        self,
        kind: IndexKind,
        column: str,
        condition: Condition,
        table: Sequence[Slice],
        found: Callable[[Question], pa.Table],
        uncovered: set[int] | frozenset[int] = frozenset(),
        passed: set[int] | frozenset[int] = frozenset(),
    ) -> None:
        """Puts a condition to the index as a plan does, and judges what it says.

        Args:
            kind: The index.
            column: What is asked about.
            condition: What is asked.
            table: The slices whose rows are stored.
            found: Reads what a question asks for.
            uncovered: Slices, by place, that are not covered.
            passed: Slices that an answer can't change any more.
        """
        matches = self.matches(column, condition)
        covered = [file_slice for place, file_slice in enumerate(table) if place not in uncovered]
        left = [place not in passed for place in range(len(table)) if place not in uncovered]
        question = kind.ask(self.constraint(column, condition), candidates_of(covered, left))
        if question is None:
            return
        entries = found(question)
        refuted = question.refute(entries)
        assert refuted.shape == (len(covered),)
        for file_slice, is_refuted, is_left in zip(covered, refuted.tolist(), left, strict=True):
            holds = file_slice.holds(matches)
            if is_left:
                assert not (is_refuted and holds)
                if self.is_exact and isinstance(condition, Domain) and is_list(condition):
                    assert is_refuted != holds
        assert isinstance(question, RowQuestion) == kind.spec.knows_rows
        if isinstance(question, RowQuestion):
            self.check_rows(question, covered, left, matches, entries)

    def check_rows(
        self,
        question: RowQuestion,
        covered: Sequence[Slice],
        left: Sequence[bool],
        matches: Callable[[Row], bool],
        entries: pa.Table,
    ) -> None:
        """Every matching row is among those that are told."""
        rows = question.rows(entries)
        assert set(rows) <= {place for place, is_left in enumerate(left) if is_left}
        for place, told in rows.items():
            holding = {number for number, row in enumerate(covered[place].rows) if matches(row)}
            assert told is None or holding <= set(told)
            assert told is None or set(told) <= set(range(len(covered[place].rows)))

    def test_no_row_is_lost(self, column: str) -> None:
        kind = self.kind(column)

        @settings(max_examples=settings().max_examples // 4)
        @given(
            self.slices(column),
            self.conditions(column),
            st.sets(st.integers(0, 3)),
            st.sets(st.integers(0, 3), max_size=1),
        )
        def check(table: list[Slice], asked: Condition, uncovered: set[int], passed: set[int]) -> None:
            entries = entries_of(kind, column, table)

            def found(question: Question) -> pa.Table:
                return read_from(kind, entries, question)

            self.check(kind, column, asked, table, found, uncovered, passed)

        check()

    def test_entries_do_not_depend_on_batches(self, column: str) -> None:
        kind = self.kind(column)

        @settings(max_examples=settings().max_examples // 10)
        @given(self.slices(column), st.lists(st.integers(0, 5), max_size=4))
        def check(table: list[Slice], cuts: list[int]) -> None:
            for file_slice in table:
                whole = content_of(kind, describe(kind, file_slice.context, batches_of(file_slice, column)))
                cut = content_of(
                    kind, describe(kind, file_slice.context, batches_of(file_slice, column, cuts))
                )
                assert whole == cut
                assert all(key.endswith(kind.owner_suffix(file_slice.context)) for key in whole)

        check()

    def test_rows_of_several_owners_are_described_as_those_of_each(self, column: str) -> None:
        kind = self.kind(column)
        if not kind.spec.is_by_record:
            assert kind.builder_of_rows(RowOwners((), ())) is None
            return

        @settings(max_examples=settings().max_examples // 10)
        @given(self.slices(column))
        def check(table: list[Slice]) -> None:
            batches = [pa.Table.from_batches(batches_of(each, column)) for each in table]
            owners = RowOwners(
                tuple(each.context for each in table), tuple(rows.num_rows for rows in batches)
            )
            builder = kind.builder_of_rows(owners)
            assert builder is not None
            together = pa.concat_tables(batches).combine_chunks().to_batches() if batches else []
            found = [entries for batch in together for entries in builder.add(batch)]
            apart = [describe(kind, each.context, batches_of(each, column)) for each in table]
            assert content_of(kind, pa.concat_tables([*found, *builder.finish()])) == {
                key: row for entries in apart for key, row in content_of(kind, entries).items()
            }

        check()

    def test_travels(self, column: str) -> None:
        kind = self.kind(column)

        assert pickle.loads(pickle.dumps(kind)) == kind
        assert hash(pickle.loads(pickle.dumps(kind))) == hash(kind)

    def test_no_row_is_lost_after_commits(self, stored_column: str, tmp_path: Path) -> None:
        column, number = stored_column, count()
        kind = self.kind(column)

        @settings(max_examples=settings().max_examples // 15)
        @given(
            self.slices(column),
            self.slices(column),
            self.slices(column),
            st.lists(self.conditions(column), min_size=5, max_size=5),
        )
        def check(
            first: list[Slice], second: list[Slice], third: list[Slice], asked: list[Condition]
        ) -> None:
            store = open_table(tmp_path / str(next(number)), Clock())
            store.create()
            before: list[Slice] = []
            for after in (first, second, third):
                commit(store, kind, column, before, after)
                before = after
            reader = store.reader()
            stored = reader.scan(kind.partition, columns=["type", *kind.payloads]).read_all()
            assert content_of(kind, stored) == content_of(kind, entries_of(kind, column, third))
            for condition in asked:
                self.check(
                    kind, column, condition, third, lambda question: read_stored(kind, reader, question)
                )

        check()


def is_list(domain: Domain) -> bool:
    return all(each.is_point for each in domain.ranges)


def entries_of(kind: IndexKind, column: str, table: Sequence[Slice]) -> pa.Table:
    found = [describe(kind, file_slice.context, batches_of(file_slice, column)) for file_slice in table]
    return pa.concat_tables(found)


def content_of(kind: IndexKind, entries: pa.Table) -> dict[str, Any]:
    """Entries by key, as they are stored."""
    rows = as_entries(entries, kind.partition).to_pylist()
    content = {row[KEY]: row for row in rows}
    assert len(content) == len(rows), "a key came twice"
    return content


def read_from(kind: IndexKind, entries: pa.Table, lookup: Question) -> pa.Table:
    """What a reader of several shards would find: a range with a shard's part looks nowhere else."""
    keys: list[Any] = entries.column(KEY).to_pylist()
    shards = shards_of(entries.column(KEY).combine_chunks(), SHARDS, kind.key_tail)
    wanted = [
        any(
            is_in(key, each) and (part is None or shard_of(part, SHARDS) == shard)
            for part, each in lookup.ranges
        )
        for key, shard in zip(keys, shards, strict=True)
    ]
    return entries.filter(pa.array(wanted, pa.bool_()))


def is_in(key: str, wanted: KeyRange) -> bool:
    return wanted.low <= key and (wanted.high is None or key < wanted.high)


def read_stored(kind: IndexKind, reader: Reader, lookup: Question) -> pa.Table:
    sharded = [(part, each) for part, each in lookup.ranges if part is not None]
    anywhere = [each for part, each in lookup.ranges if part is None]
    return pa.concat_tables(
        [
            reader.lookup_sharded(kind.partition, sharded, columns=lookup.payloads),
            reader.lookup(kind.partition, anywhere, columns=lookup.payloads),
        ]
    )


def commit(
    store: MetadataTable, kind: IndexKind, column: str, before: Sequence[Slice], after: Sequence[Slice]
) -> None:
    """What maintenance does: new entries as base files, then per file group the difference as logs."""
    if not store.view().commits:
        entries = entries_of(kind, column, after)
        with store.begin(shards={kind.partition: SHARDS}) as transaction:
            for shard, table in enumerate(by_shard(kind, entries)):
                transaction.add([transaction.writer.write_base(kind.partition, shard, [table.sort_by(KEY)])])
            transaction.commit()
        return
    upserts, deletes = changes_of(kind, column, before, after)
    with store.begin() as transaction:
        for shard, (new, gone) in enumerate(
            zip(by_shard(kind, upserts), by_shard(kind, deletes), strict=True)
        ):
            if not new.num_rows and not gone.num_rows:
                continue
            keys = gone.column(KEY).combine_chunks()
            transaction.add([transaction.writer.write_log(kind.partition, shard, upserts=new, deletes=keys)])
        transaction.commit()


def changes_of(
    kind: IndexKind, column: str, before: Sequence[Slice], after: Sequence[Slice]
) -> tuple[pa.Table, pa.Table]:
    old, new = ({file_slice.group: file_slice for file_slice in table} for table in (before, after))
    upserts, deletes = [], []
    for group in sorted({*old, *new}):
        nothing = Slice((new.get(group) or old[group]).context, ())
        described = [
            describe(kind, nothing.context, batches_of(file_slice, column))
            if file_slice
            else no_entries(kind)
            for file_slice in (old.get(group), new.get(group))
        ]
        written, gone = diff_entries(described[0], described[1])
        upserts.append(written)
        deletes.append(pa.table({KEY: gone}))
    return pa.concat_tables(upserts, promote_options="default"), pa.concat_tables(deletes)


def no_entries(kind: IndexKind) -> pa.Table:
    return as_entries(pa.table({KEY: pa.array([], pa.string())}), kind.partition).select(
        [KEY, "type", *kind.payloads]
    )


def by_shard(kind: IndexKind, entries: pa.Table) -> list[pa.Table]:
    shards = shards_of(entries.column(KEY).combine_chunks(), SHARDS, kind.key_tail)
    return [entries.filter(pa.array(shards == shard)) for shard in range(SHARDS)]


def question_of(kind: Answering, constraint: Constraint, table: Sequence[Slice] = ()) -> Question | None:
    """What a kind asks of a table that is all covered."""
    return kind.ask(constraint, candidates_of(table))


def prune(
    kind: Answering, constraint: Constraint, entries: pa.Table, table: Sequence[Slice]
) -> frozenset[FileGroupId]:
    """What a kind refutes of a table by some entries, all of it covered."""
    question = question_of(kind, constraint, table)
    refuted = [] if question is None else question.refute(entries).tolist()
    return frozenset(file_slice.group for file_slice, gone in zip(table, refuted, strict=False) if gone)


def refuted_by(
    kind: IndexKind, column: str, table: Sequence[Slice], condition: Condition
) -> frozenset[FileGroupId]:
    """What a kind refutes of a table, all of it covered, by what it asks for."""
    question = question_of(kind, on(column, condition), table)
    assert question is not None
    entries = read_from(kind, entries_of(kind, column, table), question)
    return prune(kind, on(column, condition), entries, table)
