"""What a commit does with each index, case by case: kept, built, replaced, and the shards that it makes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from hudi_index.catalog import IndexState
from hudi_index.lifecycle.decide import Decision, Drop, Facts, decide, decide_drop
from tests.support.entries import definition_from

if TYPE_CHECKING:
    from hudi_index.catalog import IndexDefinition

INVALID = "it was wrong"


def index(text: str, state: IndexState = IndexState.READY) -> IndexDefinition:
    """The index of a statement's tail, its name as its id."""
    found = definition_from(f"CREATE INDEX {text}")
    reason = INVALID if state is IndexState.INVALID else None
    return replace(found, id=found.name).with_state(state, reason)


def out_of_service(definition: IndexDefinition) -> IndexDefinition:
    return definition.with_state(IndexState.INVALID, INVALID)


def building(definition: IndexDefinition) -> IndexDefinition:
    return definition.with_state(IndexState.BUILDING)


BY_ID = index("by_id ON t (id)")
BY_N = index("by_n ON t (n) OPTIONS (shards = 3)")
STATS = index("stats ON t USING column_stats (n)")
MORE_STATS = index("more_stats ON t USING column_stats (n, region)")
OTHER_STATS = index("other_stats ON t USING column_stats (day)")
WIDE_STATS = index("wide_stats ON t USING column_stats (id) OPTIONS (shards = 4)")
KEYS = index("keys ON t USING record_index (id)")

FILES = {"files": 1}
BOTH_STATS = {"column_stats": 2, "partition_stats": 1}


def ids(*definitions: IndexDefinition) -> frozenset[str]:
    return frozenset(each.id for each in definitions)


@dataclass(frozen=True)
class Case:
    facts: Facts
    new: tuple[IndexDefinition, ...] = ()
    again: frozenset[str] = frozenset()
    kept: tuple[IndexDefinition, ...] = ()
    built: tuple[IndexDefinition, ...] = ()
    replaced: tuple[str, ...] = ()
    shards: dict[str, int] = field(default_factory=dict)
    sized_by_rows: frozenset[str] = frozenset()
    note: str | None = None


