"""Storage options on a command line, the same for the shell and for the Spark jobs.

    --storage-option aws_region=eu-central-1 --storage-option aws_endpoint=https://store.example
    --storage-options-file ~/.store        for secrets: a file for its owner's eyes only

Everybody on a machine can read the command lines on it, so a secret is refused there. The file is a JSON
object, or has a line `name=value` for each option; blank lines and lines with `#` in front mean nothing. What
stands on the command line wins over the file. No message shows a value.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from hudi_index.credentials import MASK, Options, is_secret_option
from hudi_index.errors import InvalidOptionError

if TYPE_CHECKING:
    import argparse

__all__ = ["add_storage_arguments", "read_options_file", "storage_options_of"]

_OPTION, _FILE = "--storage-option", "--storage-options-file"


def add_storage_arguments(parser: argparse.ArgumentParser) -> None:
    """How to reach the storage of the table."""
    parser.add_argument(
        _OPTION,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="how to reach an object store, such as aws_region=eu-central-1; may be repeated. No secrets",
    )
    parser.add_argument(
        _FILE,
        metavar="FILE",
        help="storage options that nobody else may read, as JSON or as lines NAME=VALUE; mode 0600",
    )


def storage_options_of(asked: argparse.Namespace) -> Options:
    """The options that arguments mean.

    Raises:
        InvalidOptionError: for a secret on the command line, and for a file that others can read.
    """
    found = read_options_file(asked.storage_options_file) if asked.storage_options_file else {}
    return Options({**found, **dict(map(_shown_option, asked.storage_option))})


def _shown_option(text: str) -> tuple[str, str]:
    name, given, value = text.partition("=")
    if not given or not name.strip():
        # Without a name it may be anything, a secret too.
        raise InvalidOptionError(option=_OPTION, value=MASK, reason="expected NAME=VALUE")
    name = name.strip()
    if is_secret_option(name, value):
        reason = (
            "everybody on this machine can read a command line: set the environment variable "
            f"{name.upper()}, or put it into a file with mode 0600 and give {_FILE}"
        )
        raise InvalidOptionError(option=_OPTION, value=f"{name}={MASK}", reason=reason)
    return name, value


def read_options_file(path: str) -> dict[str, str]:
    """The options of a file that only its owner can read. Raises InvalidOptionError."""
    try:
        # Looked at and read through one descriptor: what is checked is what is read.
        with Path(path).expanduser().open(encoding="utf-8") as file:
            _refuse_readable(path, os.fstat(file.fileno()))
            text = file.read()
    except (OSError, ValueError) as error:
        raise _refuse(path, getattr(error, "strerror", None) or type(error).__name__) from None
    return _parse(path, text)


def _refuse_readable(path: str, found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise _refuse(path, "it is no plain file")
    if found.st_uid != os.geteuid():
        raise _refuse(path, "it belongs to another user: have one of your own")
    if mode := stat.S_IMODE(found.st_mode) & 0o077:
        raise _refuse(path, f"others may use it (mode ..{mode:02o}): chmod 600 it")


def _parse(path: str, text: str) -> dict[str, str]:
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except json.JSONDecodeError as error:
            # The error itself keeps the text.
            raise _refuse(path, f"it is no JSON, at line {error.lineno}, column {error.colno}") from None
        wrong = [name for name, value in found.items() if not isinstance(value, (str, bool, int))]
        if wrong:
            raise _refuse(path, f"{', '.join(wrong)} is no text")
        return {
            name: str(value).lower() if isinstance(value, bool) else str(value)
            for name, value in found.items()
        }
    options = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, given, value = line.partition("=")
        if not given or not name.strip():
            raise _refuse(path, f"line {number} is not NAME=VALUE")
        options[name.strip()] = value.strip()
    return options


def _refuse(path: str, reason: str) -> InvalidOptionError:
    return InvalidOptionError(option=_FILE, value=path, reason=reason)
