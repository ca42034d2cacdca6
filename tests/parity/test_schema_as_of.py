"""An earlier instant is read with the columns and types that the table had then, as Hudi on Spark does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hudi_index import IndexedTable
from hudi_index.errors import UnknownColumnError
from hudi_index.spark import last_plans, read_indexed
from hudi_index.spark.validate.parity import session_settings as session
from hudi_index.table import Snapshot
from hudi_index.table.types import spark_type
from tests.parity.tables import COW, MOR, HudiTable, canonical_rows
from tests.parity.test_queries_on_spark import collected, exact, full_scan

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OLD = "id string, ts bigint, region string, i int, f float, kept int"
NEW = OLD.replace("i int", "i bigint").replace("f float", "f double") + ", added string"


@pytest.mark.parametrize("table_type", [COW, MOR])
def test_earlier_instant_has_the_schema_of_its_time(
    table_type: str, spark: SparkSession, tmp_path: Path
) -> None:
    hudi = HudiTable(spark, tmp_path / "t", table_type, schema=OLD)
    row = lambda n, **new: {  # noqa: E731
        "id": f"k{n}",
        "ts": 1,
        "region": ("eu", "us")[n % 2],
        "i": n,
        "f": n + 0.1,
        "kept": n,
        **new,
    }
    hudi.bulk_insert([row(n) for n in range(4)])
    first = hudi.bulk_insert([row(n) for n in range(4, 8)])
    hudi.schema = NEW
    hudi.upsert([row(0, ts=2, i=1 << 40, f=0.1, added="new")])
    table = IndexedTable.open(hudi.path)
    table.create_all(
        [
            "CREATE INDEX stats ON t USING column_stats (i, f)",
            "CREATE INDEX more ON t USING column_stats (kept, added)",
            "CREATE INDEX kept ON t (kept)",
        ]
    )
    before, now = Snapshot.load(table.storage, first), Snapshot.load(table.storage)
    for snapshot, as_of in ((before, first), (now, None)):
        shown = {field.name: field.dataType.simpleString() for field in hudi.read(as_of).schema.fields}
        ours = snapshot.schema_with_meta_columns
        assert [*shown] == ours.names
        assert [spark_type(text, column="") for text in shown.values()] == ours.types
    assert (before.schema.names, str(before.schema.field("i").type)) == (OLD_NAMES, "int32")
    assert (now.schema.names, str(now.schema.field("i").type)) == ([*OLD_NAMES, "added"], "int64")

    texts = ["kept = 6", "i > 4", "f < 2.1", "f = 1.1", "i = 5 OR kept = 0"]
    with session(spark, exact()):
        frame = read_indexed(spark, hudi.path, as_of=first, strict=True)
        assert frame.schema == hudi.read(first).schema
        columns = [name for name in frame.columns if name != "_hoodie_file_name"]
        for text, wanted in zip(texts, full_scan(hudi.read(first), columns, texts), strict=True):
            assert collected(frame.where(text).select(*columns)) == wanted, text
            assert canonical_rows(table.scan(text, columns, as_of=first)) == wanted, text
        # An index over a column that has not changed still prunes the file groups that are as they were.
        assert collected(frame.where("kept = 6").select("id")).total() == 1
        assert last_plans(1)[0].kept < last_plans(1)[0].total
    plan = table.plan("i = 5", as_of=first)
    assert "when it was indexed and is" in plan.unusable["stats"]
    assert "no column 'added'" in plan.unusable["more"]
    with pytest.raises(UnknownColumnError):
        table.plan("added = 'new'", as_of=first)
    assert table.plan("added = 'new'").kept < 4


OLD_NAMES = [part.split()[0] for part in OLD.split(", ")]
