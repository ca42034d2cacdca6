"""Code that needs a process of its own, without the seconds in which each would import the engine.

One process imports it and forks a child for each piece of code. A child has what a new process has: its own
modules beyond the engine's, its own warnings told once, its own kinds of index.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FORK = """
import contextlib, importlib, json, os, sys, tempfile, traceback
import hudi_index.cli.command, hudi_index.engine, hudi_index.kinds
from hudi_index.kind_specs import specs

assert specs.cache_info().currsize == 0, "a child could not find kinds of its own"

def run(asked, output, errors):
    os.dup2(output.fileno(), 1)
    os.dup2(errors.fileno(), 2)
    sys.argv = ["-c", *asked["arguments"]]
    sys.path[:0] = asked["packages"]
    importlib.invalidate_caches()
    code = 1
    try:
        exec(compile(asked["code"], "<code>", "exec"), {"__name__": "__main__"})
        code = 0
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
    with contextlib.suppress(OSError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)

for line in sys.stdin:
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        child = os.fork()
        if not child:
            run(json.loads(line), output, errors)
        _, status = os.waitpid(child, 0)
        texts = [(file.seek(0), file.read().decode())[1] for file in (output, errors)]
    print(json.dumps([os.waitstatus_to_exitcode(status), *texts]), flush=True)
"""


class Done(NamedTuple):
    """How a child ended, and what it printed."""

    code: int
    output: str
    errors: str


@cache
def _forking() -> subprocess.Popen[str]:
    root = Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", _FORK],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=root,
    )


def run_forked(code: str, *arguments: str, packages: tuple[Path, ...] = ()) -> Done:
    """Run code in a process of its own, with folders of packages on its path."""
    process = _forking()
    assert process.stdin is not None
    assert process.stdout is not None
    asked = {"code": code, "arguments": arguments, "packages": [str(each) for each in packages]}
    process.stdin.write(json.dumps(asked) + "\n")
    process.stdin.flush()
    return Done(*json.loads(process.stdout.readline()))
