"""All files of an object store by folder, in as few requests as there are thousands of files.

A listing is flat and in the order of names, so it need not know of folders. It leaves one out by two
requests: one for the names before it, which stops there, and one that starts behind it. A long listing goes
on in ranges side by side, cut at folders of the root; a cut in a bad place costs time and loses nothing.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile
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

    with ThreadPoolExecutor(1) as pool:
        before = pool.submit(_listed_until, objects, None, f"{without}/")
        for file in _listed_behind(objects, f"{without}/{_LAST}"):
            add(file)
        for file in before.result():
            add(file)
    return dict(found)


def _listed_until(objects: Objects, after: str | None, last: str) -> list[StoredFile]:
    return list(takewhile(lambda file: file.name <= last, objects.walk("", after)))


def _listed_behind(objects: Objects, after: str) -> Iterator[StoredFile]:
    for number, file in enumerate(objects.walk("", after), 1):
        yield file
        if number == _IN_A_ROW and objects.lists_from_anywhere:
            cuts = _cuts_behind(objects, file.name)
            with ThreadPoolExecutor(_RANGES) as pool:
                pairs = zip([file.name, *cuts], [*cuts, _LAST], strict=True)
                for part in pool.map(lambda pair: _listed_until(objects, *pair), pairs):
                    yield from part
            return


def _cuts_behind(objects: Objects, name: str) -> list[str]:
    """Some folders of the root that are still to come, evenly spread."""
    here = name.partition("/")[0]
    folders = [file.name for file in objects.list("", None) if file.is_folder and file.name > here]
    step = max(1, -(-len(folders) // (_RANGES - 1)))
    return folders[::step]
