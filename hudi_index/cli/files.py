"""The files that a predicate leaves, for engines that take a list: as JSON, paths, a manifest or SQL.

Base files alone are the rows of a file slice only where it has no log files. Everything but JSON, which names
those too, is refused elsewhere: rows that were updated or deleted since would be wrong, and nobody told.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hudi_index.errors import UserError

if TYPE_CHECKING:
    from hudi_index.planner import ScanPlan
    from hudi_index.table import FileSlice

__all__ = ["FORMATS", "FileList"]

FORMATS = ("json", "paths", "symlink", "duckdb", "clickhouse")
"""`symlink` is the manifest that Hive's SymlinkTextInputFormat reads: Athena, Presto, Redshift Spectrum."""

_GLOB_SIGNS = frozenset("{},*?'\\")
_DUCKDB_SIGNS = re.compile(r"[*?\[]")
"""What DuckDB takes for a pattern, which other files may meet too; in brackets each stands for itself."""


@dataclass(frozen=True)
class FileList:
    """The files of a plan in one of the formats."""

    plan: ScanPlan
    format: str

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        instant = self.plan.snapshot.instant
        return {
            "predicate": self.plan.predicate,
            "file_groups": self.plan.total,
            "file_groups_read": self.plan.kept,
            "instant": instant.requested_time if instant else None,
            "files": [self._facts_of(each) for each in self.plan.slices],
        }

    def _facts_of(self, file_slice: FileSlice) -> dict[str, Any]:
        base = file_slice.base_path
        logs = [path for path in file_slice.paths if path != base]
        return {
            "partition_path": file_slice.group.partition_path,
            "file_id": file_slice.group.file_id,
            "base_file": None if base is None else self._location(base),
            "log_files": [self._location(path) for path in logs],
            "bytes": file_slice.size,
        }

    def __str__(self) -> str:
        self._refuse_logs()
        paths = [self._location(path) for path in self.plan.files]
        if self.format in ("paths", "symlink"):
            if odd := [path for path in paths if path.splitlines() != [path]]:
                raise UserError(f"{odd[0]!r} is more than one line: take --format json")
            return "\n".join(paths)
        return _read_parquet(paths, self._any_file()) if self.format == "duckdb" else _clickhouse(paths)

    def _location(self, path: str) -> str:
        return self.plan.snapshot.storage.location_of(path)

    def _any_file(self) -> str | None:
        found = (each.base_path for each in self.plan.snapshot.slices if each.base_path is not None)
        return next((self._location(path) for path in found), None)

    def _refuse_logs(self) -> None:
        merged = [each for each in self.plan.slices if each.log_files or each.base_path is None]
        if merged:
            raise UserError(
                f"{len(merged)} of the {self.plan.kept} file groups to read have log files, first "
                f"{merged[0].group}: their base files miss what was changed and deleted since. Let Hudi "
                "compact the table, read it by `hudi-index scan` or IndexedTable.dataset, or take "
                "--format json, which names log files too"
            )


def _read_parquet(paths: list[str], any_file: str | None) -> str:
    """A table function of DuckDB's. It takes no empty list: then a file gives the columns, and no row."""
    if not paths and any_file is None:
        raise UserError("the table has no base file, of which DuckDB could take the columns")
    listed = ", ".join(_quoted(_DUCKDB_SIGNS.sub(r"[\g<0>]", path)) for path in paths or [str(any_file)])
    # Names in paths are no columns: those are in the files.
    function = f"read_parquet([{listed}], union_by_name = true, hive_partitioning = false)"
    return function if paths else f"(SELECT * FROM {function} LIMIT 0)"


def _clickhouse(paths: list[str]) -> str:
    if not paths:
        raise UserError("no file is left to read, and ClickHouse has no table function for none")
    if odd := [path for path in paths if _GLOB_SIGNS & set(path)]:
        raise UserError(f"ClickHouse would take signs of {odd[0]!r} for a pattern: take --format paths")
    scheme, _, rest = paths[0].partition("://")
    if not rest or scheme == "file":
        function, paths = "file", [path.removeprefix("file://") for path in paths]
    elif scheme in ("s3", "s3a", "s3n"):
        function, paths = "s3", [f"s3://{path.partition('://')[2]}" for path in paths]
    elif scheme in ("gs", "gcs"):
        host = "https://storage.googleapis.com/"
        function, paths = "gcs", [host + path.partition("://")[2] for path in paths]
    else:
        raise UserError(f"ClickHouse's function for {scheme}:// needs its credentials: take --format paths")
    joined = paths[0] if len(paths) == 1 else "{" + ",".join(paths) + "}"
    if len(paths) > 1 and function != "file":
        start = _common_folder(paths)
        joined = start + "{" + ",".join(path.removeprefix(start) for path in paths) + "}"
    return f"{function}({_quoted(joined)}, 'Parquet')"


def _common_folder(paths: list[str]) -> str:
    start = paths[0]
    while not all(path.startswith(start) for path in paths):
        start = start[:-1]
    return start[: start.rfind("/") + 1]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
