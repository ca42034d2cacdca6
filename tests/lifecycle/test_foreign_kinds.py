"""Kinds of other packages, by entry point, and what is left where the package is missing or another one.

Each step runs in a process of its own, since the kinds are looked up once per process.
"""

from __future__ import annotations

import json
import shutil
import textwrap
from pathlib import Path
from typing import Any

import pytest

from hudi_index import IndexedTable
from hudi_index.catalog.catalog import INDEX_FILE
from hudi_index.catalog.digest import digest_of
from hudi_index.errors import UnsupportedKindError
from hudi_index.metadata_table import MetadataTable
from tests.support.entries import check_indexes
from tests.support.forked import run_forked
from tests.support.tables import T1, T2, Fabricated

KIND = '''
"""The rows by the length of their text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.kind_parts.bitmaps import TokenBuilder, bitmap_question, tokens_of_values
from hudi_index.kind_parts.ranges import part_domain, source_of
from hudi_index.kind_specs import KindSpec, Sharing, Tier
from hudi_index.kinds import IndexKind
from hudi_index.predicate import Domain

LENGTH = KindSpec(
    name="length",
    implementation="text_length:Length",
    answers="= and IN, by the length of texts",
    tier=Tier.VALUES,
    folder="length_index",
    sharing=Sharing.OWN,
    payload="BitmapIndexMetadata",
    payload_type=1000,
    names_owner_by_number=True,
    knows_rows=True,
)


@dataclass(frozen=True)
class Length(IndexKind):
    spec: ClassVar[KindSpec] = LENGTH

    def builder(self, context):
        return TokenBuilder(self, context, 1000, lambda texts: tokens_of_values(pc.utf8_length(texts)))

    def ask(self, constraint, candidates):
        source, domain = source_of(self.sources, constraint), constraint.domain
        if source is None or domain is None or domain.has_null:
            return None
        if not all(each.is_point for each in domain.ranges):
            return None
        lengths = Domain.points(sorted({len(each.low.value) for each in domain.ranges}))
        return bitmap_question(self, source, [[part_domain(lengths, pa.int32())]], candidates)
'''


def package(folder: Path, code: str = KIND, name: str = "text_length") -> Path:
    """A package as pip would have left it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / f"{name}.py").write_text(code)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[hudi_index.kinds]\n{name} = {name}:LENGTH\n")
    return folder


def run(table: Fabricated, code: str, *, packages: Path | None = None) -> tuple[Any, str]:
    """What a new process prints as JSON, and what it writes to standard error."""
    head = "import json, sys\nfrom hudi_index import IndexedTable\ntable = IndexedTable.open(sys.argv[1])\n"
    folders = (packages,) if packages else ()
    done = run_forked(head + textwrap.dedent(code), str(table.path), packages=folders)
    assert done.code == 0, done.errors
    return json.loads(done.output), done.errors


CREATE = """
table.sql("CREATE INDEX by_length ON t USING length (id)")
table.sql("CREATE INDEX by_n ON t (n)")
print(json.dumps(table.plan("id = 'xyz'", only=["by_length"]).kept))
"""


def rows(prefix: str, *numbers: int) -> list[dict[str, object]]:
    return [{"id": f"{prefix}{n}", "n": n, "region": "eu"} for n in numbers]


def make_table(folder: Path) -> Fabricated:
    table = Fabricated(folder / "t", partition_fields="")
    table.commit(T1)
    table.base_file("", "a", T1, rows("a-", 1, 2))
    table.base_file("", "b", T1, rows("bbbbbb", 3, 4))
    return table


@pytest.fixture
def table(tmp_path: Path) -> Fabricated:
    """Ids of three characters in one file group, of seven in the other."""
    return make_table(tmp_path)


@pytest.fixture(scope="module")
def created(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the table has been indexed by a process with the package."""
    folder = tmp_path_factory.mktemp("created")
    kept, errors = run(make_table(folder), CREATE, packages=package(folder / "site"))
    assert (kept, errors) == (1, "")
    return folder


@pytest.fixture
def indexed_table(created: Path, tmp_path: Path) -> Fabricated:
    """A copy of it, changed since."""
    shutil.copytree(created / "t", tmp_path / "t")
    table = Fabricated(tmp_path / "t", partition_fields="")
    table.commit(T2)
    table.base_file("", "a", T2, rows("longer-", 1, 2))
    return table


