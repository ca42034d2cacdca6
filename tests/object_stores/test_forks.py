"""Processes that are forked after the first use of an object store are told so, and do not wait for ever."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.faulty_store import FaultyStore, faulty_store

if TYPE_CHECKING:
    from collections.abc import Iterator

# What a test process has imported and started by now is none of this one's business.
PROGRAM = """
import os, sys
from hudi_index.errors import StorageForkedError
from hudi_index.storage import Storage

options = {"aws_access_key_id": "k", "aws_secret_access_key": "s", "aws_allow_http": "true"}
options["aws_endpoint"] = sys.argv[1]

def told():
    storage = Storage.open("s3://bucket/t", options)
    said = []
    for each, step in ((storage, "read"), (used, "read"), (storage, "create"), (storage, "for_hudi_rs")):
        given = {"read": ("file",), "create": ("new", b"x"), "for_hudi_rs": ()}[step]
        try:
            getattr(each, step)(*given)
            said.append("done")
        except StorageForkedError as error:
            said.append("forked")
    return said

used = Storage.open("s3://bucket/t", options)
if sys.argv[2] == "after":
    assert used.read("file") == b"x"
child = os.fork()
if not child:
    print(*told(), flush=True)
    os._exit(0)
os.waitpid(child, 0)
assert used.read("file") == b"x"
"""


@pytest.fixture
def store() -> Iterator[FaultyStore]:
    with faulty_store() as found:
        found.objects["t/file"] = b"x"
        yield found


@pytest.mark.parametrize(("moment", "said"), [("after", "forked"), ("before", "done")])
def test_child_forked_from_a_user_of_object_stores(store: FaultyStore, moment: str, said: str) -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, store.endpoint, moment]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert (done.returncode, done.stdout.split(), done.stderr) == (0, [said] * 4, "")
