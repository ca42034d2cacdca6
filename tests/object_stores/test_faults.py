"""A store whose answers are lost, late or wrong: nobody is refused his own file or told he made another's."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from hudi_index.errors import (
    NOT_DAMAGE,
    StorageDeniedError,
    StorageError,
    StorageNotFoundError,
    StorageRefusedError,
    StorageUnreachableError,
    UnsupportedStorageError,
)
from hudi_index.storage import objects
from tests.support.faulty_store import Fault, FaultyStore, faulty_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hudi_index.storage import Storage

UNSURE = {
    "500 before": Fault(500),
    "500 after": Fault(500, is_done=True),
    "503": Fault(503, "SlowDown"),
    "503 after": Fault(503, "SlowDown", is_done=True),
    "502 after": Fault(502, is_done=True),
    "408": Fault(408, "RequestTimeout"),
    "429": Fault(429, "TooManyRequests"),
    "dropped before": Fault(),
    "dropped after": Fault(is_done=True),
}
CONFLICT = Fault(409, "ConditionalRequestConflict")


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many tries as ever, one soon after the other."""
    soon = {"init_backoff": timedelta(milliseconds=1), "max_backoff": timedelta(milliseconds=10), "base": 2}
    monkeypatch.setattr(objects, "_PAUSE", 0.001)
    monkeypatch.setattr(objects, "_RETRIES", {**objects._RETRIES, "backoff": soon})


@pytest.fixture
def store() -> Iterator[FaultyStore]:
    with faulty_store() as found:
        yield found


@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize("fault", [*UNSURE.values(), CONFLICT], ids=[*UNSURE, "409"])
def test_create_makes_its_file_whatever_becomes_of_the_answers(
    store: FaultyStore, fault: Fault, times: int
) -> None:
    store.fail("PUT", *[fault] * times)
    store.storage().create("file", b"mine")
    assert store.objects == {"t/file": b"mine"}
    with pytest.raises(FileExistsError):
        store.storage().create("file", b"another's")
    assert store.objects == {"t/file": b"mine"}


@pytest.mark.parametrize("fault", [*UNSURE.values(), CONFLICT], ids=[*UNSURE, "409"])
def test_create_never_takes_the_file_of_another_for_its_own(store: FaultyStore, fault: Fault) -> None:
    store.objects["t/file"] = b"another's"
    store.fail("PUT", fault)
    with pytest.raises(FileExistsError):
        store.storage().create("file", b"mine")
    assert store.objects == {"t/file": b"another's"}


def test_create_is_refused_at_once_and_without_a_look_by_a_sure_answer(store: FaultyStore) -> None:
    store.objects["t/file"] = b"same"
    with pytest.raises(FileExistsError):
        store.storage().create("file", b"same")
    assert store.requests == ["PUT t/file"]


def test_create_sends_each_request_once(store: FaultyStore) -> None:
    store.storage().create("file", b"x")
    assert store.requests == ["PUT t/file"]
    store.requests.clear()
    store.fail("PUT", Fault(is_done=True))
    store.storage().create("other", b"x")
    assert store.requests == ["PUT t/other", "GET t/other"]


def test_create_beside_a_conflict_waits_for_who_wins(store: FaultyStore) -> None:
    """Of a 409 it is sure that nothing was stored, so equal bytes are another's."""

    def choose(method: str, path: str, number: int) -> Fault | None:
        if number == 1:
            store.objects["t/file"] = b"same"
            return CONFLICT
        return None

    store.choose = choose
    with pytest.raises(FileExistsError):
        store.storage().create("file", b"same")


def test_create_whose_look_fails_too_goes_on(store: FaultyStore) -> None:
    """As long as nobody can tell, neither success nor refusal is told."""
    lost = [Fault(is_done=True), *[Fault(503, "SlowDown")] * 7]
    store.choose = lambda method, path, number: lost[number - 1] if number <= len(lost) else None
    store.storage().create("file", b"mine")
    assert store.objects == {"t/file": b"mine"}


def test_create_that_stays_unsure_says_so(store: FaultyStore) -> None:
    store.fail_always("PUT", fault=Fault(503, "SlowDown"))
    with pytest.raises(
        StorageUnreachableError, match=r"t/file: it can't be created: 503 SlowDown.*retry"
    ) as it:
        store.storage().create("file", b"x")
    assert it.value.exit_code == 4
    assert store.objects == {}


