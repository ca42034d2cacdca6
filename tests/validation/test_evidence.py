"""Only an index with evidence against it is taken out of service; a query that disagrees fails the run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog import IndexState
from hudi_index.errors import RefusedTextError, UserError
from hudi_index.validation import InProcess, Request, validate
from hudi_index.validation.report import DIFFERENT
from tests.engine.gate.hostile_conditions import HOSTILE_CONDITIONS
from tests.engine.gate.hostile_queries import HOSTILE_QUERIES
from tests.validation.corruption import changed, dropped, emptied, rewritten
from tests.validation.tables import clustered_table, indexed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from hudi_index.lifecycle.state import IndexedState
    from hudi_index.metadata_table import MetadataTable
    from hudi_index.validation import QueryResult
    from hudi_index.validation.queries import Query

DAMAGE = rewritten("bloom_filters", changed("name$us$g1", "BloomFilterMetadata", bloomFilter=emptied))
PREDICATE = "name = 'name-1-2'"


@dataclass(frozen=True)
class Disagreeing(InProcess):
    """Answers that lack a row: of a planner that reads right indexes wrongly, or of an unsettled query."""

    is_settled: bool = True

    def ask(
        self, metadata_table: MetadataTable, state: IndexedState, queries: Iterable[Query], request: Request
    ) -> Iterator[QueryResult]:
        for result in super().ask(metadata_table, state, queries, request):
            is_lost = bool(result.refuted) or not self.is_settled
            yield replace(result, result=DIFFERENT, rows_missing=1) if is_lost else result


def _ready(table: IndexedTable) -> set[str]:
    return {each.name for each in table.indexes() if each.state is IndexState.READY}


def test_index_that_was_compared_and_is_right_is_not_blamed_by_a_query(tmp_path: Path) -> None:
    table = indexed(clustered_table(tmp_path / "t"), "column_stats", "bloom_filters")
    request = Request(queries=6, where=(PREDICATE,))
    report = validate(table.storage, Disagreeing(is_settled=True), request)
    assert report.exit_code == 3
    assert report.wrong_queries
    assert {each.cause for each in report.wrong_queries} == {"unknown"}
    assert f"{PREDICATE!r} disagrees, cause unknown" in report.summary()
    assert "cause: unknown" in str(report)
    assert report.invalidated == []
    assert [each.faults for each in report.indexes] == [[], []]
    assert _ready(table) == {"column_stats", "bloom_filters"}


def test_query_without_a_settled_answer_is_no_evidence(tmp_path: Path) -> None:
    table = indexed(clustered_table(tmp_path / "t"), "column_stats", "bloom_filters")
    # No entry was compared, so the query is all there is.
    request = Request(queries=0, sample=0, where=(PREDICATE,))
    report = validate(table.storage, Disagreeing(is_settled=False), request)
    (query,) = report.queries
    assert query.result == "failed"
    assert "no evidence" in str(query.reason)
    assert report.exit_code == 3
    assert _ready(table) == {"column_stats", "bloom_filters"}


@pytest.mark.parametrize("sample", [None, 0], ids=["content compared", "by queries alone"])
def test_damaged_index_is_found_beside_right_ones(tmp_path: Path, sample: int | None) -> None:
    table = indexed(clustered_table(tmp_path / "t"), "bloom_filters", "secondary_index")
    DAMAGE(table)
    assert "bloom_filters" in [each.index for each in table.plan(PREDICATE).answers if each.refuted]
    report = table.validate(queries=0, sample=sample, where=(PREDICATE,))
    assert report.exit_code == 3
    assert [query.cause for query in report.wrong_queries] == ["bloom_filters"]
    assert report.invalidated == ["bloom_filters"]
    assert _ready(table) == {"secondary_index"}


def test_sample_that_misses_the_damage_does_not_acquit(tmp_path: Path) -> None:
    table = indexed(clustered_table(tmp_path / "t"), "bloom_filters")
    DAMAGE(table)
    samples = [table.validate(queries=0, sample=1, seed=seed, invalidates=False) for seed in range(8)]
    seed = next(place for place, report in enumerate(samples) if report.passed)
    report = table.validate(queries=0, sample=1, seed=seed, where=(PREDICATE,))
    assert not report.content.differences
    assert report.invalidated == ["bloom_filters"]


def test_hostile_texts_are_bad_requests_and_nothing_is_asked(tmp_path: Path) -> None:
    table = indexed(clustered_table(tmp_path / "t", groups=1, rows=1), "column_stats")
    rewritten("column_stats", dropped("n$eu$g0"))(table)
    for where, sql in [
        *(((text,), ()) for text in HOSTILE_CONDITIONS),
        *(((), (text,)) for text in HOSTILE_QUERIES),
    ]:
        with pytest.raises(UserError):
            table.validate(queries=0, where=("n = 1", *where), sql=sql)
    assert _ready(table) == {"column_stats"}


@pytest.mark.parametrize("text", ["rand() > 0.5", "n > unix_timestamp()", "input_file_name() = 'x'"])
def test_predicates_of_plans_go_through_the_gate(tmp_path: Path, text: str) -> None:
    table = IndexedTable.open(clustered_table(tmp_path / "t", groups=1, rows=1).path)
    for ask in (table.plan, table.scan):
        with pytest.raises(RefusedTextError, match="does not always"):
            ask(text)
