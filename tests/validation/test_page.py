"""The report as a page, opened in a real browser without a network; the report as JSON; the shell."""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hudi_index.cli import main
from hudi_index.errors import ValidationFailedError
from hudi_index.validation import QueryResult, ValidationReport
from hudi_index.validation.page import page_of
from tests.validation.corruption import dropped, rewritten
from tests.validation.tables import clustered_table, indexed

if TYPE_CHECKING:
    from pathlib import Path

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PREDICATE = "name = 'name-1-2'"


def _browse(page: Path, profile: Path, *wanted: str) -> str:
    assert BROWSER
    command = [
        *(BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
        # Whatever it would ask for, it would not get.
        *("--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={profile}", "--window-size=1000,1400"),
        *wanted,
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.skipif(
    BROWSER is None, reason="there is no Chromium: `make browser` brings one on Debian, as root"
)
def test_page_renders_in_a_browser_without_network(tmp_path: Path) -> None:
    # This index alone: others would leave so little to read that it is not asked.
    table = indexed(clustered_table(tmp_path / "t"), "secondary_index")
    rewritten("secondary_index_secondary_index", dropped("name-1-2$"))(table)
    report = table.validate(queries=10, where=(PREDICATE,))
    page = tmp_path / "report.html"
    page.write_text(page_of(report), encoding="utf-8")
    shown = _browse(page, tmp_path / "profile", "--dump-dom")
    assert "<b>Failed</b>" in shown
    assert "Queries with wrong answers" in shown
    wrong = re.search(r'<p class="wrong"><code>(.*?)</code>', shown)
    assert wrong
    assert html.unescape(wrong[1]) == PREDICATE
    assert shown.count("<rect") >= 10
    assert shown.count("<circle") == len(table.indexes())
    picture = tmp_path / "report.png"
    _browse(page, tmp_path / "profile", f"--screenshot={picture}")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 10_000


def test_page_needs_nothing_and_escapes_everything() -> None:
    hostile = "name = '<script src=\"//evil\">&'"
    report = ValidationReport(
        "file:///t<b>", queries=[QueryResult(hostile, result="different", missing=["<i>"])]
    )
    page = page_of(report)
    assert "<script" not in page
    assert "t<b>" not in page
    assert "<i>" not in page
    assert html.escape(hostile) in page
    assert not re.search(r"\b(?:src|href)=\"|url\(|@import", page)
    assert "http:" not in page.replace('http-equiv="', "")
    assert "https:" not in page


def test_shell_fails_with_code_3_and_writes_json_and_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = clustered_table(tmp_path / "t")
    table = indexed(made, "secondary_index", "column_stats")
    arguments = ["validate", "--table", str(made.path), "--in-process", "--queries", "4", "--seed", "2"]
    assert main([*arguments, "--json"]) == 0
    fine = json.loads(capsys.readouterr().out)
    assert fine["passed"] is True
    assert fine["version"] == 1
    assert {each["name"] for each in fine["indexes"]} == {"secondary_index", "column_stats"}
    rewritten("secondary_index_secondary_index", dropped("name-1-2$"))(table)
    page, kept = tmp_path / "r.html", tmp_path / "r.json"
    arguments += ["--where", PREDICATE, "--html", str(page), "--report", str(kept)]
    assert main([*arguments, "--no-quarantine", "--json"]) == 3
    found = json.loads(capsys.readouterr().out)
    assert found == json.loads(kept.read_text())
    assert (found["passed"], found["invalidated"]) == (False, [])
    assert found["content"]["differences"] == {"missing": 1}
    assert found["content"]["examples"][0]["key"].startswith("name-1-2$k1-2$")
    assert PREDICATE in html.unescape(page.read_text())
    assert main(arguments) == 3
    text = capsys.readouterr().out
    assert "FAILED" in text
    assert "REBUILD INDEX secondary_index" in text
    assert main(["native", "status", "--table", str(made.path)]) == 0
    assert "no metadata table" in capsys.readouterr().out
    assert main(["native", "show", "--table", str(made.path), "--in-process"]) == 2
    report = table.validate(queries=0)
    report.raise_if_failed()  # what is invalid is not asked, and so not wrong
    table.sql("REBUILD INDEX secondary_index ON t")
    rewritten("secondary_index_secondary_index", dropped("name-1-3$"))(table)
    with pytest.raises(ValidationFailedError, match="1 missing") as failure:
        table.validate(queries=0, invalidates=False).raise_if_failed()
    assert failure.value.exit_code == 3


def test_report_and_page_of_one_quoted_uri_are_named_alike(tmp_path: Path) -> None:
    table = clustered_table(tmp_path / "t")
    indexed(table, "column_stats")
    place = (tmp_path / "out").as_uri()
    arguments = ["--html", f"{place}/a%20b.html", "--report", f"{place}/a%20b.json", "--queries", "1"]

    assert main(["validate", "--table", str(table.path), "--in-process", *arguments]) == 0

    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["a b.html", "a b.json"]
