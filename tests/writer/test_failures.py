"""What the texts of failed writes mean. No Spark: what Hudi really says is in test_rows.py."""

from __future__ import annotations

import pytest

from hudi_index.errors import ClusteringPendingError, CommitBetweenError, HudiIndexError, RowsRefusedError
from hudi_index.spark.write.failures import meaning_of

HUDI = "org.apache.hudi.exception"
URI = "file:///t"


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (f"x.RowsRefusedError: {RowsRefusedError(uri='t', reason='no order')}", RowsRefusedError, "no order"),
        (
            f"a\nCaused by: {HUDI}.HoodieKeyException: Record key has to be non-null!\n\tat b",
            RowsRefusedError,
            "null!",
        ),
        (
            f": {HUDI}.MissingSchemaFieldException: missing: {{a.b}}\nwriterSchema",
            RowsRefusedError,
            "missing: {a.b}",
        ),
        (f"{HUDI}.HoodieClusteringUpdateException: no", ClusteringPendingError, "clustering"),
    ],
)
def test_refusals_are_told(text: str, kind: type[HudiIndexError], said: str) -> None:
    meant = meaning_of(text, URI, [])
    assert isinstance(meant, kind)
    assert said in str(meant)
    assert "nothing was written" in str(meant)
    assert "\n" not in str(meant)


def test_long_refusals_are_cut() -> None:
    meant = meaning_of(f"{HUDI}.SchemaBackwardsCompatibilityException: {'x' * 10_000}", URI, [])
    assert isinstance(meant, RowsRefusedError)
    assert len(str(meant)) < 1_000


def test_conflicts_are_told_where_somebody_committed() -> None:
    text = f"{HUDI}.HoodieWriteConflictException: no"
    assert isinstance(meaning_of(text, URI, ["20240101000000000"]), CommitBetweenError)
    assert meaning_of(text, URI, []) is None


def test_other_failures_stay_what_they_are() -> None:
    assert meaning_of("java.lang.OutOfMemoryError: Java heap space", URI, ["20240101000000000"]) is None
