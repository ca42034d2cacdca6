"""A small table that repair tests change and damage."""

from __future__ import annotations

import shutil
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hudi_index import IndexedTable
from hudi_index.metadata_table import MetadataTable
from tests.support.tables import Fabricated
from tests.validation.tables import STATEMENTS, clustered_table, instant

if TYPE_CHECKING:
    from pathlib import Path

    from hudi_index.storage import Storage


class Trips:
    """Three file groups; each `change` gives some of them other rows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = Fabricated(path, partition_fields="")
        self._instants = iter(f"202401{day:02d}000000000" for day in range(1, 29))
        self.change({"a": (1, "x"), "b": (2, "y"), "c": (3, "z")})
        self.table = IndexedTable.open(path)

    def copied(self, path: Path) -> Trips:
        """The same table at another place."""
        shutil.copytree(self.path, path)
        found = copy(self)
        found.path, found.table = path, IndexedTable.open(path)
        found.files = replace(self.files, path=path)
        found._instants = iter(f"202402{day:02d}000000000" for day in range(1, 29))
        return found

    @property
    def storage(self) -> Storage:
        return self.table.storage

    @property
    def index_file(self) -> Path:
        return self.path / ".hoodie/.index/index.json"

    @property
    def metadata_table(self) -> Path:
        return self.path / MetadataTable.folder

    def newest_commit(self) -> Path:
        return max(
            (self.metadata_table / ".hoodie/timeline").glob("*_*"), key=lambda file: file.name.split("_")[1]
        )

    def change(self, groups: dict[str, tuple[int, str]]) -> None:
        instant = next(self._instants)
        self.files.commit(instant)
        for group, (n, region) in groups.items():
            rows = [{"id": f"{group}{place}", "n": n, "region": region} for place in range(3)]
            self.files.base_file("", group, instant, rows)

    def sql(self, statement: str) -> Any:
        return self.table.sql(statement)

    def groups_for(self, predicate: str) -> set[str]:
        """The file groups that a plan of another process reads."""
        return {file_slice.group.file_id for file_slice in IndexedTable(self.storage).plan(predicate).slices}


def wide_table(path: Path) -> Path:
    """A table with indexes of all kinds that were maintained, compacted and maintained again."""
    files = clustered_table(path)
    table = IndexedTable.open(path)
    table.create_all(list(STATEMENTS.values()))
    for number in (2, 3):
        files.commit(instant(number))
        rows = [
            {"id": f"k1-{key}", "n": 1000 * number + key, "name": "changed", "region": "us"}
            for key in range(4)
        ]
        files.base_file("us", "g1", instant(number), rows)
        table.maintain()
        if number == 2:
            table.compact(force=True)
    return path


def rows_of(path: Path, predicate: str) -> list[str]:
    """The rows that a query of another process gets, one text each."""
    return sorted(map(str, IndexedTable.open(path).scan(predicate).read_all().to_pylist()))