def test_kind_of_another_package_is_created_asked_maintained_validated_and_dropped(
    indexed_table: Fabricated, created: Path
) -> None:
    found, errors = run(
        indexed_table,
        """
        table.maintain()
        plans = [table.plan(f"id = '{text}'", only=["by_length"]).kept for text in ("xyz", "longer-9")]
        report = table.validate(queries=20)
        dropped = table.drop("by_length").indexes
        names = [each.name for each in table.indexes()]
        print(json.dumps([plans, report.passed, str(report), dropped, names]))
        """,
        packages=created / "site",
    )
    plans, is_valid, text, dropped, names = found
    assert plans == [0, 1]
    assert is_valid, text
    assert dropped == ["by_length"]
    assert names == ["by_n"]
    assert errors == ""
    check_indexes(indexed_table.storage)


WITHOUT = """
plan = table.plan("id = 'xyz' AND n = 3")
status = {each.name: [each.is_used, each.reason] for each in table.status().indexes}
print(json.dumps([plan.kept, plan.explain(), status]))
"""


def test_index_of_a_kind_that_is_not_installed_is_left_alone_and_says_why(
    indexed_table: Fabricated, created: Path
) -> None:
    table = indexed_table
    written = stored(table, "by_length")

    (kept, explained, status), errors = run(table, WITHOUT)
    reason = "there is no kind of index 'length' here: install what provides it, or drop the index"
    assert kept == 2  # one of them is not covered
    assert reason in explained
    assert status["by_length"] == [False, reason]
    assert status["by_n"] == [True, None]
    assert reason in errors
    assert reason in shown(table)

    verbs = """
        notes = [table.maintain().notes, table.repair().notes, table.validate(queries=5).notes]
        table.sql("REBUILD INDEX by_n ON t")
        print(json.dumps([notes, table.repair().is_whole, table.validate(queries=5).passed]))
        """
    (notes, is_whole, is_valid), _ = run(table, verbs)
    assert is_whole
    assert is_valid
    assert any(reason in note for each in notes for note in each)
    assert stored(table, "by_length") == written

    # Back again, it is not believed before its entries are made anew.
    again = """
        before = table.plan("id = 'xyz'", only=["by_length"]).kept
        notes = table.maintain().notes
        print(json.dumps([before, notes, table.plan("id = 'xyz'", only=["by_length"]).kept]))
        """
    (before, notes, after), _ = run(table, again, packages=created / "site")
    assert (before, after) == (2, 0)
    assert notes == ["built anew, entries were missing: by_length"]

    dropped = "table.drop('by_length')\nprint(json.dumps([each.name for each in table.indexes()]))\n"
    names, _ = run(table, dropped)
    assert names == ["by_n"]
    assert "length_index_by_length" not in MetadataTable.of(table.storage).view().state.shards
    check_indexes(table.storage)


WRONG = {
    "raises": ("raise RuntimeError('no such device')", "no such device"),
    "other": ("LENGTH = 'length'", "it is no KindSpec"),
    "name": (KIND.replace('"length"', '"bloom"'), "bloom_filters is called bloom already"),
    "files": (KIND.replace('"length_index"', '"files"'), "the folder 'files' can't be a kind's"),
    "folder": (KIND.replace('"length_index"', '"ngram_index"'), "the folder 'ngram_index' is ngram's"),
}


def answering(rows: str) -> str:
    """A kind whose question finds these rows, whatever it reads."""
    question = (
        "\n\nfrom pyroaring import BitMap\n\nfrom hudi_index.kinds import RowQuestion\n\n\n"
        f"class Answer(RowQuestion):\n    def rows(self, entries):\n        return {rows}\n"
    )
    asked = "return Answer(candidates, [], self.payloads)\n        return bitmap_question("
    return KIND.replace("return bitmap_question(", asked) + question


