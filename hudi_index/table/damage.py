"""Files of the table itself that can't be read: an error that names the file.

What an index lacks makes a query slower, what the table lacks makes it wrong. So these are no CorruptErrors,
which a plan takes for a reason to do without an index, and a validation for a fault of one.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.errors import HudiIndexError, TableFileError, shortened, storage_error_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_index.storage import Storage

__all__ = ["naming_table_file"]


@contextlib.contextmanager
def naming_table_file(storage: Storage, path: str, what: str = "Parquet file") -> Iterator[None]:
    """What goes wrong inside, as pyarrow reads a file of the table, becomes an error that names the file.

    Raises:
        TableFileError: its bytes are not those of a file of its kind.
        StorageError: they can't be had.
    """
    try:
        yield
    except HudiIndexError:
        raise
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        uri = storage.uri_of(path)
        # pyarrow says of some bad bytes that they are an OSError; those of the system have a number.
        if isinstance(error, OSError) and error.errno:
            raise storage_error_of(error, path=uri, operation="be read") from error
        raise TableFileError(path=uri, reason=f"it is no whole {what} ({shortened(str(error))})") from error
