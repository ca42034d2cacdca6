"""What can go wrong, by what the caller can do about it.

    HudiIndexError
      UserError       fix the request            exit code 2
      CorruptError    the stored bytes lie       exit code 1 (3 for a failed validation)
      ConflictError   somebody else won: retry   exit code 4
      TableFileError  the table itself is hurt   exit code 1
      StorageError    the file system refuses    exit code 1, 2 or 4, by what it refuses

All errors of this package stand here, none beside what raises it.

Every error takes keyword fields, keeps them as attributes and builds its own message: what happened, the
offending value, the way out.
"""

from __future__ import annotations

from hudi_index.errors.conflict import (
    CommitBetweenError,
    CommitConflictError,
    IndexesMovedError,
    LeaseHeldError,
    SliceChangedError,
    SliceGoneError,
    StateConflictError,
    TableMovedError,
    TimelineMovedError,
    WriterRunsError,
)
from hudi_index.errors.corrupt import (
    CatalogCorruptError,
    EntryCorruptError,
    KeyCorruptError,
    MissingFileError,
    MissingSliceFileError,
    MissingTableFileError,
    TableFileError,
    TimelineCorruptError,
    ValidationFailedError,
    way_back,
)
from hudi_index.errors.request import (
    AmbiguousColumnError,
    DdlSyntaxError,
    IndexExistsError,
    InvalidDefinitionError,
    InvalidNameError,
    InvalidOptionError,
    NoRecordIndexError,
    NoSuchIndexError,
    NoSuchTableError,
    PredicateSyntaxError,
    RefusedTextError,
    SqlSyntaxError,
    StaleExpressionError,
    StatementRefusedError,
    UnknownColumnError,
    UnknownIndexKindError,
    UnknownPartitionError,
    UnsupportedKindError,
    WrongTypeError,
)
from hudi_index.errors.root import (
    ConflictError,
    CorruptError,
    HudiIndexError,
    UserError,
)
from hudi_index.errors.storage import (
    NOT_DAMAGE,
    StorageDeniedError,
    StorageError,
    StorageForkedError,
    StorageFullError,
    StorageNotFoundError,
    StoragePlaceError,
    StorageRefusedError,
    StorageUnreachableError,
    shortened,
    storage_error_of,
)
from hudi_index.errors.unsupported import (
    NeedsSparkError,
    NoHudiError,
    NoJavaError,
    NoJvmError,
    SliceRefusedError,
    SlicesRefusedError,
    UnencodableValueError,
    UnsupportedExpressionError,
    UnsupportedPredicateError,
    UnsupportedStorageError,
    UnsupportedTableError,
    UnsupportedTypeError,
)

__all__ = [
    "NOT_DAMAGE",
    "AmbiguousColumnError",
    "CatalogCorruptError",
    "CommitBetweenError",
    "CommitConflictError",
    "ConflictError",
    "CorruptError",
    "DdlSyntaxError",
    "EntryCorruptError",
    "HudiIndexError",
    "IndexExistsError",
    "IndexesMovedError",
    "InvalidDefinitionError",
    "InvalidNameError",
    "InvalidOptionError",
    "KeyCorruptError",
    "LeaseHeldError",
    "MissingFileError",
    "MissingSliceFileError",
    "MissingTableFileError",
    "NeedsSparkError",
    "NoHudiError",
    "NoJavaError",
    "NoJvmError",
    "NoRecordIndexError",
    "NoSuchIndexError",
    "NoSuchTableError",
    "PredicateSyntaxError",
    "RefusedTextError",
    "SliceChangedError",
    "SliceGoneError",
    "SliceRefusedError",
    "SlicesRefusedError",
    "SqlSyntaxError",
    "StaleExpressionError",
    "StateConflictError",
    "StatementRefusedError",
    "StorageDeniedError",
    "StorageError",
    "StorageForkedError",
    "StorageFullError",
    "StorageNotFoundError",
    "StoragePlaceError",
    "StorageRefusedError",
    "StorageUnreachableError",
    "TableFileError",
    "TableMovedError",
    "TimelineCorruptError",
    "TimelineMovedError",
    "UnencodableValueError",
    "UnknownColumnError",
    "UnknownIndexKindError",
    "UnknownPartitionError",
    "UnsupportedExpressionError",
    "UnsupportedKindError",
    "UnsupportedPredicateError",
    "UnsupportedStorageError",
    "UnsupportedTableError",
    "UnsupportedTypeError",
    "UserError",
    "ValidationFailedError",
    "WriterRunsError",
    "WrongTypeError",
    "shortened",
    "storage_error_of",
    "way_back",
]
