from __future__ import annotations

import pyarrow as pa
import pytest

from hudi_index.table import TableConfig
from hudi_index.table.record_keys import reason_against_computing, record_keys_of

BATCH = pa.record_batch(
    {"id": ["a", "", None], "n": pa.array([1, -2, None], pa.int32()), "f": [0.5, 1.0, None]}
)


def config_of(fields: str, generator: str = "SIMPLE") -> TableConfig:
    return TableConfig.parse(
        {
            "hoodie.table.recordkey.fields": fields,
            "hoodie.table.keygenerator.type": generator,
            "hoodie.populate.meta.fields": "false",
        }
    )


def test_one_field_is_its_text() -> None:
    assert record_keys_of(BATCH, config_of("n")).to_pylist() == ["1", "-2", None]


def test_several_fields_are_named_and_never_null() -> None:
    keys = record_keys_of(BATCH, config_of("id,n", "COMPLEX")).to_pylist()
    assert keys == ["id:a,n:1", "id:__empty__,n:-2", "id:__null__,n:__null__"]


@pytest.mark.parametrize(
    ("fields", "generator", "reason"),
    [
        ("id", "SIMPLE", None),
        ("id,n", "COMPLEX", None),
        ("id", "COMPLEX", "no certain record key"),
        ("f", "SIMPLE", "strings and integers"),
        ("a.b", "SIMPLE", "no top-level column"),
        ("", "SIMPLE", "no record key fields"),
    ],
)
def test_keys_without_a_certain_text_are_not_computed(
    fields: str, generator: str, reason: str | None
) -> None:
    found = reason_against_computing(config_of(fields, generator), BATCH.schema)
    assert (found is None) == (reason is None)
    assert reason is None or reason in str(found)