@pytest.mark.parametrize(
    ("code", "message"),
    [
        pytest.param(
            KIND.replace(
                "source, domain = source_of",
                "raise ValueError('no idea')\n        source, domain = source_of",
            ),
            "its kind fails: no idea",
            id="when asked",
        ),
        pytest.param(
            KIND.replace("[[part_domain(lengths, pa.int32())]]", "[['no domain']]"),
            "its kind fails:",
            id="late",
        ),
        pytest.param(
            KIND.replace("knows_rows=True,", "knows_rows=True, asks_together=True,")
            + "\n    def ask_together(self, *asked):\n        raise ValueError('not both')\n",
            "its kind fails: not both",
            id="together",
        ),
        pytest.param(
            KIND.replace(
                "source, domain = source_of", "return 'nothing'\n        source, domain = source_of"
            ),
            "its kind fails: it asks 'nothing', which is no Question",
            id="no question",
        ),
        pytest.param(
            KIND.replace(
                "source, domain = source_of", "raise MemoryError\n        source, domain = source_of"
            ),
            "its kind fails: MemoryError",
            id="without a text",
        ),
        pytest.param(answering("{0: []}"), "its kind fails: its rows are []", id="no rows"),
        pytest.param(answering("{0: BitMap(), 7: BitMap()}"), "there is no file group 7", id="no group"),
        pytest.param(answering("None"), "its kind fails:", id="nothing"),
        pytest.param(
            KIND + "\n    @classmethod\n    def of(cls, *facts):\n        raise ValueError('not this one')\n",
            "its kind fails: not this one; mend text_length:Length, or drop its indexes",
            id="when made",
        ),
        pytest.param(
            KIND + "\n    @classmethod\n    def of(cls, *facts):\n        return None\n",
            "its kind fails: `of` returned None, which is no IndexKind",
            id="never made",
        ),
        pytest.param(
            KIND + "\n    @classmethod\n    def check_type(cls, *facts):\n        raise KeyError('int')\n",
            "its kind fails: 'int'",
            id="types",
        ),
        pytest.param(
            KIND.replace("payload_type=1000,", "payload_type=1000, summary='sums',"),
            "its kind fails: 'sums'",
            id="summary",
        ),
    ],
)
def test_kind_that_raises_fails_no_query(
    indexed_table: Fabricated, tmp_path: Path, code: str, message: str
) -> None:
    (kept, text), errors = run(
        indexed_table,
        """
        plan = table.plan("id = 'xyz' AND n > 0", only=["by_length"])
        print(json.dumps([plan.kept, plan.explain()]))
        """,
        packages=package(tmp_path / "raising", code),
    )

    # What it answers to one constraint counts, whatever it makes of two.
    assert kept == (1 if "together" in code else 2)
    assert message in text
    assert "index by_length" in errors


@pytest.mark.parametrize(
    ("code", "message", "is_left_alone"),
    [
        pytest.param(
            KIND.replace(
                "return TokenBuilder", "raise ValueError('no rows, please')\n        return TokenBuilder"
            ),
            "its kind fails: no rows, please",
            False,
            id="builder",
        ),
        pytest.param(
            KIND.replace("return TokenBuilder", "return Nonsense()\n        return TokenBuilder")
            + "\n\nclass Nonsense:\n    def add(self, batch):\n        return ['no table']\n",
            "its kind fails: its builder gave str, which is no table of entries",
            False,
            id="entries",
        ),
        pytest.param(
            KIND + "\n    @classmethod\n    def of(cls, *facts):\n        raise ValueError('not this one')\n",
            "its kind fails: not this one",
            True,
            id="when made",
        ),
    ],
)
def test_kind_that_raises_keeps_no_other_index_behind(
    indexed_table: Fabricated, tmp_path: Path, code: str, message: str, *, is_left_alone: bool
) -> None:
    found, _ = run(
        indexed_table,
        """
        notes = table.maintain().notes
        status = {each.name: [each.state, each.is_used, each.reason] for each in table.status().indexes}
        kept = table.plan("n = 3").kept
        table.sql("REBUILD INDEX by_n ON t")
        table.compact(force=True)
        is_valid, is_whole = table.validate(queries=5).passed, table.repair().is_whole
        print(json.dumps([notes, status, kept, is_valid, is_whole]))
        """,
        packages=package(tmp_path / "raising", code),
    )

    notes, status, kept, is_valid, is_whole = found
    assert status["by_n"] == ["ready", True, None]
    assert kept == 1
    assert is_valid
    # One that failed when it was to describe rows is out of service until somebody makes it anew.
    assert is_whole == is_left_alone
    assert status["by_length"][:2] == ["ready" if is_left_alone else "invalid", False]
    assert message in status["by_length"][2]
    assert is_left_alone or message in notes[0]

    rebuild = """
        table.sql("REBUILD INDEX by_length ON t")
        print(json.dumps([table.plan("id = 'bbbbbb3'", only=["by_length"]).kept, table.validate().passed]))
        """
    assert run(indexed_table, rebuild, packages=package(tmp_path / "mended"))[0] == [1, True]