CASES = {
    "nothing": Case(Facts(shards=FILES)),
    "first index of a table": Case(
        Facts((building(BY_ID),)),
        new=(building(BY_ID),),
        built=(building(BY_ID),),
        shards={"files": 1, "secondary_index_by_id": 1},
        sized_by_rows=frozenset({"secondary_index_by_id"}),
    ),
    "new index with shards of its own beside another": Case(
        Facts((KEYS, building(BY_N)), {**FILES, "record_index": 5}, ids(KEYS)),
        new=(building(BY_N),),
        kept=(KEYS,),
        built=(building(BY_N),),
        shards={"secondary_index_by_n": 3},
    ),
    "new column_stats has statistics of partitions too": Case(
        Facts((building(STATS),), FILES),
        new=(building(STATS),),
        built=(building(STATS),),
        shards={"column_stats": 1, "partition_stats": 1},
        sized_by_rows=frozenset({"column_stats"}),
    ),
    "two new ones share a partition, which has the shards of the one that needs most": Case(
        Facts((building(STATS), building(WIDE_STATS)), FILES),
        new=(building(STATS), building(WIDE_STATS)),
        built=(building(STATS), building(WIDE_STATS)),
        shards={"column_stats": 4, "partition_stats": 1},
        sized_by_rows=frozenset({"column_stats"}),
    ),
    "new index adds to a partition that another keeps up": Case(
        Facts((STATS, building(OTHER_STATS)), {**FILES, **BOTH_STATS}, ids(STATS)),
        new=(building(OTHER_STATS),),
        kept=(STATS,),
        built=(building(OTHER_STATS),),
    ),
    "new index over a column that another keeps up": Case(
        Facts((STATS, building(MORE_STATS)), {**FILES, **BOTH_STATS}, ids(STATS)),
        new=(building(MORE_STATS),),
        kept=(STATS,),
        built=(building(MORE_STATS),),
    ),
    "statistics of partitions are missing": Case(
        Facts((STATS, building(OTHER_STATS)), {**FILES, "column_stats": 2}, ids(STATS)),
        new=(building(OTHER_STATS),),
        kept=(STATS,),
        built=(building(OTHER_STATS),),
        shards={"partition_stats": 1},
    ),
    "partition that an earlier build left": Case(
        Facts((building(BY_N),), {**FILES, "secondary_index_by_n": 7}),
        new=(building(BY_N),),
        built=(building(BY_N),),
        replaced=("secondary_index_by_n",),
        shards={"secondary_index_by_n": 3},
    ),
    "create again what was left building in a shared partition": Case(
        Facts((OTHER_STATS, building(STATS)), {**FILES, **BOTH_STATS}, ids(OTHER_STATS)),
        new=(building(STATS),),
        again=ids(STATS),
        built=(building(STATS), OTHER_STATS),
        replaced=("column_stats", "partition_stats"),
        shards={"column_stats": 1, "partition_stats": 1},
        sized_by_rows=frozenset({"column_stats"}),
    ),
    "rebuild alone in its partition": Case(
        Facts((building(BY_ID), KEYS), {**FILES, "secondary_index_by_id": 2, "record_index": 1}, ids(KEYS)),
        new=(building(BY_ID),),
        again=ids(BY_ID),
        kept=(KEYS,),
        built=(building(BY_ID),),
        replaced=("secondary_index_by_id",),
        shards={"secondary_index_by_id": 1},
        sized_by_rows=frozenset({"secondary_index_by_id"}),
    ),
    "rebuild of one sharer takes the others along": Case(
        Facts((building(STATS), OTHER_STATS, KEYS), {**FILES, **BOTH_STATS}, ids(OTHER_STATS, KEYS)),
        new=(building(STATS),),
        again=ids(STATS),
        kept=(KEYS,),
        built=(building(STATS), OTHER_STATS),
        replaced=("column_stats", "partition_stats"),
        shards={"column_stats": 1, "partition_stats": 1},
        sized_by_rows=frozenset({"column_stats"}),
    ),
    "index out of service left entries of the new one's column in a shared partition": Case(
        Facts(
            (out_of_service(STATS), OTHER_STATS, building(MORE_STATS)),
            {**FILES, **BOTH_STATS},
            ids(OTHER_STATS),
        ),
        new=(building(MORE_STATS),),
        built=(building(MORE_STATS), OTHER_STATS),
        replaced=("column_stats", "partition_stats"),
        shards={"column_stats": 1, "partition_stats": 1},
        sized_by_rows=frozenset({"column_stats"}),
    ),
    "index out of service left entries of other columns": Case(
        Facts(
            (out_of_service(STATS), WIDE_STATS, building(OTHER_STATS)),
            {**FILES, **BOTH_STATS},
            ids(WIDE_STATS),
        ),
        new=(building(OTHER_STATS),),
        kept=(WIDE_STATS,),
        built=(building(OTHER_STATS),),
    ),
    "index out of service is neither kept nor built": Case(
        Facts((out_of_service(BY_ID), KEYS), {**FILES, "secondary_index_by_id": 1}, ids(BY_ID, KEYS)),
        kept=(KEYS,),
    ),
    "index that no longer fits the schema is neither kept nor built": Case(
        Facts((BY_ID, KEYS), {**FILES, "secondary_index_by_id": 1}, ids(BY_ID, KEYS), unfit=ids(BY_ID)),
        kept=(KEYS,),
    ),
    "entries lost with their partition": Case(
        Facts((BY_N, KEYS), {**FILES, "record_index": 1}, ids(KEYS)),
        kept=(KEYS,),
        built=(BY_N,),
        shards={"secondary_index_by_n": 3},
        note="built anew, entries were missing: by_n",
    ),
    "entries lost for one sharer": Case(
        Facts((STATS, OTHER_STATS), {**FILES, **BOTH_STATS}, ids(OTHER_STATS)),
        built=(STATS, OTHER_STATS),
        replaced=("column_stats", "partition_stats"),
        shards={"column_stats": 1, "partition_stats": 1},
        sized_by_rows=frozenset({"column_stats"}),
        note="built anew, entries were missing: stats",
    ),
    "all entries lost with `files`": Case(
        Facts((BY_N, KEYS)),
        built=(BY_N, KEYS),
        shards={"files": 1, "secondary_index_by_n": 3, "record_index": 1},
        sized_by_rows=frozenset({"record_index"}),
        note="built anew, entries were missing: by_n, keys",
    ),
    "none of the file groups left": Case(
        Facts(
            (BY_N, STATS),
            {**FILES, "secondary_index_by_n": 3, **BOTH_STATS},
            ids(BY_N, STATS),
            is_all_replaced=True,
        ),
        built=(BY_N, STATS),
        replaced=("secondary_index_by_n", "column_stats", "partition_stats"),
        shards={"secondary_index_by_n": 3, "column_stats": 1, "partition_stats": 1},
        sized_by_rows=frozenset({"column_stats"}),
        note="none of the indexed file groups is left",
    ),
    "one sharer was dropped": Case(
        Facts((OTHER_STATS,), {**FILES, **BOTH_STATS}, ids(OTHER_STATS)),
        kept=(OTHER_STATS,),
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_decision(case: Case) -> None:
    found = decide(case.facts, case.new, again=case.again)
    assert (found.kept, found.built, found.replaced) == (case.kept, case.built, case.replaced)
    assert (found.shards, found.sized_by_rows) == (case.shards, case.sized_by_rows)
    assert len(found.notes) == (case.note is not None)
    assert all(note.startswith(case.note or "") for note in found.notes)


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_decision_is_whole(case: Case) -> None:
    """Whatever the case: no index twice, no entry of a thrown-away partition kept, every shard counted."""
    found = decide(case.facts, case.new, again=case.again)
    names = [each.id for each in found.indexes]
    assert len(set(names)) == len(names)
    assert not {each.partition for each in found.kept} & {*found.replaced}
    made = {each.partition for each in found.built}
    assert {name for name in made if name not in case.facts.shards} <= set(found.shards)
    assert {name for name in found.replaced if name in made} <= set(found.shards)
    assert found.sized_by_rows <= set(found.shards)
    # Taken again of the same facts it is the same, so a transaction that was opened for it is right.
    assert decide(case.facts, case.new, again=case.again).writes_like(found)


def test_shards_follow_rows_only_where_nobody_says_how_many() -> None:
    decision = Decision(shards={"files": 1, "a": 1, "b": 3}, sized_by_rows=frozenset({"a"}))
    assert decision.shards_for(7) == {"files": 1, "a": 7, "b": 3}
    assert decision.shards_for(1) == {"files": 1, "a": 1, "b": 3}


def test_what_changes_the_files_of_a_commit_needs_another_transaction() -> None:
    before = decide(
        Facts((BY_N, STATS), {**FILES, "secondary_index_by_n": 3, **BOTH_STATS}, ids(BY_N, STATS))
    )
    without = decide(Facts((BY_N,), {**FILES, "secondary_index_by_n": 3, **BOTH_STATS}, ids(BY_N)))
    assert without.writes_like(before)
    undescribed = decide(Facts((BY_N, STATS), {**FILES, "secondary_index_by_n": 3, **BOTH_STATS}, ids(BY_N)))
    assert not undescribed.writes_like(before)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ((), Drop(replaced=("column_stats", "partition_stats"))),
        ((BY_ID, KEYS), Drop(replaced=("column_stats", "partition_stats"))),
        ((OTHER_STATS,), Drop(thinned=("column_stats", "partition_stats"), columns=("n", "region"))),
        ((STATS, OTHER_STATS), Drop(thinned=("column_stats", "partition_stats"), columns=("region",))),
        ((out_of_service(STATS),), Drop(thinned=("column_stats", "partition_stats"), columns=("region",))),
    ],
    ids=["alone", "beside others", "sharing", "sharing a column", "sharing with one out of service"],
)
def test_drop_takes_what_nobody_else_uses(others: tuple[IndexDefinition, ...], expected: Drop) -> None:
    assert decide_drop(MORE_STATS, [*others, MORE_STATS], {**FILES, **BOTH_STATS}) == expected
