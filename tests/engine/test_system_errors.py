"""What the system refuses, through the command in a process of its own: one line, the file, the exit code."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest

from hudi_index.cli import main
from hudi_index.engine import IndexedTable
from hudi_index.errors import (
    CatalogCorruptError,
    NoSuchTableError,
    StorageDeniedError,
    StorageError,
    StorageNotFoundError,
    StoragePlaceError,
    StorageUnreachableError,
    TableFileError,
    storage_error_of,
)
from hudi_index.storage import Storage
from hudi_index.table import Snapshot
from tests.support.tables import Fabricated

if TYPE_CHECKING:
    from collections.abc import Iterator

T1, T2 = "20240101000000000", "20240102000000000"
NOBODY = 65534
VERBS = {
    "create": ["CREATE INDEX by_n ON t (n)"],
    "sql": ["SHOW INDEXES FROM t"],
    "maintain": [],
    "compact": [],
    "validate": ["--queries", "1"],
    "show": [],
    "status": [],
    "drop": ["by_n"],
    "explain": ["n = 1"],
    "scan": ["n = 1"],
}

# As another user: this one may be root, whom no mode stops. Modules are loaded before. One process runs
# several commands: it takes a second to start.
CHILD = """
import contextlib, io, json, os, sys, resource
from hudi_index.cli import main
user, most, commands = json.loads(sys.argv[1])
if most:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
if user and os.geteuid() == 0:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
done = []
for command in commands:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(command)
    done.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(done))
