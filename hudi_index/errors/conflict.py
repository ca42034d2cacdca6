"""Somebody else was first: the same request may succeed later."""

from __future__ import annotations

from hudi_index.errors.root import ConflictError

__all__ = [
    "CommitBetweenError",
    "CommitConflictError",
    "IndexesMovedError",
    "LeaseHeldError",
    "SliceChangedError",
    "SliceGoneError",
    "StateConflictError",
    "TableMovedError",
    "TimelineMovedError",
    "WriterRunsError",
]


class LeaseHeldError(ConflictError):
    """Another process is writing the index metadata table."""

    def __init__(self, *, role: str, owner: str, until: str) -> None:
        self.role, self.owner, self.until = role, owner, until
        super().__init__(
            f"the {role} lease is held by {owner} until {until}; retry when it is released or expired"
        )


class SliceGoneError(ConflictError):
    """A file that a scan had yet to read was cleaned, or written anew, meanwhile."""

    def __init__(self, *, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path}: {reason} while it was still to be scanned; the rows so far are not all, scan again "
            "(and let Hudi's cleaner retain commits for longer than a scan takes)"
        )


class SliceChangedError(ConflictError):
    """Hudi on Spark no longer reads the slice that was to be indexed."""

    def __init__(self, *, file_group: str, reason: str) -> None:
        self.file_group, self.reason = file_group, reason
        super().__init__(f"file group {file_group!r} changed while it was being indexed ({reason}); retry")


class TableMovedError(ConflictError):
    """A table changed faster than it could be listed."""

    def __init__(self, *, uri: str) -> None:
        self.uri = uri
        super().__init__(f"table {uri!r}: files were deleted while they were being listed; retry")


class TimelineMovedError(ConflictError):
    """A table's commits were taken back, or completed, before its files could be read by them."""

    def __init__(self, *, uri: str, instant: str) -> None:
        self.uri, self.instant = uri, instant
        super().__init__(
            f"table {uri!r}: delta commit {instant} was completed or taken back meanwhile; retry"
        )


class CommitConflictError(ConflictError):
    """This commit lost: another writer took over before it completed."""

    def __init__(self, *, instant: str, winner: str) -> None:
        self.instant, self.winner = instant, winner
        super().__init__(f"commit {instant} was not made: {winner} took over; retry from the new state")


class IndexesMovedError(ConflictError):
    """Another commit was made to the indexes after they were looked at."""

    def __init__(self, *, uri: str) -> None:
        self.uri = uri
        super().__init__(f"the indexes at {uri} were changed after they were looked at; retry")


class StateConflictError(ConflictError):
    """An index that another process has moved on meanwhile."""

    def __init__(self, *, name: str, state: str, wanted: str) -> None:
        self.name, self.state, self.wanted = name, state, wanted
        super().__init__(f"index {name!r} is {state} and can't become {wanted}; look at it again")


class ClusteringPendingError(ConflictError):
    """Rows of a batch belong into file groups that a clustering is to rewrite."""

    def __init__(self, *, uri: str) -> None:
        self.uri = uri
        super().__init__(
            f"table {uri!r}: rows belong into file groups under a pending clustering, where Hudi writes "
            "nothing; nothing was written, retry when the clustering has run or was undone"
        )


class CommitBetweenError(ConflictError):
    """Somebody committed, or undid a commit, after the table was looked at and before rows were written."""

    def __init__(self, *, uri: str, instants: list[str]) -> None:
        self.uri, self.instants = uri, instants
        super().__init__(
            f"table {uri!r}: {', '.join(instants)} completed or were undone after the table was looked at, "
            "so records may be elsewhere now; nothing was written, retry"
        )


class WriterRunsError(ConflictError):
    """A writer's id is in use."""

    def __init__(self, *, uri: str, writer: str, owner: str, until: str) -> None:
        self.uri, self.writer, self.owner, self.until = uri, writer, owner, until
        super().__init__(
            f"writer {writer!r} of table {uri!r} runs already ({owner}, until {until} if it has died): stop "
            "that one, or take another id for another stream"
        )
