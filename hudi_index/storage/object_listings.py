"""Listings of an object store: whole, each name once, whatever becomes of the answers.

S3 and GCS list in the order of names, byte by byte. Not all do. Azure with a hierarchical namespace goes
folder by folder, `a/b` before `a-b`, and without one in the order of UTF-16; some stores that keep objects as
files go by folders too; directory buckets of S3 have no order. So no name is left out here because a greater
one came before it.

obstore asks again for what is not answered, but not for what breaks off.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hudi_index.storage.object_errors import is_broken_off
from hudi_index.storage.stored import NO_TIME, StoredFile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

__all__ = [
    "ATTEMPTS",
    "children_of",
    "folder_named",
    "list_all",
    "sorted_by_name",
    "stored_of",
    "until_whole",
]

_Told = TypeVar("_Told")

ATTEMPTS = 6
"""How often the same is asked for."""


def list_all(
    ask: Callable[[str | None], Iterable[Sequence[Any]]], after: str | None, *, has_order: bool
) -> Iterator[Any]:
    """What a store lists, page by page.

    What breaks off goes on behind the last name that came, or begins anew if names don't come in order.

    Args:
        ask: lists all names behind one; may give others too.
        after: only names behind this one.
        has_order: whether the store lists by name, from behind any name.
    """
    came: set[str] = set()
    last, pages, failures = after, None, 0
    while True:
        if pages is None:
            pages = iter(ask(last if has_order else after))
        try:
            page = next(pages, None)
        except Exception as error:
            pages, failures = None, failures + 1
            if failures == ATTEMPTS or not is_broken_off(error):
                raise
            continue
        if page is None:
            return
        for each in page:
            name = each["path"]
            # Not every store that is asked to begin behind a name does so.
            if name in came or (after is not None and name <= after):
                continue
            has_order = has_order and (last is None or name > last)
            last, failures = name, 0
            came.add(name)
            yield each


def until_whole(ask: Callable[[], _Told]) -> _Told:
    """What a listing answers, asked for again where the answer breaks off."""
    from obstore.exceptions import GenericError

    attempt = 0
    while True:
        attempt += 1
        try:
            return ask()
        except GenericError as error:
            if attempt == ATTEMPTS or not is_broken_off(error):
                raise


def stored_of(found: Any, skip: int) -> StoredFile:
    """What is told of an object, without the beginning of its name."""
    modified = found["last_modified"].replace(microsecond=0)
    # Azure quotes it when asked for one file and not in a listing.
    tag = (found["e_tag"] or "").strip('"')
    return StoredFile(found["path"][skip:], found["size"], modified, tag=tag)


def folder_named(name: str) -> StoredFile:
    """A beginning that names share."""
    return StoredFile(name, 0, NO_TIME, is_folder=True)


def sorted_by_name(files: Iterable[StoredFile]) -> list[StoredFile]:
    """As every listing of ours is."""
    return sorted(files, key=lambda file: file.name)


def children_of(files: Iterator[StoredFile], after: str) -> list[StoredFile]:
    """What a folder holds directly, of what it holds."""
    found: dict[str, StoredFile] = {}
    for file in files:
        name, slash, _ = file.name.partition("/")
        if name > after:
            found[name] = folder_named(name) if slash else found.get(name, file)
    return sorted_by_name(found.values())
