"""What tells a document of ours from one that was changed: a digest of all it says, and of the name it has.

A flipped byte may leave JSON and Avro readable and plausible. A document that carries its digest is believed
only if it says what was written, under the name it was written for: a copy is not a second document.
Documents of versions before digests have none and are taken as they are.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["digest_of"]


def digest_of(content: Mapping[str, Any], name: str) -> str:
    """The digest of a document of plain values that is kept under a name."""
    text = json.dumps([name, content], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
