"""What stands in the index metadata table: keys whose byte order is value order, and what they hold."""

from __future__ import annotations

from hudi_index.entries.decoding import decode_text
from hudi_index.entries.encoding import (
    NULL,
    encode_array,
    encode_text,
    encode_value,
    encode_values,
    key_type,
)
from hudi_index.entries.keys import (
    OWNER_PARTS,
    PARTITION_PARTS,
    SEPARATOR,
    join_key,
    join_keys,
    lookup_part,
    owner_suffix,
    partition_part,
    shard_of,
    shards_of,
    split_key,
    successor,
)

__all__ = [
    "NULL",
    "OWNER_PARTS",
    "PARTITION_PARTS",
    "SEPARATOR",
    "decode_text",
    "encode_array",
    "encode_text",
    "encode_value",
    "encode_values",
    "join_key",
    "join_keys",
    "key_type",
    "lookup_part",
    "owner_suffix",
    "partition_part",
    "shard_of",
    "shards_of",
    "split_key",
    "successor",
]
