"""The command line of a validation, the same for the shell and for the Spark job."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hudi_index.storage import write_to
from hudi_index.validation.page import page_of
from hudi_index.validation.validate import Request

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

    from hudi_index.validation.report import ValidationReport

__all__ = ["add_validation_arguments", "request_of", "write_page"]


def add_validation_arguments(parser: argparse.ArgumentParser) -> None:
    """What a validation may be told."""
    parser.add_argument(
        "--queries", type=int, help="how many queries to make (20, or no limit with --seconds)"
    )
    parser.add_argument("--seconds", type=float, help="stop asking after so long")
    parser.add_argument("--seed", type=int, default=0, help="which queries, and which sample")
    parser.add_argument("--where", action="append", default=[], help="a condition to ask; may be repeated")
    parser.add_argument(
        "--sql", action="append", default=[], help="a query over the table to ask; may be repeated"
    )
    parser.add_argument("--view", default="t", help="what queries call the table")
    parser.add_argument("--sample", type=int, help="file groups to compare the content of; all if not given")
    parser.add_argument("--index", action="append", default=[], help="only this index; may be repeated")
    parser.add_argument(
        "--with-hudi", action="store_true", help="Hudi's own reader must see the same entries"
    )
    parser.add_argument(
        "--no-quarantine", action="store_true", help="report only: leave faulty indexes as is"
    )
    parser.add_argument("--html", help="file or URI that the report is written to as a page")


def request_of(asked: argparse.Namespace, *, time_zone: str = "UTC") -> Request:
    """The request that arguments mean."""
    default = None if asked.seconds is not None else Request.queries
    return Request(
        queries=asked.queries if asked.queries is not None else default,
        seconds=asked.seconds,
        seed=asked.seed,
        where=tuple(asked.where),
        sql=tuple(asked.sql),
        view=asked.view,
        sample=asked.sample,
        indexes=tuple(asked.index),
        with_hudi=asked.with_hudi,
        invalidates=not asked.no_quarantine,
        time_zone=time_zone,
    )


def write_page(
    report: ValidationReport, target: str | None, options: Mapping[str, str] | None = None
) -> None:
    """Write the report as a page, if a target is given; with the table's storage options."""
    if target:
        write_to(target, page_of(report), options)
