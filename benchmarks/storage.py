"""What the steps of hudi_index.storage cost on this disk: the least price of a commit."""

from __future__ import annotations

import shutil
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_index.storage import Storage

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER = Path(__file__).resolve().parent.parent / ".bench" / "storage"
REPEATS = 200
SIZES = {"1 kB": 1_000, "1 MB": 1_000_000}


def main() -> None:
    shutil.rmtree(FOLDER, ignore_errors=True)
    storage = Storage.open(FOLDER)
    print(f"{'step':<10}{'content':>8}{'median':>12}{'slowest':>12}")
    for label, size in SIZES.items():
        data = bytes(size)
        steps: dict[str, Callable[[int], object]] = {
            "create": lambda number, data=data: storage.create(f"{len(data)}/{number}", data),
            "replace": lambda _, data=data: storage.replace(f"{len(data)}/0", data),
            "write": lambda number, data=data: storage.write(f"{len(data)}/w{number}", data),
            "read": lambda number, data=data: storage.read(f"{len(data)}/{number}"),
            "list": lambda _, data=data: storage.list(str(len(data))),
        }
        for step, run in steps.items():
            times = [measure(run, number) for number in range(REPEATS)]
            print(f"{step:<10}{label:>8}{statistics.median(times):>9.2f} ms{max(times):>9.2f} ms")


def measure(run: Callable[[int], object], number: int) -> float:
    """Milliseconds that one call takes."""
    started = time.perf_counter()
    run(number)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
