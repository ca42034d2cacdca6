"""What the keys of all partitions have in common: parts joined by `$`, the last of them naming the owner.

The owner is the file group that the entry came from. A key names it in one of two ways:

    <partition path>$<file id>        as `files` does, whose keys are nothing else
    <number of the file group>        short, for partitions with an entry per row or value

What comes before is the kind's: its docstring has the grammar in a line `key`. What a look-up knows of
a key comes first. It decides the shard: all but the last parts, as many as the kind's `key_tail` says.

Values are encoded by `encoding`; columns, record keys, partition paths and file ids are text. No part holds a
`$`, so a key splits only one way, and keys sort by their parts from left to right, each in its value's order.
`.` stands for the empty partition path of an unpartitioned table (RFC-92), and `%2E` for a path that is `.`.

With `p` for what comes before a value (its column and `$`, or nothing), `v` for the encoded value and `key`
for a whole key, a predicate becomes a range `start <= key < stop`:

    =  v              p v $                  to   successor(p v $)
    <  v              successor(p NULL)      to   p v $
    <= v              successor(p NULL)      to   successor(p v $)
    >  v              successor(p v $)       to   successor(p)
    >= v              p v $                  to   successor(p)
    LIKE 'v%'         p v                    to   successor(p v), less null's range
    IS NULL           p NULL                 to   successor(p NULL)
    IS NOT NULL       successor(p NULL)      to   successor(p)
"""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.entries._buffers import bytes_of
from hudi_index.entries.encoding import encode_text
from hudi_index.entries.words import crc32_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

__all__ = [
    "OWNER_PARTS",
    "PARTITION_PARTS",
    "SEPARATOR",
    "join_key",
    "join_keys",
    "lookup_part",
    "owner_suffix",
    "partition_part",
    "shard_of",
    "shards_of",
    "split_key",
    "successor",
]

SEPARATOR = "$"

PARTITION_PARTS = 1
OWNER_PARTS = 2

_UNPARTITIONED = "."
_DOT = "%2E"


def partition_part(partition_path: str) -> str:
    """A partition path as a key part."""
    if not partition_path:
        return _UNPARTITIONED
    return _DOT if partition_path == _UNPARTITIONED else encode_text(partition_path)


def owner_suffix(partition_path: str, file_id: str) -> str:
    """`<partition path>$<file id>`."""
    return join_key(partition_part(partition_path), encode_text(file_id))


def join_key(*parts: str) -> str:
    """A key, or the beginning of one, of encoded parts."""
    return SEPARATOR.join(parts)


def join_keys(parts: Sequence[pa.Array[Any] | str]) -> pa.Array[Any]:
    """Keys of encoded parts, row by row. A text stands for the same part in every row."""
    # As Any: pyarrow's stubs don't know that arrays and scalars mix.
    mixed: list[Any] = [*parts, SEPARATOR]
    joined: pa.Array[Any] = pc.binary_join_element_wise(*mixed)
    return joined


def split_key(key: str) -> list[str]:
    """The encoded parts of a key."""
    return key.split(SEPARATOR)


def lookup_part(key: str, tail: int) -> str:
    """What is left of a key without its last `tail` parts: the part that decides its shard."""
    return key.rsplit(SEPARATOR, tail)[0]


def shard_of(lookup: str, shards: int) -> int:
    """The shard of all keys with this look-up part: its CRC-32, modulo the number of shards."""
    return zlib.crc32(lookup.encode()) % shards


def shards_of(keys: pa.Array[Any], shards: int, tail: int = 0) -> npt.NDArray[np.int64]:
    """`shard_of` of the look-up part of every key: all but its last `tail` parts."""
    if not len(keys):
        return np.empty(0, dtype=np.int64)
    offsets, data = bytes_of(keys)
    ends = _lookup_ends(offsets, data, tail) if tail else offsets[1:]
    return crc32_of(data, offsets[:-1], ends).astype(np.int64) % shards


def _lookup_ends(
    offsets: npt.NDArray[np.int64], data: npt.NDArray[np.uint8], tail: int
) -> npt.NDArray[np.int64]:
    """Where the look-up parts of keys end, which all have more parts than `tail`."""
    separators = np.flatnonzero(data == ord(SEPARATOR))
    each, rest = divmod(len(separators), len(offsets) - 1)
    if not rest:
        # As a rule all keys have equally many parts.
        rows = separators.reshape(-1, each)
        if np.all(rows[:, 0] >= offsets[:-1]) and np.all(rows[:, -1] < offsets[1:]):
            return rows[:, each - tail]
    return separators[np.searchsorted(separators, offsets[1:]) - tail]


def successor(prefix: str) -> str | None:
    """The least text above all that begin with a prefix, or None where nothing is above them.

    Code points without a UTF-8 form (surrogates) are skipped.
    """
    stem = prefix.rstrip(chr(sys.maxunicode))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    return stem[:-1] + chr(0xE000 if following == 0xD800 else following)
