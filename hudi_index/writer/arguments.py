"""The command line of a write: where its rows come from, and how they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hudi_index.credentials import MASK, is_secret
from hudi_index.errors import InvalidOptionError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

__all__ = ["FORMATS", "OPERATIONS", "add_write_arguments", "pairs_of", "settings_of"]

FORMATS = ("parquet", "orc", "json", "csv", "hudi", "table")
"""What rows are read from; a `table` is one of the session's catalog."""
OPERATIONS = ("upsert", "delete")


def add_write_arguments(parser: argparse.ArgumentParser) -> None:
    """What a write may be told."""
    parser.add_argument(
        "--source",
        action="append",
        required=True,
        help="path or URI of the rows, or a table's name; may be repeated",
    )
    parser.add_argument("--format", choices=FORMATS, default="parquet", help="what the rows are read from")
    parser.add_argument("--schema", help="the rows' columns, as in CREATE TABLE; found out by default")
    parser.add_argument(
        "--source-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for Spark's reader, such as header=true; may be repeated. No secrets",
    )
    parser.add_argument(
        "--operation", choices=OPERATIONS, default="upsert", help="what to do with the records of the rows"
    )
    parser.add_argument("--deletes", help="the column that is true for rows that delete their record")
    parser.add_argument("--writer", help="who writes; with --batch, a batch is written once")
    parser.add_argument("--batch", help="the name of the batch")
    parser.add_argument(
        "--index", choices=("sync", "async"), default="sync", help="maintain all indexes now, or leave it"
    )
    parser.add_argument(
        "--lag",
        choices=("auto", "read", "maintain"),
        default="auto",
        help="what to do about file groups that the record index does not describe",
    )
    parser.add_argument(
        "--keys", choices=("table", "partition"), help="within what a record key is one; as the index has it"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="for Hudi's writer; may be repeated. No secrets",
    )


def settings_of(asked: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `upsert` or `delete` that a command line means. Raises InvalidOptionError."""
    found = {name: getattr(asked, name) for name in ("writer", "batch", "index", "lag", "keys")}
    found["options"] = pairs_of("--option", asked.option)
    if asked.operation == "upsert":
        found["deletes"] = asked.deletes
    elif asked.deletes is not None:
        reason = "all rows of a delete delete their records: leave it out, or upsert"
        raise InvalidOptionError(option="--deletes", value=asked.deletes, reason=reason)
    return found


def pairs_of(option: str, texts: Sequence[str]) -> dict[str, str]:
    """Names and values.

    Raises:
        InvalidOptionError: one is no pair, or holds a secret, which everybody could read.
    """
    found = {}
    for text in texts:
        name, given, value = text.partition("=")
        if not given or not name.strip():
            raise InvalidOptionError(option=option, value=MASK, reason="expected NAME=VALUE")
        if is_secret(name, value):
            reason = (
                "everybody on this machine can read a command line: tell it to Spark, by a setting that no "
                "command line shows"
            )
            raise InvalidOptionError(option=option, value=f"{name}={MASK}", reason=reason)
        found[name.strip()] = value
    return found