def test_create_of_many_threads_with_lost_answers_has_one_winner(store: FaultyStore) -> None:
    rounds, threads = 10, 8
    faults = [None, Fault(is_done=True), Fault(500), Fault(500, is_done=True), CONFLICT, None, Fault()]
    store.choose = lambda method, path, number: faults[number % len(faults)] if method == "PUT" else None
    storage, told = store.storage(), {}

    def race(name: str) -> None:
        for number in range(rounds):
            try:
                storage.create(f"{number}", f"{name} {number}".encode())
                told[name, number] = True
            except FileExistsError:
                told[name, number] = False

    racers = [threading.Thread(target=race, args=(f"thread {each}",)) for each in range(threads)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert len(told) == rounds * threads
    for number in range(rounds):
        (winner,) = [name for (name, asked), won in told.items() if asked == number and won]
        assert store.objects[f"t/{number}"] == f"{winner} {number}".encode()


@pytest.mark.parametrize("replaced", [None, 0.3, 1, 3])
@pytest.mark.parametrize("size", [10, 300_000])
@pytest.mark.parametrize("operation", ["read", "tail", "open_input", "read_many"])
def test_read_that_breaks_off_gives_one_whole_content(
    store: FaultyStore, operation: str, size: int, replaced: float | None
) -> None:
    """Also of a file that is replaced before the rest is asked for: never halves of two."""
    store.objects["t/file"] = old = b"a" * size
    new = b"b" * int(size * (replaced or 1))

    def choose(method: str, path: str, number: int) -> Fault | None:
        if number == 2 and replaced:
            store.objects["t/file"] = new
        return Fault(breaks_off=True) if number == 1 else None

    store.choose = choose
    operations: dict[str, Callable[[Storage], bytes | None]] = {
        "read": lambda storage: storage.read("file"),
        "tail": lambda storage: storage.tail("file", size)[1],
        "open_input": lambda storage: storage.open_input("file", tail=size).read(),
        "read_many": lambda storage: storage.read_many(["file"])[0],
    }
    expected = new if replaced else old
    assert operations[operation](store.storage()) == (expected[-size:] if "tail" in operation else expected)
    assert len(store.requests) > 1


def test_listing_begins_behind_a_name_in_a_store_that_begins_at_the_first(store: FaultyStore) -> None:
    store.ignores_start = True
    store.objects.update({f"t/{name}": b"" for name in ("a", "f/1", "f/2", "f/3")})
    assert [file.name for file in store.storage().walk("f", after="1")] == ["2", "3"]
    assert [file.name for file in store.storage().walk(after="f/2")] == ["f/3"]
    assert [file.name for file in store.storage().list("f", after="2")] == ["3"]


def test_store_that_hangs_is_given_up(store: FaultyStore) -> None:
    store.objects["t/file"] = b"x"
    storage = store.storage(aws_timeout="1s")
    store.fail("PUT", Fault(hangs=True, is_done=True))
    storage.create("new", b"mine")
    assert store.objects["t/new"] == b"mine"
    store.fail("GET", Fault(hangs=True))
    assert storage.read("file") == b"x"


def test_store_that_ignores_the_condition_is_refused_by_name(store: FaultyStore) -> None:
    store.ignores_conditions = True
    with pytest.raises(
        UnsupportedStorageError, match=r"s3://bucket/t.* create a file only if .* conditional"
    ):
        store.storage().check_create("file", b"x")


@pytest.mark.parametrize("fault", [*UNSURE.values(), CONFLICT], ids=[*UNSURE, "409"])
def test_store_is_not_refused_for_an_answer_that_is_lost_in_the_check(
    store: FaultyStore, fault: Fault
) -> None:
    store.fail("PUT", None, fault)
    store.storage().check_create("file", b"x")
    assert store.objects == {"t/file": b"x"}


def test_store_without_the_condition_is_refused_by_name(store: FaultyStore) -> None:
    store.fail_always("PUT", fault=Fault(501, "NotImplemented"))
    with pytest.raises(UnsupportedStorageError, match=r"s3://bucket/t.* create a file only if it is absent"):
        store.storage().create("file", b"x")
    with pytest.raises(UnsupportedStorageError, match="create a file only if it is absent"):
        store.storage(aws_conditional_put="disabled").create("file", b"x")


OPERATIONS: dict[str, Callable[[Storage], object]] = {
    "list": lambda storage: storage.list(),
    "walk": lambda storage: list(storage.walk()),
    "stat": lambda storage: storage.stat(["file", "other"]),
    "exists": lambda storage: storage.exists("file"),
    "read": lambda storage: storage.read("file"),
    "read_many": lambda storage: storage.read_many(["file", "other"]),
    "tail": lambda storage: storage.tail("file"),
    "open_input": lambda storage: storage.open_input("file").read(),
    "write": lambda storage: storage.write("file", b"y"),
    "replace": lambda storage: storage.replace("file", b"y"),
    "create": lambda storage: storage.create("new", b"y"),
    "delete": lambda storage: storage.delete("file", "other"),
    "delete_folder": lambda storage: storage.delete_folder("folder"),
    "move": lambda storage: storage.move("file", "there"),
}
REFUSALS = {
    "denied": (Fault(403, "AccessDenied"), StorageDeniedError, 2),
    "expired": (Fault(400, "ExpiredToken"), StorageDeniedError, 2),
    "another region": (Fault(301, "PermanentRedirect"), StorageRefusedError, 2),
    "unknown": (Fault(400, "InvalidRequest"), StorageRefusedError, 2),
    "no bucket": (Fault(404, "NoSuchBucket"), StorageNotFoundError, 1),
}
METHODS = ("GET", "HEAD", "PUT", "POST", "DELETE")


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_refusal_of_the_store_is_an_error_of_its_kind(
    store: FaultyStore, operation: str, refusal: str
) -> None:
    fault, kind, code = REFUSALS[refusal]
    store.objects.update({"t/file": b"x", "t/folder/a": b""})
    store.fail_always(*METHODS, fault=fault)
    if refusal == "no bucket" and operation in ("stat", "exists", "read_many", "delete", "move"):
        pytest.skip("there is nothing, which is an answer")
    with pytest.raises(StorageError) as raised:
        OPERATIONS[operation](store.storage())
    if refusal == "expired" and operation in ("stat", "exists", "move"):
        kind = StorageRefusedError  # the answer to a HEAD does not say more
    assert (type(raised.value), raised.value.exit_code) == (kind, code)
    assert "s3://bucket/t" in str(raised.value)
    assert "testsecret" not in str(raised.value)
    assert refusal == "no bucket" or isinstance(raised.value, NOT_DAMAGE)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_operations_survive_a_fault_each(store: FaultyStore, operation: str) -> None:
    store.objects.update({"t/file": b"x", "t/other": b"o", "t/folder/a": b""})
    faults = list(UNSURE.values())
    store.choose = lambda method, path, number: faults[number // 2 % len(faults)] if number % 2 else None
    OPERATIONS[operation](store.storage())


@pytest.mark.parametrize("operation", ["list", "read", "create", "delete"])
def test_store_that_does_not_answer_is_unreachable(operation: str) -> None:
    with faulty_store() as store:
        storage = store.storage()
    with pytest.raises(StorageUnreachableError, match="retry") as raised:
        OPERATIONS[operation](storage)
    assert raised.value.exit_code == 4


@pytest.mark.parametrize("broken", [[1], [2], [3], [1, 2, 3, 4], [2, 4, 6]])
@pytest.mark.parametrize("after", [None, "00700"])
def test_listing_that_breaks_off_is_gone_on_with(
    store: FaultyStore, broken: list[int], after: str | None
) -> None:
    """Whole, each name once, wherever it broke; three pages are asked for where none does."""
    names = [f"{number:05d}" for number in range(2500)]
    store.objects.update({f"t/folder/{name}": b"" for name in names})
    store.choose = lambda method, path, number: Fault(breaks_off=True) if number in broken else None
    found = [file.name for file in store.storage().walk("folder", after)]
    assert found == [name for name in names if after is None or name > after]
    assert len(store.requests) <= 3 + len(broken)


def test_listing_of_one_folder_that_breaks_off_is_asked_for_again(store: FaultyStore) -> None:
    names = [f"{number:04d}" for number in range(1200)]
    store.objects.update({f"t/folder/{name}": b"" for name in names} | {"t/folder/z/below": b""})
    store.choose = lambda method, path, number: Fault(breaks_off=True) if number in (1, 3) else None
    assert [file.name for file in store.storage().list("folder")] == [*names, "z"]
    store.requests.clear()
    assert [file.name for file in store.storage().list("folder", "1000")] == [*names[1001:], "z"]
    assert len(store.requests) == 2


def test_listing_that_breaks_off_again_and_again_is_an_error_and_never_short(store: FaultyStore) -> None:
    store.objects.update({f"t/folder/{number:05d}": b"" for number in range(1500)})
    store.choose = lambda method, path, number: Fault(breaks_off=True) if number > 1 else None
    found: list[object] = []
    with pytest.raises(StorageUnreachableError, match="t/folder: it can't be listed"):
        found.extend(store.storage().walk("folder"))
    assert len(store.requests) == 7
    store.requests.clear()
    store.fail_always("GET", fault=Fault(status=403, code="AccessDenied"))
    with pytest.raises(StorageDeniedError):
        list(store.storage().walk("folder"))
    assert len(store.requests) == 1