"""


class Done(NamedTuple):
    code: int
    out: str
    err: str


def _run_all(table: Path, *commands: list[str], user: int = 0, most_bytes: int = 0) -> list[Done]:
    asked = [[verb, "--in-process", "--table", str(table), *rest] for verb, *rest in commands]
    done = subprocess.run(
        [sys.executable, "-c", CHILD, json.dumps([user, most_bytes, asked])],
        capture_output=True,
        text=True,
        check=True,
        cwd="/",
    )
    assert done.stderr == ""
    return [Done(*each) for each in json.loads(done.stdout)]


def _only_line(text: str) -> str:
    lines = text.splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("hudi-index: ")
    return lines[0]


@pytest.fixture
def table(tmp_path: Path) -> Fabricated:
    return _made(tmp_path / "t")


def _made(path: Path) -> Fabricated:
    table = Fabricated(path)
    table.commit(T1)
    for region in ("eu", "us"):
        rows = [{"id": f"{region}-{n}", "n": n, "region": region} for n in range(10)]
        table.base_file(region, region, T1, rows)
    return table


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that any user may enter; pytest's own are for the owner only."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    subprocess.run(["chmod", "-R", "u+rwX", str(folder)], check=True)
    shutil.rmtree(folder)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("mounting is not permitted here")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize("verb", VERBS)
def test_table_that_is_a_file_is_a_bad_request_of_every_verb(
    verb: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t").write_text("no table")
    assert main([verb, "--table", str(tmp_path / "t"), "--in-process", *VERBS[verb]]) == 2
    line = _only_line(capsys.readouterr().err)
    assert str(tmp_path / "t") in line
    assert "not a directory" in line


@pytest.mark.parametrize("name", ["n" * 300, "a\0b", "loop"])
def test_table_at_an_impossible_place_is_a_bad_request(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    assert main(["status", "--table", str(tmp_path / name)]) == 2
    assert Path(tmp_path).as_uri() in _only_line(capsys.readouterr().err)
    with pytest.raises(NoSuchTableError):
        IndexedTable.open(tmp_path / name)


def test_debug_shows_the_traceback_and_nothing_else_does(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("no table")
    plain, debug = _run_all(tmp_path / "t", ["maintain"], ["maintain", "--debug"])
    assert (plain.code, plain.out) == (2, "")
    _only_line(plain.err)
    assert debug.code == 2
    assert "Traceback (most recent call last)" in debug.err
    assert "NotADirectoryError" in debug.err
    assert debug.err.endswith(plain.err)


def test_table_that_may_not_be_read_is_an_error_that_names_the_file(open_to_all: Path) -> None:
    table = _made(open_to_all / "t")
    IndexedTable.open(table.path).sql("CREATE INDEX by_n ON t (n)")
    file = next((table.path / "eu").glob("*.parquet"))
    file.chmod(0)
    other = _made(open_to_all / "other")
    (other.path / "us").chmod(0)
    (done,) = _run_all(table.path, ["scan", "n >= 0"], user=NOBODY)
    assert done.code == 2
    line = _only_line(done.err)
    assert file.as_uri() in line
    assert "permission denied" in line
    (done,) = _run_all(other.path, ["explain", "n >= 0"], user=NOBODY)
    assert done.code == 2
    assert (other.path / "us").as_uri() in _only_line(done.err)


def test_table_that_may_not_be_written_is_an_error_that_names_the_file(open_to_all: Path) -> None:
    table = _made(open_to_all / "t")
    (done,) = _run_all(table.path, ["create", *VERBS["create"]], user=NOBODY)
    assert done.code == 2
    line = _only_line(done.err)
    assert (table.path / ".hoodie/.index").as_uri() in line
    assert "permission denied" in line


def test_index_that_may_not_be_read_is_a_reason_and_no_error(open_to_all: Path) -> None:
    table = _made(open_to_all / "t")
    IndexedTable.open(table.path).sql("CREATE INDEX by_n ON t (n)")
    (table.path / ".hoodie/.index/mdt").chmod(0)
    # Who has to change or to prove the index can't do without it, and nothing is said against it.
    verbs = ("maintain", "validate", "drop", "status")
    explained, scanned, *others = _run_all(
        table.path,
        ["explain", "n = 3"],
        ["scan", "n = 3", "--format", "csv"],
        *([verb, *VERBS[verb]] for verb in verbs),
        user=NOBODY,
    )
    assert explained.code == 0
    assert "permission denied" in explained.out
    # Told on standard error too, once: not everybody asks for the plan.
    assert explained.err.startswith("every index of ")
    assert explained.err.count("\n") == 1
    assert scanned.code == 0
    assert len(scanned.out.splitlines()) == 3
    for verb, done in zip(verbs, others, strict=True):
        assert done.code == 2, (verb, done)
        assert (table.path / ".hoodie/.index").as_uri() in _only_line(done.err)
    (table.path / ".hoodie/.index/mdt").chmod(0o755)
    assert [str(each.state) for each in IndexedTable.open(table.path).indexes()] == ["ready"]


def test_full_disk_is_an_error_that_names_the_file(small_disk: Path) -> None:
    table = _made(small_disk / "t")
    with (small_disk / "filler").open("wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 1024)
    (done,) = _run_all(table.path, ["create", *VERBS["create"]])
    assert done.code == 2
    line = _only_line(done.err)
    assert table.path.as_uri() in line
    assert "no space left on device" in line
    (small_disk / "filler").unlink()
    assert IndexedTable.open(table.path).sql(*VERBS["create"])


def test_read_only_file_system_is_an_error_that_names_the_file(small_disk: Path) -> None:
    table = _made(small_disk / "t")
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    (done,) = _run_all(table.path, ["create", *VERBS["create"]])
    assert done.code == 2
    line = _only_line(done.err)
    assert table.path.as_uri() in line
    assert "read-only file system" in line
    assert IndexedTable.open(table.path).scan("n = 3").read_all().num_rows == 2


def test_file_that_may_not_grow_is_an_error_that_names_it(table: Fabricated) -> None:
    (done,) = _run_all(table.path, ["create", *VERBS["create"]], most_bytes=700)
    assert done.code == 2
    line = _only_line(done.err)
    assert table.path.as_uri() in line
    assert "file too large" in line


def test_output_that_can_not_be_written_is_an_error_that_names_it(table: Fabricated, tmp_path: Path) -> None:
    full = tmp_path / "full"
    full.symlink_to("/dev/full")
    scans = [["scan", "--format", kind, "--output", str(full)] for kind in ("csv", "parquet", "arrow")]
    for done in _run_all(table.path, *scans, ["validate", "--queries", "0", "--html", str(full)]):
        assert done.code == 2, done
        assert str(full) in _only_line(done.err)
    with Path("/dev/full").open("w") as sink:
        command = [sys.executable, "-m", "hudi_index.cli", "scan", "--table", str(table.path)]
        printed = subprocess.run(command, stdout=sink, stderr=subprocess.PIPE, text=True, check=False)
    assert printed.returncode == 2
    assert "no space left on device" in printed.stderr
    assert "Traceback" not in printed.stderr


def test_reader_that_has_had_enough_ends_a_scan_quietly(table: Fabricated) -> None:
    command = [sys.executable, "-m", "hudi_index.cli", "scan", "--table", str(table.path)]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert "Traceback" not in done.stderr
    assert "BrokenPipe" not in done.stderr


@pytest.mark.parametrize("verb", ["scan", "create", "maintain", "validate"])
def test_damaged_file_of_the_table_is_an_error_that_names_it(
    verb: str, table: Fabricated, capsys: pytest.CaptureFixture[str]
) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql("CREATE INDEX first ON t (n)")
    table.commit(T2)
    rows = [{"id": f"eu-{n}", "n": n, "region": "eu"} for n in range(10)]
    file = table.path / "eu" / table.base_file("eu", "eu", T2, rows)
    content = file.read_bytes()
    for damaged in (content[:-100], b"PAR1" + b"\0" * 500 + b"PAR1", b""):
        file.write_bytes(damaged)
        arguments = {**VERBS, "scan": ["n >= 0"]}[verb]
        assert main([verb, "--table", str(table.path), "--in-process", *arguments]) == 1
        assert file.as_uri() in _only_line(capsys.readouterr().err)
        assert {each.name: str(each.state) for each in indexed.indexes()}["first"] == "ready"


def test_damaged_pages_of_the_table_are_an_error_that_names_the_file(
    table: Fabricated, capsys: pytest.CaptureFixture[str]
) -> None:
    file = next((table.path / "eu").glob("*.parquet"))
    content = bytearray(file.read_bytes())
    content[4 : len(content) // 2] = b"\xff" * (len(content) // 2 - 4)
    file.write_bytes(content)
    assert main(["scan", "n >= 0", "--table", str(table.path)]) == 1
    assert file.as_uri() in _only_line(capsys.readouterr().err)


def test_damaged_log_of_the_table_is_an_error_that_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = Fabricated(tmp_path / "t", table_type="MERGE_ON_READ")
    table.commit(T1)
    table.base_file("eu", "a", T1, [{"id": "1", "n": 1, "region": "eu"}])
    table.commit(T2, "deltacommit")
    name = table.log_file("eu", "a", T2, size=400)
    for verb in ("scan", "create"):
        assert main([verb, "--table", str(table.path), "--in-process", *VERBS[verb]]) == 1
        assert (table.path / "eu" / name).as_uri() in _only_line(capsys.readouterr().err)


def test_damaged_commit_of_the_table_is_an_error_that_names_it(
    table: Fabricated, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = next((table.path / ".hoodie/timeline").glob("*.commit"))
    commit.write_bytes(b"Obj\x01garbage")
    assert main(["scan", "--table", str(table.path)]) == 1
    assert commit.as_uri() in _only_line(capsys.readouterr().err)
    with pytest.raises(TableFileError):
        Snapshot.load(table.storage)


def test_link_to_a_folder_around_it_is_an_error_and_no_endless_list(table: Fabricated) -> None:
    for name in ("one", "other"):
        (table.path / "eu" / name).symlink_to(table.path)
    with pytest.raises(StoragePlaceError, match=r"eu/o.*a folder that it is in itself"):
        Snapshot.load(table.storage)


def test_file_where_a_folder_should_be_is_no_lost_race(table: Fabricated) -> None:
    (table.path / ".hoodie/.index").write_text("in the way")
    with pytest.raises(CatalogCorruptError, match=r"\.index.*hudi-index repair"):
        IndexedTable.open(table.path).sql("CREATE INDEX by_n ON t (n)")


def test_storage_that_does_not_answer_is_to_be_tried_again() -> None:
    said = (
        "AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 7, Could not connect to server"
    )
    error = storage_error_of(OSError(said), path="s3://b/t", operation="be read")
    assert isinstance(error, StorageUnreachableError)
    assert error.exit_code == 4
    refused = storage_error_of(ConnectionRefusedError(111, "x"), path="s3://b/t", operation="be read")
    assert isinstance(refused, StorageUnreachableError)
    denied = storage_error_of(OSError("AWS Error ACCESS_DENIED"), path="s3://b/t", operation="be read")
    assert isinstance(denied, StorageDeniedError)
    assert isinstance(denied, PermissionError)


def test_object_store_that_nobody_answers_at_is_to_be_tried_again() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # taken, and not listened on
        chosen = {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{nobody.getsockname()[1]}",
            "AWS_ACCESS_KEY_ID": "key",
            "AWS_SECRET_ACCESS_KEY": "canary",
            "AWS_ALLOW_HTTP": "true",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        command = [sys.executable, "-m", "hudi_index.cli", "status", "--table", "s3://bucket/t"]
        done = subprocess.run(
            command, env={**os.environ, **chosen}, capture_output=True, text=True, check=False
        )
    assert done.returncode == 4
    line = _only_line(done.stderr)
    assert "s3://bucket/t/.hoodie/hoodie.properties" in line
    assert "canary" not in line


def test_file_system_that_this_machine_has_no_library_for_is_a_bad_request(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["status", "--table", "unheard-of://host/t"]) == 2
    assert len(_only_line(capsys.readouterr().err)) < 600


def test_every_storage_error_names_path_operation_and_way_out(tmp_path: Path) -> None:
    storage = Storage.open(tmp_path)
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(StorageNotFoundError) as missing:
        storage.read("none")
    assert isinstance(missing.value, FileNotFoundError)
    assert missing.value.path == (tmp_path / "none").as_uri()
    for attempt in (
        lambda: storage.read("file/x"),
        lambda: storage.read(""),
        lambda: storage.write("file/x", b""),
        lambda: storage.create("file/x", b""),
        lambda: storage.replace("file/x", b""),
        lambda: storage.delete("file/x"),
        lambda: storage.list("file"),
        lambda: storage.exists("n" * 300),
        lambda: storage.open_input("a\0b"),
        lambda: storage.open_output("file/x"),
    ):
        with pytest.raises(StorageError, match=r"^file:///.*: it can't be \w+( at)?: .*; .+") as found:
            attempt()
        assert isinstance(found.value, StoragePlaceError), found.value
        assert found.value.exit_code == 2