def test_packages_that_are_wrong_only_warn(table: Fabricated, tmp_path: Path) -> None:
    for name, (code, _) in WRONG.items():
        package(tmp_path / "site", code, name)

    kept, errors = run(
        table,
        """
        table.sql("CREATE INDEX by_n ON t (n)")
        print(json.dumps(table.plan("n = 3").kept))
        """,
        packages=tmp_path / "site",
    )

    assert kept == 1
    assert [message for _, message in WRONG.values() if message not in errors] == []
    assert len(errors.splitlines()) == len(WRONG)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (KIND.replace("text_length:Length", "text_gone:Length"), "text_gone:Length can't be loaded"),
        (
            KIND.replace('"BitmapIndexMetadata"', '"LengthMetadata"'),
            "its kind wants a payload LengthMetadata",
        ),
        (KIND.replace("payload_type=1000,", "payload_type=1000, version=0,"), "version 1 of length"),
    ],
)
def test_kind_that_can_not_be_used_any_more_is_left_alone(
    indexed_table: Fabricated, tmp_path: Path, code: str, message: str
) -> None:
    found, _ = run(
        indexed_table,
        """
        table.maintain()
        status = {each.name: [each.is_used, each.reason] for each in table.status().indexes}
        explained = table.plan("n = 3 AND id = 'xyz'").explain()
        print(json.dumps([explained, status, table.validate(queries=5).passed]))
        """,
        packages=package(tmp_path / "broken", code),
    )

    explained, status, is_valid = found
    assert message in explained
    assert message in status["by_length"][1]
    assert status["by_n"] == [True, None]
    assert is_valid


def stored(table: Fabricated, name: str) -> dict[str, Any]:
    """An index's definition as index.json has it."""
    content = json.loads((table.path / INDEX_FILE).read_text())
    found: dict[str, Any] = next(each for each in content["indexes"] if each["name"] == name)
    return found


def shown(table: Fabricated) -> str:
    """What SHOW INDEXES prints."""
    code = "import sys\nfrom hudi_index.cli import main\nsys.exit(main(sys.argv[1:]))"
    done = run_forked(code, "sql", "--table", str(table.path), "SHOW INDEXES ON t")
    assert done.code == 0, done.errors
    return done.output


def make_newer(table: Fabricated, name: str, **facts: object) -> dict[str, Any]:
    """Write an index's definition as a later release might."""
    path = table.path / INDEX_FILE
    content = json.loads(path.read_text())
    for each in content["indexes"]:
        if each["name"] == name:
            each.update({"version": 99, "news": {"of": "later"}, **facts})
    signed = {key: value for key, value in content.items() if key not in ("about", "digest")}
    for file in (path, path.parent / "history" / f"{content['generation']:010}.json"):
        assert file.exists()
        file.write_text(json.dumps({**content, "digest": digest_of(signed, "catalog")}))
    return stored(table, name)


@pytest.mark.parametrize(
    ("using", "column"),
    [("column_stats", "n"), ("bitmap", "n"), ("record_index", "id"), ("ngram", "id")],
)
def test_newer_version_of_a_kind_is_left_alone_and_does_not_hinder_others(
    table: Fabricated, using: str, column: str
) -> None:
    indexed = IndexedTable.open(table.path)
    indexed.sql(f"CREATE INDEX newer ON t USING {using} ({column})")
    indexed.sql("CREATE INDEX stats ON t USING column_stats (id)")
    written = make_newer(table, "newer", changed_time=None)
    reason = f"its entries are of version 99 of {using}, and this release knows version 1"

    plan = indexed.plan("n = 3 AND id = 'bbbbbb3'")
    assert reason in plan.explain()
    assert plan.kept == 1
    status = {each.name: each for each in indexed.status().indexes}
    assert not status["newer"].is_used
    assert reason in str(status["newer"].reason)
    assert status["stats"].is_used

    table.commit(T2)
    table.base_file("", "a", T2, rows("a-", 5, 6))
    indexed.maintain()
    indexed.sql("CREATE INDEX more ON t USING column_stats (region)")
    indexed.sql("REBUILD INDEX stats ON t")
    assert indexed.repair().is_whole
    assert indexed.validate(queries=10).passed
    indexed.compact()
    with pytest.raises(UnsupportedKindError, match="version 99"):
        indexed.sql("REBUILD INDEX newer ON t")
    assert indexed.plan("id = 'a-6'").kept == 1
    assert indexed.plan("id = 'c'").kept == 0
    assert stored(table, "newer") == written
    assert indexed.repair(check=True).is_whole

    indexed.drop("newer")
    assert [each.name for each in indexed.indexes()] == ["more", "stats"]
    indexed.sql(f"CREATE INDEX newer ON t USING {using} ({column})")
    assert indexed.validate(queries=10).passed
    check_indexes(table.storage)
