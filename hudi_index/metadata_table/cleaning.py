"""Deletes what no view needs: files of commits that died, files that compaction or replacement left behind.

A file that a completed commit named stays for the retention after it was superseded, so that readers of an
earlier view finish. A file that no completed commit names is deleted when its commit can't complete any more.
"""

from __future__ import annotations

import logging
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hudi_index.metadata_table.layout import (
    HUDI_FOLDER,
    TIMELINE,
    inflight_name,
    instant_time,
    parse_completed,
    parse_data_file,
    parse_pending,
    requested_name,
)
from hudi_index.storage import TEMPORARY_SUFFIX

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from hudi_index.metadata_table.ledger import Ledger
    from hudi_index.metadata_table.view import Commit, View, ViewLoader
    from hudi_index.storage import Storage

__all__ = ["clean", "delete_strays", "remove_dead_instants", "remove_temporaries"]

log = logging.getLogger(__name__)


def delete_strays(
    storage: Storage, partitions: Iterable[str], requested_time: str, *, keep: Collection[str] = ()
) -> int:
    """Delete an instant's data files but for those kept; Hudi's readers would take them for committed."""
    deleted = 0
    for partition in partitions:
        for file in storage.list(partition):
            name = parse_data_file(file.name)
            path = f"{partition}/{file.name}"
            if name and name.requested_time == requested_time and path not in keep:
                storage.delete(path)
                deleted += 1
    return deleted


def remove_dead_instants(storage: Storage, ledger: Ledger) -> list[str]:
    """Delete pending instants that can't complete any more, with all they wrote; returns which."""
    # First the ledger, then the timeline: an instant that ended before we asked the ledger is completed in
    # the listing, and one that began after we asked is later than the ledger's last time.
    state = ledger.settle()
    names = [file.name for file in storage.list(TIMELINE)]
    completed = {instant.requested_time for instant in map(parse_completed, names) if instant}
    pending = {found for found in map(parse_pending, names) if found}
    dead = sorted(
        (requested, action)
        for requested, action in pending
        if requested not in completed and requested <= state.last_time and not state.is_open(requested)
    )
    for requested, action in dead:
        delete_strays(storage, _partitions(storage), requested)
        storage.delete(inflight_name(requested, action))
        storage.delete(requested_name(requested, action))
        log.info("removed commit %s, which died before it completed", requested)
    return [requested for requested, _ in dead]


def clean(storage: Storage, ledger: Ledger, views: ViewLoader, *, now: datetime, retention: timedelta) -> int:
    """Delete what nobody needs since longer than the retention; returns how many files."""
    state = ledger.settle()  # before the view, for the reason given above
    view = views.load()
    horizon = instant_time(now - retention)
    live, superseded = view.live_paths, _find_superseded(view)
    deleted = 0
    remaining: set[str] = set()
    for partition in _partitions(storage):
        for file in storage.list(partition):
            path = f"{partition}/{file.name}"
            name = parse_data_file(file.name)
            if name is None:
                deleted += _delete_temporary(storage, path, file.modified, now - retention)
            elif path in live or superseded.get(path, name.requested_time) > horizon:
                remaining.add(path)
            elif path in superseded or not state.is_open(name.requested_time):
                storage.delete(path)
                deleted += 1
    deleted += remove_temporaries(storage, HUDI_FOLDER, before=now - retention)
    return deleted + _forget_commits(storage, view, remaining, horizon)


def remove_temporaries(storage: Storage, folder: str, *, before: datetime) -> int:
    """Delete what killed writers had not moved to its place, in a folder and all below it; returns how many.

    A living one has its file for moments; `before` has to be long ago.
    """
    if not storage.is_folder(folder):
        return 0
    deleted = 0
    for file in storage.list(folder):
        path = f"{folder}/{file.name}" if folder else file.name
        if file.is_folder:
            deleted += remove_temporaries(storage, path, before=before)
        else:
            deleted += _delete_temporary(storage, path, file.modified, before)
    return deleted


def _delete_temporary(storage: Storage, path: str, modified: datetime, before: datetime) -> int:
    if not path.endswith(TEMPORARY_SUFFIX) or modified.astimezone(timezone.utc) > before:
        return 0
    storage.delete(path)
    return 1


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
    deleted = 0
    for commit in view.commits:
        instant = commit.instant
        is_needed = instant.requested_time in view.needed or commit is latest
        if is_needed or instant.completed_time > horizon or _has_files(commit, remaining):
            continue
        action = "compaction" if instant.action == "commit" else instant.action
        for path in (
            instant.path,
            inflight_name(instant.requested_time, action),
            requested_name(instant.requested_time, action),
        ):
            storage.delete(path)
        deleted += 1
    return deleted


def _has_files(commit: Commit, remaining: set[str]) -> bool:
    return any(stat.path in remaining for stat in commit.metadata.stats)


def _partitions(storage: Storage) -> list[str]:
    return [file.name for file in storage.list() if file.is_folder and file.name != HUDI_FOLDER]
