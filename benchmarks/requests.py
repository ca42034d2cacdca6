"""Requests that each verb sends to an object store, in how many waves, and the time of both at some delay.

    python benchmarks/requests.py [milliseconds for each request, 30 unless told]

Eight file groups in four partitions, five indexes. The store is a folder that obstore serves in this process:
requests are what S3 would be asked, and each is answered after the delay. A wave is what is under way at
once; waves times the delay is the least that a verb can take, and the seconds beside it were measured.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[1]))

from hudi_index import IndexedTable
from tests.engine.test_requests import PLACE, STATEMENTS, make_table, upsert
from tests.support.requests import object_store_in, requests_counted
from tests.support.tables import T2, T3

if TYPE_CHECKING:
    from collections.abc import Callable

_DELAY = 30


def measure(name: str, verb: Callable[[], object], delay: float) -> None:
    """Print what one verb costs."""
    with requests_counted(delay) as found:
        begin = time.perf_counter()
        verb()
        seconds = time.perf_counter() - begin
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(found.kinds.items()))
    print(
        f"{name:<28} {len(found):>8} {found.waves:>6} {found.waves * delay:>9.2f} {seconds:>9.2f}   {kinds}"
    )


def main() -> None:
    """Run all verbs on one table."""
    delay = float(sys.argv[1] if len(sys.argv) > 1 else _DELAY) / 1000
    print(f"{'verb':<28} {'requests':>8} {'waves':>6} {'at least':>9} {'seconds':>9}")
    with tempfile.TemporaryDirectory() as folder, object_store_in(Path(folder)):
        files = make_table(Path(folder))
        measure("create of five indexes", lambda: IndexedTable.open(PLACE).create_all(STATEMENTS), delay)
        measure("open + plan, cold", lambda: IndexedTable.open(PLACE).plan("n = 503"), delay)
        measure("the same, three indexes", lambda: IndexedTable.open(PLACE).plan("id = 'k5-3'"), delay)
        table = IndexedTable.open(PLACE)
        table.plan("n = 503")
        measure("plan, warm", lambda: table.plan("n = 503"), delay)
        measure("maintain, nothing to do", table.maintain, delay)
        measure("the same, cold", lambda: IndexedTable.open(PLACE).maintain(), delay)
        upsert(files, T2, salt=1_000_000)
        measure("maintain, one file group", table.maintain, delay)
        upsert(files, T3, salt=2_000_000)
        measure("the same, cold", lambda: IndexedTable.open(PLACE).maintain(), delay)
        table.plan("n = 503")
        measure("status", table.status, delay)
        measure("scan of one key, warm", lambda: table.scan("id = 'k5-3'").read_all(), delay)
        measure("compact, forced", lambda: table.compact(force=True), delay)
        measure("drop", lambda: table.drop("blooms"), delay)


if __name__ == "__main__":
    main()
