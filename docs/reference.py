"""Writes the reference from the code, so that it can't say otherwise: `make reference`.

Prints Markdown: verbs and options, exit codes, public names, Python, reports, operators, sensors, triggers,
connection.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import re
import sys
import textwrap
from typing import TYPE_CHECKING, Any

# Beside this file, which is where Python looks for it when this one is run.
from public_names import PUBLIC, public_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMON = ("--help", "--table", "--json", "--verbose", "--debug", "--in-process")
OPERATORS = (
    "HudiCreateIndexOperator",
    "HudiMaintainIndexesOperator",
    "HudiCompactIndexesOperator",
    "HudiRepairIndexesOperator",
    "HudiValidateIndexesOperator",
    "HudiDropIndexOperator",
    "HudiIndexedUpsertOperator",
)
REPORTS = {
    "A job's report": "hudi_index.jobs.JobReport",
    "A table's status": "hudi_index.lifecycle.TableStatus",
    "An index's status": "hudi_index.lifecycle.IndexStatus",
    "What a scan read": "hudi_index.scan.ScanReport",
    "What a write did": "hudi_index.spark.WriteReport",
    "What became of its rows": "hudi_index.spark.TagCounts",
}
WRITERS = ("upsert", "delete", "start_stream", "stream_writer")
CODES = {
    0: "fine",
    1: "our fault, or the machine's",
    2: "a request that can't be carried out, or not before a person mends something",
    3: "validation found a difference",
    4: "a conflict, or a storage that does not answer: try again",
}

Row = tuple[str, ...]


def attribute(path: str) -> Any:
    """What a dotted path names."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def table(header: Row, rows: list[Row]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *rows]
    return "\n".join("| " + " | ".join(_cell(each) for each in line) + " |" for line in lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def code(text: str) -> str:
    """As code."""
    return f"`{text}`" if text else ""


def summary(what: Any) -> str:
    """The first paragraph of its docstring."""
    return (inspect.getdoc(what) or "").split("\n\n")[0]


def arguments(what: Any) -> dict[str, str]:
    """What the section `Args:` of a docstring says of each argument."""
    found: dict[str, str] = {}
    _, _, section = (inspect.getdoc(what) or "").partition("Args:\n")
    name = ""
    for line in section.splitlines():
        if match := re.match(r" {4}(\w+): (.*)", line):
            name = match[1]
            found[name] = match[2]
        elif name and line.startswith("     "):
            found[name] += f" {line.strip()}"
        elif line and not line.startswith(" "):
            break
    return found


def fields(what: type) -> list[Row]:
    """The fields of a dataclass with their types and the texts below them."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(what))).body
    assert isinstance(tree, ast.ClassDef)
    rows: list[Row] = []
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if not isinstance(node, ast.AnnAssign):
            continue
        name, kind = ast.unparse(node.target), ast.unparse(node.annotation)
        if "ClassVar" not in kind and not name.startswith("_"):
            text = after.value if isinstance(after, ast.Expr) else None
            said = text.value if isinstance(text, ast.Constant) else ""
            rows.append((code(name), code(kind), str(said)))
    return rows


def verbs() -> Iterator[str]:
    """The command's verbs and options."""
    parser: argparse.ArgumentParser = attribute("hudi_index.cli.command._parser")()
    yield "Every verb takes " + _options(next(iter(_choices(parser).values())), common=True) + "."
    rows = []
    for name, verb in _choices(parser).items():
        among = _choices(verb) or {"": verb}
        for part, each in among.items():
            rows.append(
                (
                    code(f"{name} {part}".strip()),
                    each.description or "",
                    _options(each, common=False),
                )
            )
    yield table(("verb", "does", "takes"), rows)


def _choices(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def _options(parser: argparse.ArgumentParser, *, common: bool) -> str:
    said = []
    for action in parser._actions:
        name = action.option_strings[-1] if action.option_strings else action.dest.upper()
        if name == "--help" or (name in COMMON) is not common:
            continue
        if action.choices:
            name += " " + "|".join(map(str, action.choices))
        said.append(f"{code(name)} ({action.help})" if action.help else code(name))
    return ", ".join(said)


def python_of(path: str, *, methods: bool = True) -> Iterator[str]:
    """A class or function with its signatures."""
    what = attribute(path)
    yield f"**{code(path)}**: {summary(what)}"
    if not methods or not inspect.isclass(what):
        yield code(f"{what.__name__}{_signature(what)}")
        return
    yield table(
        ("method", "does"),
        [
            (code(f"{name}{_signature(each)}"), summary(each))
            for owner in reversed(what.__mro__)
            # What it has of a base that is not public is its own.
            for name, each in (vars(owner) if owner is what or owner.__name__ == "Queries" else {}).items()
            if not name.startswith("_") and (inspect.isfunction(each) or isinstance(each, classmethod))
        ],
    )


def _signature(what: Any) -> str:
    function: Callable[..., Any] = what.__func__ if isinstance(what, classmethod) else what
    said = []
    is_keyword = False
    for name, parameter in inspect.signature(function).parameters.items():
        if name in ("self", "cls"):
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            said.append(f"**{name}")
            continue
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            is_keyword = True
            said.append("*")
        has_default = parameter.default is not parameter.empty
        said.append(f"{name}={parameter.default!r}" if has_default else name)
    return f"({', '.join(said)})"


def parameters_of(path: str) -> Iterator[str]:
    """A class of Airflow's with its parameters."""
    what = attribute(path)
    yield f"### {what.__name__}\n\n{code(path)}: {summary(what)}"
    if "__init__" not in vars(what):
        yield "It has no parameters of its own."
        return
    told = arguments(what)
    rows = []
    # Those that a class tells of, whether it takes them itself or hands them on to its base.
    known: dict[str, inspect.Parameter] = {}
    for each in what.__mro__:
        if "__init__" in vars(each):
            known = {**inspect.signature(each.__init__).parameters, **known}
    for name, means in told.items():
        if name != "kwargs":
            default = known[name].default
            is_required = default is inspect.Parameter.empty
            rows.append((code(name), "required" if is_required else code(repr(default)), means))
    yield table(("parameter", "default", "means"), rows)


def connection() -> Iterator[str]:
    """The connection's fields."""
    (form,) = attribute("airflow_hudi_index.get_provider_info.get_provider_info")()["connection-types"]
    relabelled = form["ui-field-behaviour"]["relabeling"]
    rows = [
        (label, code(name), "", form["ui-field-behaviour"]["placeholders"][name])
        for name, label in relabelled.items()
    ]
    for name, field in form["conn-fields"].items():
        default = field["schema"].get("default")
        shown = code(str(default)) if default is not None else ""
        rows.append((field["label"], code(f"extra.{name}"), shown, field["description"]))
    yield table(("field", "in the connection", "default", "means"), rows)


def settings() -> Iterator[str]:
    """The provider's section of Airflow's configuration."""
    config = attribute("airflow_hudi_index.get_provider_info.get_provider_info")()["config"]
    for section, about in config.items():
        yield table(
            (f"`[{section}]`", "default", "means"),
            [(code(n), code(each["default"]), each["description"]) for n, each in about["options"].items()],
        )


def exit_codes() -> Iterator[str]:
    """What each exit code means, and the errors that end so."""
    errors = importlib.import_module("hudi_index.errors")
    kinds = [
        kind
        for kind in vars(errors).values()
        if inspect.isclass(kind) and issubclass(kind, errors.HudiIndexError)
    ]
    yield table(
        ("code", "means", "errors"),
        [
            (str(number), text, ", ".join(code(kind.__name__) for kind in kinds if kind.exit_code == number))
            for number, text in CODES.items()
        ],
    )


def public() -> Iterator[str]:
    """What may be imported, and how it changes."""
    yield (
        "What may be imported, and from where. These names, their parameters and fields, the command's verbs "
        "and options, its exit codes and JSON, and the stored form of indexes change only as told here. "
        "Anything else is internal: it may move or go in any version. The list is kept in "
        "[public_names.py](public_names.py)."
    )
    rows = [
        (code(module), ", ".join(map(code, public_names(module))) or "itself, by name in a setting")
        for module in PUBLIC
    ]
    yield table(("module", "names"), rows)
    yield (
        "**Deprecation.** A public name that goes away is first marked with "
        "`hudi_index.deprecation.deprecated(since=…, until=…, instead=…)`. It works as before, and a call is "
        "a `DeprecationWarning` that names what to use instead and the version `until`, which no longer has "
        "it: at least one minor version later. The [changes](../CHANGELOG.md) name it under *Deprecated* "
        "and, when it is gone, under *Removed*. `python -W error::DeprecationWarning` finds where you use "
        "one. New parameters are keyword-only and have a default; new fields of reports and of JSON may come "
        "in any version."
    )


def document() -> Iterator[str]:
    """All of it."""
    yield "# Reference"
    yield (
        "Written by `make reference` from the code; a test holds the two together. "
        "The SQL is in [Indexes](indexes.md#sql), the validation's report in "
        "[Validation](validation.md#the-report)."
    )
    yield "## The command hudi-index"
    yield from verbs()
    yield "## Exit codes"
    yield "Of the command and of the jobs; [Errors](errors.md) says what to do."
    yield from exit_codes()
    yield "## Public names and deprecation"
    yield from public()
    yield "## Python"
    yield from python_of("hudi_index.IndexedTable")
    for name in ("enable", "disable", "explain", "sql", "read_indexed", *WRITERS):
        yield from python_of(f"hudi_index.spark.{name}", methods=False)
    yield from python_of("hudi_index.spark.last_plans", methods=False)
    yield from python_of("hudi_index.spark.native.NativeIndexes")
    yield "## Reports"
    for title, path in REPORTS.items():
        yield f"### {title}\n\n{code(path)}; as JSON with `as_dict` or `--json`."
        yield table(("field", "type", "means"), fields(attribute(path)))
    yield "## Airflow: operators"
    yield "Each takes its own parameters and those of `HudiIndexJobOperator`. Its XCom is the job's report."
    for name in ("HudiIndexJobOperator", *OPERATORS):
        yield from parameters_of(f"airflow_hudi_index.operators.{name}")
    yield "## Airflow: sensors"
    for name in ("HudiCommitSensor", "HudiIndexFreshSensor"):
        yield from parameters_of(f"airflow_hudi_index.sensors.{name}")
    yield "## Airflow: triggers"
    for path in ("commits.HudiCommitTrigger", "freshness.HudiIndexFreshTrigger", "jobs.LocalJobTrigger"):
        yield from parameters_of(f"airflow_hudi_index.triggers.{path}")
    yield "## Airflow: assets, task group, hook"
    yield from python_of("airflow_hudi_index.assets.hudi_table_asset", methods=False)
    yield from python_of("airflow_hudi_index.assets.hudi_index_asset", methods=False)
    yield from python_of("airflow_hudi_index.task_groups.hudi_index_lifecycle", methods=False)
    yield from python_of("airflow_hudi_index.hooks.hudi_index.HudiIndexHook")
    yield "## Airflow: connection"
    yield "Type `hudi_index`, shown as *Hudi Index*."
    yield from connection()
    yield "## Airflow: settings"
    yield from settings()


if __name__ == "__main__":
    sys.stdout.write("\n\n".join(document()) + "\n")
