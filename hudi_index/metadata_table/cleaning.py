"""Deletes what no view needs: files of commits that died, files that compaction or replacement left behind.

A file that a completed commit named stays for the retention after it was superseded, so that readers of an
earlier view finish. A file that no completed commit names is deleted when its commit can't complete any more.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hudi_index.metadata_table.layout import (
    HUDI_FOLDER,
    inflight_name,
    instant_time,
    parse_completed,
    parse_data_file,
    parse_pending,
    requested_name,
)
from hudi_index.storage import TEMPORARY_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from hudi_index.metadata_table.ledger import LedgerState
    from hudi_index.metadata_table.view import Commit, View
    from hudi_index.storage import Storage, StoredFile

__all__ = ["clean", "delete_strays", "remove_dead_instants", "remove_temporaries"]

log = logging.getLogger(__name__)


def delete_strays(
    storage: Storage,
    requested_times: Collection[str],
    *,
    partitions: Collection[str] | None = None,
    keep: Collection[str] = (),
) -> None:
    """Delete data files of instants but for those kept; Hudi's readers would take them for committed.

    Args:
        storage: The index metadata table.
        requested_times: The instants.
        partitions: Where to look; everywhere if None.
        keep: Paths of files that stay.
    """
    found = []
    for partition, file in _list_data(storage, partitions):
        name = parse_data_file(file.name)
        path = f"{partition}/{file.name}"
        if name and name.requested_time in requested_times and path not in keep:
            found.append(path)
    storage.delete(*found)


def remove_dead_instants(storage: Storage, state: LedgerState, names: Iterable[str]) -> None:
    """Delete pending instants that can't complete any more, with all they wrote.

    First the ledger, then the timeline: an instant that ended before the ledger was asked is completed in the
    listing, and one that began after that is later than the ledger's last time.

    Args:
        storage: The index metadata table.
        state: What held in the ledger when everything decided until then was visible.
        names: The files of the timeline, listed after that.
    """
    names = tuple(names)
    completed = {instant.requested_time for instant in map(parse_completed, names) if instant}
    pending = {found for found in map(parse_pending, names) if found}
    dead = sorted(
        (requested, action)
        for requested, action in pending
        if requested not in completed and requested <= state.last_time and not state.is_open(requested)
    )
    if not dead:
        return
    delete_strays(storage, {requested for requested, _ in dead})
    # After their data: who dies in between has left what says that there may be more to delete.
    storage.delete(*(name(*each) for each in dead for name in (inflight_name, requested_name)))
    for requested, _ in dead:
        log.info("removed commit %s, which died before it completed", requested)


def clean(storage: Storage, state: LedgerState, view: View, *, now: datetime, retention: timedelta) -> int:
    """Delete what nobody needs since longer than the retention; returns how many files.

    Args:
        storage: The index metadata table.
        state: What held in the ledger when everything decided until then was visible.
        view: Loaded after that, for the reason given above.
        now: The time.
        retention: How long superseded files stay.
    """
    horizon = instant_time(now - retention)
    live, superseded = view.live_paths, _find_superseded(view)
    gone: list[str] = []
    remaining: set[str] = set()
    for partition, file in _list_data(storage):
        path = f"{partition}/{file.name}"
        name = parse_data_file(file.name)
        if name is None:
            if _is_old_temporary(file, now - retention):
                gone.append(path)
        elif path in live or superseded.get(path, name.requested_time) > horizon:
            remaining.add(path)
        elif path in superseded or not state.is_open(name.requested_time):
            gone.append(path)
    storage.delete(*gone)
    deleted = remove_temporaries(storage, HUDI_FOLDER, before=now - retention)
    return len(gone) + deleted + _forget_commits(storage, view, remaining, horizon)


def remove_temporaries(storage: Storage, folder: str, *, before: datetime) -> int:
    """Delete what killed writers had not moved to its place, in a folder and all below it; returns how many.

    A living one has its file for moments; `before` has to be long ago. An object store has none: there a file
    comes to be whole, in its place.
    """
    if not storage.is_local or not storage.is_folder(folder):
        return 0
    deleted = 0
    for file in storage.list(folder):
        path = f"{folder}/{file.name}" if folder else file.name
        if file.is_folder:
            deleted += remove_temporaries(storage, path, before=before)
        elif _is_old_temporary(file, before):
            storage.delete(path)
            deleted += 1
    return deleted


def _is_old_temporary(file: StoredFile, before: datetime) -> bool:
    return file.name.endswith(TEMPORARY_SUFFIX) and file.modified.astimezone(timezone.utc) <= before


def _find_superseded(view: View) -> dict[str, str]:
    """Files that a completed commit named and no slice holds any more, and since when."""
    live = view.live_paths
    ends: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for commit in view.commits:
        for stat in commit.metadata.stats:
            if not stat.is_log:
                end = (commit.instant.requested_time, commit.instant.completed_time)
                ends.setdefault((stat.partition, stat.file_id), []).append(end)
        for partition, file_ids in commit.metadata.replaced.items():
            for file_id in file_ids:
                end = (commit.instant.completed_time, commit.instant.completed_time)
                ends.setdefault((partition, file_id), []).append(end)
    gone = {}
    for commit in view.commits:
        for stat in commit.metadata.stats:
            if stat.path not in live:
                since = commit.instant.completed_time if stat.is_log else commit.instant.requested_time
                later = [visible for start, visible in ends[stat.partition, stat.file_id] if start > since]
                gone[stat.path] = min(later)
    return gone


def _forget_commits(storage: Storage, view: View, remaining: set[str], horizon: str) -> int:
    """Delete the timeline files of commits that nothing stands on."""
    latest = view.commits[-1] if view.commits else None
    gone: list[str] = []
    deleted = 0
    for commit in view.commits:
        instant = commit.instant
        is_needed = instant.requested_time in view.needed or commit is latest
        if is_needed or instant.completed_time > horizon or _has_files(commit, remaining):
            continue
        action = "compaction" if instant.action == "commit" else instant.action
        gone += (
            instant.path,
            inflight_name(instant.requested_time, action),
            requested_name(instant.requested_time, action),
        )
        deleted += 1
    storage.delete(*gone)
    return deleted


def _has_files(commit: Commit, remaining: set[str]) -> bool:
    return any(stat.path in remaining for stat in commit.metadata.stats)


def _list_data(
    storage: Storage, partitions: Collection[str] | None = None
) -> Iterator[tuple[str, StoredFile]]:
    """The files in the folders of some partitions, or of all, each with its partition."""
    if storage.is_local:
        if partitions is None:
            partitions = [file.name for file in storage.list() if file.is_folder and file.name != HUDI_FOLDER]
        for partition in partitions:
            yield from ((partition, file) for file in storage.list(partition))
        return
    # One listing for all. Names of partitions begin with a letter: they all come behind `.hoodie/`.
    for file in storage.walk(after=f"{HUDI_FOLDER}/\U0010ffff"):
        partition, _, name = file.name.partition("/")
        if name and (partitions is None or partition in partitions):
            yield partition, replace(file, name=name)
