"""What Hudi's writer is told, from the table's own properties and the caller's options. No Spark."""

from __future__ import annotations

import json

import pytest

from hudi_index.errors import InvalidOptionError
from hudi_index.table import TableConfig
from hudi_index.writer.batches import Batch
from hudi_index.writer.fit import orders_by_event_time, reason_against_table
from hudi_index.writer.options import BATCH, batch_options, write_options

PROPERTIES = {
    "hoodie.table.name": "t",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "9",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.partition.fields": "region",
    "hoodie.table.ordering.fields": "ts,n",
    "hoodie.record.merge.mode": "EVENT_TIME_ORDERING",
    "hoodie.datasource.write.hive_style_partitioning": "true",
}
PARTITIONS = "hoodie.datasource.write.partitionpath.field"
MODELS = "org.apache.hudi.common.model"


def config(**changed: str | None) -> TableConfig:
    named = {name.replace("__", "."): value for name, value in changed.items()}
    return TableConfig.parse(
        {name: value for name, value in {**PROPERTIES, **named}.items() if value is not None}
    )


def test_the_table_says_how_it_is_written() -> None:
    found = write_options(config(), "upsert")
    assert found == {
        "hoodie.table.name": "t",
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.datasource.write.recordkey.field": "id",
        PARTITIONS: "region",
        "hoodie.datasource.write.precombine.field": "ts,n",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.partitionpath.urlencode": "false",
        "hoodie.write.table.version": "9",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.write.operation": "upsert",
        "_hoodie.spark.sql.writes.prepped": "true",
    }


def test_what_does_not_contradict_passes() -> None:
    given = {
        "hoodie.parquet.small.file.limit": "1",
        "hoodie.write.lock.provider": "x.Y",
        "hoodie.metadata.enable": "true",
        # The same as the table, in other words.
        "hoodie.table.recordkey.fields": " ID ",
        "hoodie.datasource.write.precombine.field": "ts, n",
        "hoodie.combine.before.upsert": "TRUE",
    }
    found = write_options(config(), "delete", given)
    assert found["hoodie.parquet.small.file.limit"] == "1"
    assert found["hoodie.write.lock.provider"] == "x.Y"
    assert found["hoodie.metadata.enable"] == "true"
    assert found["hoodie.datasource.write.recordkey.field"] == "id"
    assert found["hoodie.datasource.write.precombine.field"] == "ts,n"
    assert found["hoodie.datasource.write.operation"] == "delete"


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("hoodie.datasource.write.table.type", "COPY_ON_WRITE", "here it is 'MERGE_ON_READ'"),
        ("hoodie.table.version", "8", "here it is '9'"),
        ("hoodie.datasource.write.hive_style_partitioning", "false", "here it is 'true'"),
        (PARTITIONS, "day", "here it is 'region'"),
        (PARTITIONS, "day:SIMPLE", "here it is 'region'"),
        ("hoodie.table.ordering.fields", "n,ts", "here it is 'ts,n'"),
        ("hoodie.table.name", "other", "here it is 't'"),
        ("hoodie.datasource.write.drop.partition.columns", "true", "partition columns"),
        ("hoodie.populate.meta.fields", "false", "meta columns"),
        ("hoodie.write.auto.upgrade", "true", "a step of its own"),
        ("hoodie.datasource.write.insert.drop.duplicates", "true", "updated"),
        ("hoodie.index.type", "BUCKET", "record index"),
        ("hoodie.write.record.merge.mode", "CUSTOM", "one way"),
        ("hoodie.record.merge.mode", "COMMIT_TIME_ORDERING", "one way"),
        ("hoodie.datasource.write.payload.class", f"{MODELS}.OverwriteWithLatestAvroPayload", "one way"),
        ("hoodie.datasource.write.payload.class", "my.EventTimePayload", "one way"),
        ("hoodie.record.merge.strategy.id", "another", "one way"),
        ("_hoodie.spark.sql.writes.prepped", "false", "this writer sets it"),
        ("hoodie.datasource.write.commitmeta.key.prefix", "mine.", "one such prefix"),
        (BATCH, "{}", "`writer` and `batch`"),
    ],
)
def test_what_contradicts_is_refused_with_the_reason(name: str, value: str, reason: str) -> None:
    with pytest.raises(InvalidOptionError, match=reason) as caught:
        write_options(config(), "upsert", {name: value})
    assert caught.value.option == name


