"""Cut, overwritten and missing files: an error that names the file, never wrong entries."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING

import pytest

from hudi_index.entries.ranges import KeyRange
from hudi_index.errors import CorruptError, EntryCorruptError, MissingFileError, TimelineCorruptError
from tests.store import operations
from tests.store.support import Change, Clock, Content, open_table, ours

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def prepared(tmp_path: Path) -> tuple[Path, Clock, Content]:
    path, clock = tmp_path / "mdt", Clock()
    open_table(path, clock).create()
    values = {f"k{place % 7}${place:04d}": str(place) for place in range(3000)}
    operations.create_partition("record_index", 2, Change(values), as_base=True)(path, clock)
    operations.maintain({"record_index": Change({"k1$0001": "new"}, {"k2$0002"})})(path, clock)
    operations.maintain({"record_index": Change({"k3$9999": "in"})})(path, clock)
    return path, clock, ours(open_table(path, clock))


def _committed_files(path: Path, clock: Clock) -> list[Path]:
    view = open_table(path, clock).view()
    data = [path / file.path for shard_slice in view.slices("record_index") for file in shard_slice.files]
    return data + [path / commit.instant.path for commit in view.commits]


def test_every_file_cut_anywhere_is_an_error_that_names_it(prepared: tuple[Path, Clock, Content]) -> None:
    path, clock, _ = prepared
    files = _committed_files(path, clock)
    assert len(files) > 5
    for file in files:
        whole = file.read_bytes()
        for length in (0, 1, 3, len(whole) // 2, len(whole) - 1):
            file.write_bytes(whole[:length])
            with pytest.raises(CorruptError, match=file.name.replace(".", r"\.")):
                ours(open_table(path, clock))
        file.write_bytes(whole)


def test_every_file_missing_is_an_error_that_names_it(prepared: tuple[Path, Clock, Content]) -> None:
    path, clock, content = prepared
    newest = max(instant.name for instant in (path / ".hoodie/timeline").glob("*_*"))
    for file in _committed_files(path, clock):
        if file.name == newest:
            continue  # without it the table is the one before that commit: whole, only older
        kept = file.read_bytes()
        file.unlink()
        with pytest.raises(MissingFileError, match=file.name.split("_")[0].replace(".", r"\.")):
            ours(open_table(path, clock))
        file.write_bytes(kept)
    assert ours(open_table(path, clock)) == content


def test_newest_commit_missing_is_the_view_before_it(prepared: tuple[Path, Clock, Content]) -> None:
    path, clock, content = prepared
    newest = max((path / ".hoodie/timeline").glob("*_*"))
    newest.unlink()
    older = ours(open_table(path, clock))
    assert "k3$9999" not in older["record_index"]
    # The ledger knows that it was decided: the next writer brings it back.
    with open_table(path, clock, owner="next").begin() as transaction:
        transaction.commit()
    assert ours(open_table(path, clock)) == content


def test_flipped_bytes_never_change_entries_silently(prepared: tuple[Path, Clock, Content]) -> None:
    path, clock, content = prepared
    chance = random.Random(7)
    noticed = 0
    files = [file for file in _committed_files(path, clock) if ".hoodie" not in file.parts]
    for _ in range(200):
        file = chance.choice(files)
        whole = file.read_bytes()
        place = chance.randrange(len(whole))
        length = chance.choice([1, 1, 16])
        noise = bytes(byte ^ chance.randrange(1, 256) for byte in whole[place : place + length])
        file.write_bytes(whole[:place] + noise + whole[place + length :])
        noticed += _is_noticed(path, clock, content, file)
        file.write_bytes(whole)
    assert noticed > 150


def test_file_of_another_commit_in_its_place_is_an_error(prepared: tuple[Path, Clock, Content]) -> None:
    path, clock, _ = prepared
    first, second = open_table(path, clock).view().slices("record_index")[:2]
    assert first.base is not None
    assert second.base is not None
    shutil.copy(path / second.base.path, path / first.base.path)
    with pytest.raises(EntryCorruptError, match=first.base.name):
        open_table(path, clock).reader().lookup("record_index", [KeyRange.all()])


def test_garbage_in_the_ledger_is_an_error_that_names_it(prepared: tuple[Path, Clock, Content]) -> None:
    path, clock, content = prepared
    newest = max((path / ".hoodie/ledger").glob("*.json"))
    newest.write_bytes(b"garbage")
    with pytest.raises(TimelineCorruptError, match=newest.name):
        open_table(path, clock).begin()
    assert ours(open_table(path, clock)) == content


def _is_noticed(path: Path, clock: Clock, content: Content, file: Path) -> bool:
    try:
        found = ours(open_table(path, clock))
    except EntryCorruptError as error:
        return file.name in str(error)
    assert found == content
    return False
