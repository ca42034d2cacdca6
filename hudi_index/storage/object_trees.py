"""All files of an object store by folder, in as few requests as there are thousands of files.

A listing is flat, so it need not know of folders. Where it is in the order of names it leaves one out by two
requests: one for the names before it, which stops there, and one that starts behind it. A long listing goes
on in ranges side by side, cut at folders of the root; a cut in a bad place costs time and loses nothing.

Some stores that should list by name go by folders, or by UTF-16 (see `object_listings`). So it is cut only at
names that part the others in the same way by all of these orders: in ASCII, and beginning with no other name.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hudi_index.storage.objects import Objects
    from hudi_index.storage.stored import Facts, StoredFile

__all__ = ["tree_of"]

_IN_A_ROW = 4000
"""So many files are listed before it is worth a request to find where to cut."""
_RANGES = 16
_LAST = "\U0010ffff"
"""Behind all names."""


def tree_of(objects: Objects, without: str, unwanted: str) -> dict[str, dict[str, Facts]]:
    """The files by folder and name. See `Storage.tree`."""
    found: dict[str, dict[str, Facts]] = defaultdict(dict)

    def add(file: StoredFile) -> None:
        folder, _, name = file.name.rpartition("/")
        if not name.endswith(unwanted):
            found[folder][name] = file.facts

    if not objects.has_order:
        for file in objects.walk("", None):
            if not file.name.startswith(f"{without}/"):
                add(file)
        return dict(found)
    with ThreadPoolExecutor(1) as pool:
        before = pool.submit(_listed_until, objects.walk("", None), f"{without}/")
        for file in _listed_behind(objects, f"{without}/{_LAST}"):
            add(file)
        for file in before.result():
            add(file)
    return dict(found)


def _listed_until(files: Iterator[StoredFile], last: str) -> list[StoredFile]:
    return list(takewhile(lambda file: file.name <= last, files))


def _listed_behind(objects: Objects, after: str) -> Iterator[StoredFile]:
    files = objects.walk("", after)
    first = list(islice(files, _IN_A_ROW))
    yield from first
    if len(first) < _IN_A_ROW:
        return
    cuts = [*_cuts_behind(objects, first[-1].name), _LAST]
    with ThreadPoolExecutor(_RANGES) as pool:
        parts = [pool.submit(_listed_until, objects.walk("", cut), last) for cut, last in pairwise(cuts)]
        yield from _listed_until(files, cuts[0])
        for part in parts:
            yield from part.result()


def _cuts_behind(objects: Objects, name: str) -> list[str]:
    """Some folders of the root that are still to come, evenly spread."""
    here = name.partition("/")[0]
    listed = objects.list("", None)
    names = {file.name for file in listed}
    folders = [
        file.name
        for file in listed
        if file.is_folder and file.name > here and file.name.isascii() and not _beginnings(file.name) & names
    ]
    step = max(1, -(-len(folders) // (_RANGES - 1)))
    return folders[::step]


def _beginnings(name: str) -> set[str]:
    return {name[:length] for length in range(1, len(name))}
