"""The grammar of keys that each kind's docstring gives is the one of the keys that it writes."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from hudi_index.entries.keys import lookup_part, partition_part, split_key
from hudi_index.kind_specs import KindSpec, specs
from hudi_index.kinds import IndexKind, SliceContext, describe, kind_of, summary_of
from hudi_index.table import RECORD_KEY, ROW_POSITION
from tests.engine.kinds.rows import GROUPS, definition_of

TYPES: dict[str, pa.DataType] = {"text$": pa.string(), "other": pa.int64(), "list$": pa.list_(pa.string())}
BATCH = pa.RecordBatch.from_pydict(
    {
        RECORD_KEY: ["k$1", "k2", "k3"],
        ROW_POSITION: pa.array([0, 1, 2], pa.int64()),
        "text$": ["a$b$c", None, ""],
        "other": [1, None, 3],
        "list$": pa.array([["a$b"], None, ["", None]], TYPES["list$"]),
    }
)
OWNER_BY_NUMBER = ["number of the file group"]
OWNER_BY_NAME = ["partition path", "file id"]


def grammars(spec: KindSpec) -> list[list[str]]:
    """The names of a key's parts, for each line of `key` in the docstring of the kind's module."""
    text = importlib.import_module(spec.implementation.partition(":")[0]).__doc__ or ""
    found = re.search(r"^    key {2,}(.*?)^    \w", text, re.MULTILINE | re.DOTALL)
    assert found, f"{spec.implementation} has no line `key`"
    return [re.findall(r"<([^>]+)>", line) for line in found[1].splitlines()]


def columns_of(spec: KindSpec) -> Sequence[str]:
    """What an index of a kind can be over here."""
    if spec.name == "array":
        return ["list$"]
    return ["text$"] if spec.has_columns else ["id"]


def keys_of(kind: IndexKind, context: SliceContext) -> list[str]:
    keys: list[Any] = describe(kind, context, [BATCH]).column("key").to_pylist()
    assert keys
    return keys


BUILT = [spec for spec in specs().values() if spec.is_created]


@pytest.mark.parametrize("spec", BUILT, ids=lambda spec: spec.name)
@pytest.mark.parametrize(("group", "number"), GROUPS)
def test_keys_have_the_parts_of_the_grammar_and_the_owner_at_the_end(
    spec: KindSpec, group: Any, number: int
) -> None:
    grammar, *others = grammars(spec)
    context = SliceContext(group, number)
    kind = kind_of(definition_of(spec.name, *columns_of(spec)), TYPES)
    owner = OWNER_BY_NUMBER if spec.names_owner_by_number else OWNER_BY_NAME

    # A part in brackets is there for each further column.
    parts = [part for part in grammar if part != "value of the next column"]
    for key in keys_of(kind, context):
        assert len(split_key(key)) == len(parts), key
        assert key.endswith("$" + kind.owner_of(context))
        assert len(split_key(lookup_part(key, kind.key_tail))) == len(parts) - kind.key_tail
        if parts[0] == "column":
            assert split_key(key)[0] == kind.sources[0].part
    assert parts[-len(owner) :] == owner
    assert len(others) == (spec.name == "record_index")


def test_partitioned_record_index_has_the_partition_path_first() -> None:
    _, grammar = grammars(specs()["record_index"])
    group, number = GROUPS[2]
    kind = kind_of(definition_of("record_index", "id", partitioned="true"), TYPES)

    assert grammar == ["partition path", "record key", *OWNER_BY_NUMBER]
    for key in keys_of(kind, SliceContext(group, number)):
        first, _, last = split_key(key)
        assert (first, last) == (partition_part(group.partition_path), str(number))


def test_secondary_index_has_a_part_for_each_column() -> None:
    (grammar,) = grammars(specs()["secondary_index"])
    kind = kind_of(definition_of("secondary_index", "text$", "other"), TYPES)

    assert "value of the next column" in grammar
    assert {len(split_key(key)) for key in keys_of(kind, SliceContext(*GROUPS[0]))} == {len(grammar)}


def test_summary_has_a_key_per_column_and_partition() -> None:
    (grammar,) = grammars(specs()["partition_stats"])
    definition = definition_of("column_stats", "text$")
    summary = summary_of(definition, TYPES)
    assert summary is not None
    group, number = GROUPS[2]
    entries = describe(kind_of(definition, TYPES), SliceContext(group, number), [BATCH])

    (key,) = summary.merge(entries).column("key").to_pylist()

    assert grammar == ["column", "partition path"]
    assert split_key(str(key)) == ["text%24", partition_part(group.partition_path)]
    assert [key] == [key for _, key in summary.keys_of(group.partition_path)]
