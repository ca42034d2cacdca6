"""Every way to make an index wrong is found, by content parity, by query parity or by both, as said here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.coverage import files
from hudi_index.entries import encode_value
from hudi_index.errors import NoSuchIndexError
from hudi_index.kind_specs import specs
from tests.validation.corruption import (
    changed,
    copied,
    damaged_file,
    dropped,
    emptied,
    moved_between_shards,
    renamed,
    rewritten,
    shifted,
    swapped,
)
from tests.validation.tables import clustered_table, indexed, instant

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CONTENT, BOTH = {"content"}, {"content", "query"}
STATS, BLOOM, BITS, RECORD = (
    "ColumnStatsMetadata",
    "BloomFilterMetadata",
    "BitmapIndexMetadata",
    "recordIndexMetadata",
)
SECONDARY, NGRAM, ARRAY = "secondary_index_secondary_index", "ngram_index_ngram", "array_index_array"


def low(value: int) -> str:
    return encode_value(value, pa.int32())


# kind, name, damage, a predicate that meets the damage, who finds it
MUTATIONS = [
    ("column_stats", "drop an entry", rewritten("column_stats", dropped("n$us$g1")), "n = 101", CONTENT),
    (
        "column_stats",
        "wrong maximum",
        rewritten("column_stats", changed("n$us$g1", STATS, maxValue=low(102))),
        "n = 104",
        BOTH,
    ),
    (
        "column_stats",
        "wrong minimum",
        rewritten("column_stats", changed("n$us$g1", STATS, minValue=low(102))),
        "n <= 101 AND n > 50",
        BOTH,
    ),
    (
        "column_stats",
        "all rows said to be null",
        rewritten("column_stats", changed("n$us$g1", STATS, nullCount=5)),
        "n = 101",
        BOTH,
    ),
    (
        "column_stats",
        "statistics of another file group",
        rewritten("column_stats", swapped("n$us$g1", "n$us$g3")),
        "n = 302",
        BOTH,
    ),
    (
        "column_stats",
        "an entry of a file group that never was",
        rewritten("column_stats", copied("n$us$g1", "n$us$g9")),
        "n = 101",
        CONTENT,
    ),
    ("column_stats", "cut base file", damaged_file("column_stats", log=False, cut=9), "n = 101", CONTENT),
    (
        "column_stats",
        "partition said to end earlier",
        rewritten("partition_stats", changed("n$us", STATS, maxValue=low(200))),
        "n = 302",
        BOTH,
    ),
    (
        "column_stats",
        "statistics of a partition gone",
        rewritten("partition_stats", dropped("n$us")),
        "n = 302",
        CONTENT,
    ),
    ("bloom_filters", "drop an entry", rewritten("bloom_filters", dropped("n$us$g1")), "n = 101", CONTENT),
    (
        "bloom_filters",
        "filter of other values",
        rewritten("bloom_filters", changed("n$us$g1", BLOOM, bloomFilter=emptied)),
        "n = 101",
        BOTH,
    ),
    (
        "bloom_filters",
        "filter of another file group",
        rewritten("bloom_filters", swapped("n$us$g1", "n$us$g3")),
        "n = 302",
        BOTH,
    ),
    (
        "bloom_filters",
        "filter of another column",
        rewritten("bloom_filters", swapped("n$us$g1", "name$us$g1")),
        "name = 'name-1-2'",
        BOTH,
    ),
    (
        "bloom_filters",
        "made in an unknown way",
        rewritten("bloom_filters", changed("n$us$g1", BLOOM, type="OTHER")),
        "n = 101",
        CONTENT,
    ),
    ("bloom_filters", "cut log file", damaged_file("bloom_filters", log=True, cut=5), "n = 101", CONTENT),
    (
        "bitmap",
        "drop an entry",
        rewritten("bitmap_index", dropped("name$name-1-2$us$g1")),
        "name = 'name-1-2'",
        BOTH,
    ),
    (
        "bitmap",
        "shifted bitmap",
        rewritten("bitmap_index", changed("name$name-1-4$us$g1", BITS, bitmap=shifted)),
        "name IN ('name-0-4', 'name-1-4', 'name-2-4', 'name-3-4') AND flag = FALSE",
        BOTH,
    ),
    (
        "bitmap",
        "wrong owner",
        rewritten("bitmap_index", renamed("name$name-1-2$us$g1", "name$name-1-2$us$g3")),
        "name = 'name-1-2'",
        BOTH,
    ),
    (
        "bitmap",
        "stale entry",
        rewritten("bitmap_index", copied("name$name-1-2$us$g1", "name$old$us$g1")),
        "name = 'old'",
        CONTENT,
    ),
    (
        "bitmap",
        "value of other rows",
        rewritten("bitmap_index", swapped("name$name-1-2$us$g1", "name$name-1-3$us$g1")),
        "name = 'name-1-2'",
        CONTENT,
    ),
    ("bitmap", "base file gone", damaged_file("bitmap_index", log=False, cut=None), "flag", CONTENT),
    ("record_index", "drop an entry", rewritten("record_index", dropped("k1-2")), "id = 'k1-2'", BOTH),
    (
        "record_index",
        "wrong owner",
        rewritten("record_index", renamed("k1-2$2", "k1-2$3")),
        "id = 'k1-2'",
        BOTH,
    ),
    (
        "record_index",
        "wrong key",
        rewritten("record_index", renamed("k1-2", "k1-22")),
        "_hoodie_record_key = 'k1-2'",
        BOTH,
    ),
    (
        "record_index",
        "stale entry",
        rewritten("record_index", copied("k1-2", "k-old")),
        "id = 'k-old'",
        CONTENT,
    ),
    (
        "record_index",
        "wrong commit time",
        rewritten("record_index", changed("k1-2", RECORD, instantTime="19700101000000000")),
        "id = 'k1-2'",
        CONTENT,
    ),
    ("record_index", "cut base file", damaged_file("record_index", log=False, cut=3), "id = 'k1-2'", CONTENT),
    (
        "secondary_index",
        "drop an entry",
        rewritten(SECONDARY, dropped("name-1-2$")),
        "name = 'name-1-2'",
        BOTH,
    ),
    (
        "secondary_index",
        "wrong owner",
        rewritten(SECONDARY, renamed("name-1-2$k1-2$2", "name-1-2$k1-2$3")),
        "name = 'name-1-2'",
        BOTH,
    ),
    (
        "secondary_index",
        "wrong value",
        rewritten(SECONDARY, renamed("name-1-2$", "name-1-22$")),
        "name = 'name-1-2'",
        BOTH,
    ),
    (
        "secondary_index",
        "stale entry",
        rewritten(SECONDARY, copied("name-1-2$", "name-old$")),
        "name = 'name-old'",
        CONTENT,
    ),
    (
        "secondary_index",
        "wrong shard",
        moved_between_shards(SECONDARY, "name-1-2$"),
        "name = 'name-1-2'",
        BOTH,
    ),
    (
        "secondary_index",
        "cut log file",
        damaged_file(SECONDARY, log=True, cut=7),
        "name = 'name-1-2'",
        CONTENT,
    ),
    ("ngram", "drop an entry", rewritten(NGRAM, dropped("1-2$2")), "name LIKE '%1-2%'", BOTH),
    ("ngram", "wrong owner", rewritten(NGRAM, renamed("-1-$2", "-1-$3")), "contains(name, '-1-')", BOTH),
    (
        "ngram",
        "shifted bitmap",
        rewritten(NGRAM, changed("1-2$2", BITS, bitmap=shifted)),
        "endswith(name, '1-2')",
        BOTH,
    ),
    ("ngram", "stale entry", rewritten(NGRAM, copied("1-2$2", "old$2")), "name LIKE '%old%'", CONTENT),
    ("ngram", "cut base file", damaged_file(NGRAM, log=False, cut=3), "endswith(name, '-1-2')", CONTENT),
    ("array", "drop an entry", rewritten(ARRAY, dropped("tag-1-2")), "array_contains(tags, 'tag-1-2')", BOTH),
    (
        "array",
        "wrong owner",
        rewritten(ARRAY, renamed("tag-1-2$2", "tag-1-2$3")),
        "arrays_overlap(tags, array('tag-1-2', 'nothing'))",
        BOTH,
    ),
    (
        "array",
        "wrong element",
        rewritten(ARRAY, renamed("tag-1-2", "tag-1-22")),
        "exists(tags, x -> x = 'tag-1-2')",
        BOTH,
    ),
    (
        "array",
        "stale entry",
        rewritten(ARRAY, copied("tag-1-2", "tag-old")),
        "array_contains(tags, 'tag-old')",
        CONTENT,
    ),
    (
        "array",
        "cut log file",
        damaged_file(ARRAY, log=True, cut=7),
        "exists(tags, x -> x LIKE 'tag-1%')",
        CONTENT,
    ),
    (
        "bitmap",
        "wrong row count in files",
        rewritten("files", changed("us$g1", files.PAYLOAD, rowCount=2)),
        "flag = FALSE",
        CONTENT,
    ),
    (
        "secondary_index",
        "wrong number in files",
        rewritten("files", changed("us$g1", files.PAYLOAD, number=77)),
        "name = 'name-1-2'",
        BOTH,
    ),
    (
        "record_index",
        "number of another file group in files",
        rewritten("files", changed("us$g1", files.PAYLOAD, number=3)),
        "id = 'k1-2'",
        BOTH,
    ),
    (
        "secondary_index",
        "files record dropped",
        rewritten("files", dropped("us$g1")),
        "name = 'name-1-2'",
        CONTENT,
    ),
    (
        "secondary_index",
        "files record of another file group",
        rewritten("files", swapped("us$g1", "us$g3")),
        "name = 'name-1-2'",
        CONTENT,
    ),
]


def _found_by(table: IndexedTable, predicate: str, *, invalidates: bool = False) -> set[str]:
    report = table.validate(queries=0, where=(predicate,), invalidates=invalidates)
    assert report.passed == (not report.exit_code)
    found = set()
    if report.content.differences or report.coverage.differences:
        found.add("content")
    if report.wrong_queries:
        found.add("query")
        assert report.wrong_queries[0].missing
    return found


@pytest.mark.parametrize(
    ("kind", "name", "damage", "predicate", "expected"),
    MUTATIONS,
    ids=[f"{kind}: {name}" for kind, name, *_ in MUTATIONS],
)
def test_mutation_is_found_and_healed(
    kind: str,
    name: str,
    damage: Callable[[IndexedTable], None],
    predicate: str,
    expected: set[str],
    tmp_path: Path,
) -> None:
    table = indexed(clustered_table(tmp_path / "t"), kind)
    assert _found_by(table, predicate) == set()
    damage(table)
    table = IndexedTable.open(tmp_path / "t")
    assert _found_by(table, predicate) == expected
    assert table.indexes()[0].state is IndexState.READY  # only reported so far
    # Already open, and asked before: it has to see at once that the index is out of service.
    table.plan(predicate)
    assert _found_by(table, predicate, invalidates=True) == expected
    (definition,) = table.indexes()
    assert definition.state is IndexState.INVALID
    assert definition.reason
    assert definition.reason.startswith("validation: ")
    assert table.plan(predicate).kept == 4
    table.sql(f"REBUILD INDEX {kind} ON t")
    assert _found_by(table, predicate) == set()
    assert table.indexes()[0].state is IndexState.READY
    assert table.plan(predicate).kept < 4


def test_every_kind_has_at_least_five_mutations() -> None:
    kinds = [kind for kind, *_ in MUTATIONS]
    assert {kind: kinds.count(kind) >= 5 for kind in kinds} == dict.fromkeys(kinds, True)
    assert set(kinds) == {spec.name for spec in specs().values() if spec.is_created}


def test_entries_of_a_slice_that_is_gone_but_said_to_be_current_are_found(tmp_path: Path) -> None:
    made = clustered_table(tmp_path / "t")
    table = indexed(made, "secondary_index", "column_stats")
    made.commit(instant(2))
    name = made.base_file("us", "g1", instant(2), [{"id": "new", "n": 5000, "name": "new", "region": "us"}])
    # A stale index that claims to be fresh: the record names the new slice, the entries are of the old one.
    rewritten("files", changed("us$g1", files.PAYLOAD, baseFile=name))(table)
    report = table.validate(queries=0, where=("name = 'new'", "n = 5000"))
    assert [query.rows_missing for query in report.wrong_queries] == [1, 1]
    assert report.content.differences["missing"]
    assert sorted(report.invalidated) == ["column_stats", "secondary_index"]


@pytest.mark.parametrize(
    ("kind", "cheaper", "damage", "predicate"),
    [
        ("secondary_index", "bitmap", rewritten(SECONDARY, dropped("name-1-")), "name = 'name-1-2'"),
        (
            "bloom_filters",
            "column_stats",
            rewritten("bloom_filters", changed("n$us$g1", BLOOM, bloomFilter=emptied)),
            "n = 102",
        ),
    ],
    ids=["secondary_index behind bitmap", "bloom_filters behind column_stats"],
)
def test_index_behind_a_cheaper_one_is_found_by_its_own_queries(
    kind: str, cheaper: str, damage: Callable[[IndexedTable], None], predicate: str, tmp_path: Path
) -> None:
    table = indexed(clustered_table(tmp_path / "t"), cheaper, kind)
    damage(table)
    # Any query's plan is right: a cheaper index leaves nothing that the faulty one could be asked about.
    asked = [answer.index for answer in table.plan(predicate).answers if answer.is_asked]
    assert set(asked) == {cheaper}
    wrong = table.plan(predicate, only=[kind])
    assert wrong.kept == 0
    assert {answer.index for answer in wrong.answers} == {kind}
    assert table.validate(queries=0, sample=0, where=(predicate,)).passed
    report = table.validate(queries=60, sample=0, seed=1)
    assert report.invalidated == [kind]
    assert (kind,) in {tuple(query.only) for query in report.wrong_queries}


def test_plan_asks_only_the_named_indexes(tmp_path: Path) -> None:
    table = indexed(clustered_table(tmp_path / "t"))
    for names in (["column_stats"], ["BLOOM_filters"], ["record_index", "secondary_index"], []):
        plan = table.plan("name = 'name-1-2' AND n = 102 AND id = 'k1-2'", only=names)
        assert {answer.index.removesuffix(" by partition") for answer in plan.answers} == {
            name.lower() for name in names
        }
        assert plan.kept == (1 if names else 4)
        assert ("bitmap", "only others are to be asked") in plan.unusable.items()
    with pytest.raises(NoSuchIndexError, match="no index 'nobody'"):
        table.plan("n = 1", only=["column_stats", "nobody"])


def test_only_the_faulty_index_is_taken_out_of_service(tmp_path: Path) -> None:
    table = indexed(clustered_table(tmp_path / "t"))
    rewritten("column_stats", changed("n$us$g1", STATS, maxValue=low(102)))(table)
    report = table.validate(queries=0, where=("n = 104",))
    assert len(report.wrong_queries) == 1
    assert report.invalidated == ["column_stats"]
    assert [each.name for each in report.indexes if each.faults] == ["column_stats"]
    states = {each.name: each.state for each in table.indexes()}
    assert [name for name, state in states.items() if state is IndexState.INVALID] == ["column_stats"]
    assert "query 'n = 104' lacks 1 rows" in str(table.indexes())