@pytest.mark.parametrize(
    ("changed", "given"),
    [
        ({}, {"hoodie.record.merge.mode": "event_time_ordering"}),
        ({}, {"hoodie.datasource.write.payload.class": f"{MODELS}.DefaultHoodieRecordPayload"}),
        (
            {"hoodie__compaction__payload__class": "my.Payload"},
            {"hoodie.datasource.write.payload.class": "my.Payload"},
        ),
        (
            {"hoodie__table__legacy__payload__class": "my.Payload"},
            {"hoodie.compaction.payload.class": "my.Payload"},
        ),
        (
            {"hoodie__record__merge__strategy__id": "ours"},
            {"hoodie.write.record.merge.strategy.id": "ours"},
        ),
    ],
)
def test_how_records_are_merged_may_be_said_again(changed: dict[str, str], given: dict[str, str]) -> None:
    table = config(**changed)
    assert write_options(table, "upsert", given) == write_options(table, "upsert")


def test_a_payload_that_is_not_the_tables_is_refused() -> None:
    table = config(hoodie__compaction__payload__class="my.Payload")
    given = {"hoodie.datasource.write.payload.class": f"{MODELS}.DefaultHoodieRecordPayload"}
    with pytest.raises(InvalidOptionError, match="one way"):
        write_options(table, "upsert", given)


def test_kinds_of_fields_that_a_version_6_table_does_not_keep_may_be_said() -> None:
    table = config(hoodie__table__version="6", hoodie__table__partition__fields="region,day")
    found = write_options(table, "upsert", {PARTITIONS: "region:SIMPLE,day:TIMESTAMP"})
    assert found[PARTITIONS] == "region:SIMPLE,day:TIMESTAMP"
    table = config(hoodie__table__partition__fields="region:SIMPLE,day:TIMESTAMP")
    with pytest.raises(InvalidOptionError, match="day:TIMESTAMP"):
        write_options(table, "upsert", {PARTITIONS: "region:SIMPLE,day:SIMPLE"})


def test_a_commit_names_its_batch() -> None:
    found = batch_options("hourly", "7")
    assert json.loads(found[BATCH]) == {"writer": "hourly", "batch": "7"}
    assert Batch.of(found) == Batch("hourly", "7")
    assert Batch.of({}) is Batch.of({BATCH: "nonsense"}) is Batch.of({BATCH: "[1]"}) is None


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"hoodie.table.recordkey.fields": None}, "no record key fields"),
        ({"hoodie.populate.meta.fields": "false"}, "meta columns"),
        ({"hoodie.datasource.write.drop.partition.columns": "true"}, "partition columns"),
        ({"hoodie.record.merge.mode": "CUSTOM"}, "see both"),
        (
            {
                "hoodie.record.merge.mode": None,
                "hoodie.compaction.payload.class": "a.PartialUpdateAvroPayload",
            },
            "see both",
        ),
        ({"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}, "see both"),
    ],
)
def test_tables_that_can_not_be_written_so(changed: dict[str, str | None], reason: str) -> None:
    assert reason_against_table(config(), []) is None
    assert reason in (reason_against_table(config(**changed), []) or "")


def test_ordering_counts_where_the_table_says_so() -> None:
    assert orders_by_event_time(config())
    assert not orders_by_event_time(config(**{"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}))
    assert not orders_by_event_time(config(**{"hoodie.table.ordering.fields": None}))
