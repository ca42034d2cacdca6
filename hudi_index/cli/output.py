"""Rows of a scan for a shell: printed as a table, CSV or JSON lines, or written to a file."""

from __future__ import annotations

import base64
import json
import sys
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from io import TextIOWrapper
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TextIO

import pyarrow as pa
import pyarrow.parquet as pq

from hudi_index.errors import InvalidOptionError, StorageError, storage_error_of

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["FORMATS", "plain_row", "write_rows"]

FORMATS = ("table", "csv", "json", "arrow", "parquet")
"""`json` is one object per line, `arrow` the file format of Arrow IPC."""

_BINARY = ("arrow", "parquet")
_WIDEST = 60
_MEASURED = 1_000


def write_rows(reader: pa.RecordBatchReader, kind: str, output: str | None) -> None:
    """Write all rows, batch by batch, to a file or to standard output.

    Raises:
        InvalidOptionError: the format needs a file, or the file can't be written.
    """
    if output is None:
        if kind in _BINARY:
            raise InvalidOptionError(option="--format", value=kind, reason="it needs --output FILE")
        _WRITERS[kind](reader, sys.stdout)
        return
    try:
        file = Path(output).open("wb")  # noqa: SIM115 - only opening it is in doubt
    except (OSError, ValueError) as error:  # a name with NUL is a ValueError
        raise InvalidOptionError(option="--output", value=output, reason=str(error)) from error
    with _write_to(output), file:
        if kind == "parquet":
            _write_parquet(reader, file)
        elif kind == "arrow":
            _write_arrow(reader, file)
        else:
            with TextIOWrapper(file, encoding="utf-8", newline="") as sink:
                _WRITERS[kind](reader, sink)


@contextmanager
def _write_to(output: str) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise storage_error_of(error, path=output, operation="be written") from error


def _write_parquet(reader: pa.RecordBatchReader, file: BinaryIO) -> None:
    with pq.ParquetWriter(file, reader.schema) as sink:
        for batch in reader:
            sink.write_batch(batch)


def _write_arrow(reader: pa.RecordBatchReader, file: Any) -> None:
    with pa.ipc.new_file(pa.PythonFile(file, mode="w"), reader.schema) as sink:
        for batch in reader:
            sink.write_batch(batch)


def _write_json(reader: pa.RecordBatchReader, sink: TextIO) -> None:
    for batch in reader:
        for row in batch.to_pylist():
            sink.write(json.dumps(plain_row(row), ensure_ascii=False) + "\n")


def _write_csv(reader: pa.RecordBatchReader, sink: TextIO) -> None:
    sink.write(",".join(map(_csv_cell, reader.schema.names)) + "\n")
    for batch in reader:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            sink.write(",".join(map(_csv_cell, row)) + "\n")


def _csv_cell(value: Any) -> str:
    """Null is an empty cell, the empty text a pair of quotes."""
    if value is None:
        return ""
    text = _text_of(value)
    is_quoted = text == "" or any(sign in text for sign in ',"\r\n')
    return '"' + text.replace('"', '""') + '"' if is_quoted else text


def _write_table(reader: pa.RecordBatchReader, sink: TextIO) -> None:
    """Aligned columns; as wide as the first rows ask for, so that the others still stream."""
    rows = (
        [_show(value) for value in row]
        for batch in reader
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )
    first = [list(reader.schema.names), *islice(rows, _MEASURED)]
    widths = [max(map(len, column)) for column in zip(*first, strict=True)]
    for row in chain(first, rows):
        cells = (f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
        sink.write("  ".join(cells).rstrip() + "\n")


def _show(value: Any) -> str:
    text = "NULL" if value is None else _text_of(value)
    text = text.encode("unicode_escape").decode() if not text.isprintable() else text
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _text_of(value: Any) -> str:
    plain = plain_row(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def plain_row(value: Any) -> Any:
    """A value that JSON can hold: binary as base64; decimals, times, NaN and infinity as text."""
    if isinstance(value, dict):
        return {name: plain_row(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_row(part) for part in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        # JSON has no such numbers.
        return str(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


_WRITERS = {"table": _write_table, "csv": _write_csv, "json": _write_json}
