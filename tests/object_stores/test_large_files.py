"""Files that are sent in parts, to a store whose answers are lost."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.rough_proxy import Request, Trouble, rough_proxy

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.object_store import ObjectStore

SIZE = 9 * 1024 * 1024 + 17
# In a process of its own, which hangs up when it ends.
WRITE = """
import json, random, sys
from hudi_index.storage import Storage

with Storage.open("s3://bucket/" + sys.argv[1], json.loads(sys.argv[2])).open_output("large") as file:
    data = random.Random(1).randbytes(int(sys.argv[3]))
    for start in range(0, len(data), 1_000_000):
        file.write(data[start : start + 1_000_000])
"""
STEPS = {
    "begin": lambda request: request.method == "POST" and request.query.startswith("uploads"),
    "part": lambda request: request.method == "PUT" and "partNumber=2" in request.query,
    "end": lambda request: request.method == "POST" and "uploadId=" in request.query,
}
LOST_AFTER = Trouble(name="lost after", is_done=True)
FORGOTTEN = Trouble(name="404", status=404, code="NoSuchUpload")
"""What a store may say of an upload that was ended already."""


@pytest.mark.parametrize(
    ("step", "troubles"),
    [(step, [LOST_AFTER]) for step in STEPS] + [("end", [LOST_AFTER, FORGOTTEN])],
    ids=[*STEPS, "end, asked again"],
)
def test_large_file_is_whole_whichever_answer_is_lost(
    object_store: ObjectStore, tmp_path: Path, step: str, troubles: list[Trouble]
) -> None:
    left = [*troubles]

    def choose(request: Request) -> Trouble | None:
        return left.pop(0) if left and STEPS[step](request) else None

    with rough_proxy(object_store.endpoint, choose) as proxy:
        options = {**object_store.options, "aws_endpoint": proxy.endpoint}
        arguments = [tmp_path.name, json.dumps(options), str(SIZE)]
        done = subprocess.run(
            [sys.executable, "-c", WRITE, *arguments], capture_output=True, text=True, check=False
        )
    assert done.returncode == 0, done.stderr
    assert not left
    assert (object_store.bucket / tmp_path.name / "large").read_bytes() == random.Random(1).randbytes(SIZE)
