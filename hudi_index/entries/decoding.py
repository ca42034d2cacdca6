"""Key parts back to texts; refuses what `encoding` can't write."""

from __future__ import annotations

import re

from hudi_index.errors import KeyCorruptError

__all__ = ["decode_text"]

TEXT = r"(?:[^\x00-\x25]+|%[01][0-9A-F]|%2[0-5])*"
"""What an encoded text looks like."""


def decode_text(part: str) -> str:
    """The text that a key part stands for.

    Raises:
        KeyCorruptError: for a part that no text encodes to, null's among them.
    """
    if not re.fullmatch(TEXT, part):
        raise KeyCorruptError(key=part, reason="texts are not encoded so")
    return re.sub("%(..)", lambda escape: chr(int(escape[1], 16)), part) if "%" in part else part
