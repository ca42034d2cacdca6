"""A validation report as one HTML page: no scripts, no fonts, nothing from anywhere else.

Plots are SVG, drawn here: how much of the table each query skipped, what each index costs against what it
refutes, and what differs. Everything that comes from the table is escaped.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hudi_index.validation.report import IndexResult, QueryResult, ValidationReport

__all__ = ["page_of"]

_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --soft: #6b7280; --line: #d0d7de;
  --good: #1a7f5a; --bad: #c0392b; --bar: #4c78a8; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --soft: #9aa4af;
  --line: #30363d; --good: #3fb68b; --bar: #79a7d8; --bad: #ff7b72; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
code, pre, td.code { font: 13px/1.4 ui-monospace, monospace; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; vertical-align: top;
  padding: .3rem .6rem; border-bottom: 1px solid var(--line); } td.number { text-align: right; }
td.code > div { max-height: 7rem; overflow: auto; }
.verdict { padding: .6rem 1rem; border-left: 6px solid; } .good { border-color: var(--good); }
.bad { border-color: var(--bad); } .wrong { color: var(--bad); font-weight: 600; }
.soft { color: var(--soft); } svg text { font: 12px system-ui, sans-serif; fill: var(--ink); }
svg { width: 100%; height: auto; } details { margin: .3rem 0; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_WIDTH, _LABEL, _BAR = 900, 430, 22
_MOST_BARS = 60


def page_of(report: ValidationReport) -> str:
    """The page."""
    verdict = "Passed" if report.passed else "Failed"
    parts = [
        f"<h1>Validation of <code>{escape(report.table)}</code></h1>",
        _verdict(report, verdict),
        _facts(report),
        _wrong_queries(report.wrong_queries),
        _entries(report),
        _section("Skipped per query", _plot_skipped(report.queries)),
        _section("Size of each index against what it refuted", _cost_plot(report.indexes)),
        _indexes(report.indexes),
        _queries(report.queries),
        _list_texts("What to do", report.advice),
        _list_texts("Notes", report.notes),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        # Even a value that looks like markup can fetch nothing.
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        f"<title>{verdict}: {escape(report.table)}</title><style>{_STYLE}</style></head>\n"
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _verdict(report: ValidationReport, verdict: str) -> str:
    kind = "good" if report.passed else "bad"
    return f'<p class="verdict {kind}"><b>{verdict}</b>: {escape(report.summary())}</p>'


def _section(title: str, body: str) -> str:
    return f"<h2>{escape(title)}</h2>\n{body}\n" if body else ""


def _list_texts(title: str, texts: Sequence[str]) -> str:
    return (
        _section(title, "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>")
        if texts
        else ""
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    titles = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join("<tr>" + "".join(row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def _cell(value: object, kind: str = "") -> str:
    text = "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
    # Hostile values are long: such a cell scrolls.
    inner = f"<div>{escape(text)}</div>" if kind == "code" else escape(text)
    return f'<td class="{kind}">{inner}</td>'


def _facts(report: ValidationReport) -> str:
    effect, content, coverage = report.effect, report.content, report.coverage
    facts = {
        "Backend": report.backend,
        "Data instant": report.instant or "none",
        "Queries": f"{len(report.queries)} asked, {len(report.wrong_queries)} wrong (seed {report.seed})",
        "Pruned": f"{effect['queries_pruned']} of {effect['queries']} queries",
    }
    if coverage.is_checked:
        facts["Coverage"] = f"{coverage.covered} of {coverage.file_groups} file groups"
    if content.is_checked:
        facts["Content"] = (
            f"{content.file_groups_checked} file groups rebuilt, {content.entries:,} entries compared"
        )
    rows = ((f"<th>{escape(name)}</th>", _cell(value)) for name, value in facts.items())
    return "<table>" + "".join(f"<tr>{''.join(row)}</tr>" for row in rows) + "</table>"


def _wrong_queries(queries: Sequence[QueryResult]) -> str:
    blocks = []
    for each in queries:
        rows = "".join(f"\nmissing  {escape(row)}" for row in each.missing)
        rows += "".join(f"\nextra    {escape(row)}" for row in each.extra)
        blocks.append(
            f'<p class="wrong"><code>{escape(each.query)}</code></p><p>{each.rows_missing} rows missing and '
            f"{each.rows_extra} extra, of {each.rows}; cause: {escape(each.cause or 'unknown')}.</p>"
            f"<details open><summary>Rows</summary><pre>{rows.strip()}</pre></details>"
        )
    return _section("Queries with wrong answers", "".join(blocks))


def _entries(report: ValidationReport) -> str:
    if not report.content.differences and not report.coverage.differences:
        return ""
    total = max(report.content.differences.values(), default=1)
    bars = [
        (what, count / total, f"{count:,}", "--bad")
        for what, count in sorted(report.content.differences.items())
    ]
    rows = (
        (
            _cell(each["what"]),
            _cell(each["partition"]),
            _cell(each["key"], "code"),
            _cell(each["stored"], "code"),
            _cell(each["rebuilt"], "code"),
        )
        for each in report.content.examples
    )
    table = _table(("What", "Partition", "Key", "Stored", "Of the rows"), rows)
    faults = "".join(f"<p class='wrong'>{escape(each)}</p>" for each in report.coverage.differences)
    return _section("Entries that differ", _bars(bars) + faults + table)


def _plot_skipped(queries: Sequence[QueryResult]) -> str:
    known = [each for each in queries if each.skipped is not None]
    bars = [
        (each.query, each.skipped or 0.0, f"{each.skipped or 0:.0%}", "--bad" if each.is_wrong else "--bar")
        for each in sorted(known, key=lambda each: (not each.is_wrong, -(each.skipped or 0)))[:_MOST_BARS]
    ]
    more = f'<p class="soft">{len(known) - _MOST_BARS} more not drawn</p>' if len(known) > _MOST_BARS else ""
    return _bars(bars) + more


def _bars(bars: Sequence[tuple[str, float, str, str]]) -> str:
    """Horizontal bars: text, part of 1, what to write beside it, colour."""
    if not bars:
        return ""
    room = _WIDTH - _LABEL - 60
    drawn = []
    for row, (text, part, value, color) in enumerate(bars):
        top = row * _BAR
        shown = text if len(text) <= 62 else f"{text[:61]}…"
        length = max(1.0, part * room)
        drawn.append(
            f'<g><title>{escape(text)}</title><text x="{_LABEL - 8}" y="{top + 15}" text-anchor="end">'
            f'{escape(shown)}</text><rect x="{_LABEL}" y="{top + 3}" width="{length:.1f}" '
            f'height="{_BAR - 6}" style="fill: var({color})"/>'
            f'<text x="{_LABEL + length + 6:.1f}" y="{top + 15}">{escape(value)}</text></g>'
        )
    height = len(bars) * _BAR + 6
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img">{"".join(drawn)}</svg>'


def _cost_plot(indexes: Sequence[IndexResult]) -> str:
    """One dot per index: size to the right, file groups refuted per query upwards."""
    dots = [
        (each, each.bytes, each.file_groups_refuted / each.queries if each.queries else 0.0)
        for each in indexes
    ]
    if not dots:
        return ""
    width, height, left = 640, 220, 70
    widest = max((size for _, size, _ in dots), default=0) or 1
    highest = max((benefit for *_, benefit in dots), default=0.0) or 1.0
    drawn = [
        f'<line x1="{left}" y1="{height}" x2="{left + width}" y2="{height}" style="stroke: var(--line)"/>',
        f'<line x1="{left}" y1="10" x2="{left}" y2="{height}" style="stroke: var(--line)"/>',
        f'<text x="{left + width}" y="{height + 18}" text-anchor="end">{widest:,} bytes</text>',
        f'<text x="{left - 6}" y="20" text-anchor="end">{highest:.1f}</text>',
        f'<text x="{left}" y="{height + 18}">file groups refuted per query, over size</text>',
    ]
    for index, size, benefit in dots:
        x, y = left + size / widest * (width - 120), height - benefit / highest * (height - 30)
        color = "--bad" if index.faults else "--bar"
        drawn.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" style="fill: var({color})"/>'
            f'<text x="{x + 10:.1f}" y="{y + 4:.1f}">{escape(index.name)}</text>'
        )
    return f'<svg viewBox="0 0 {left + width + 120} {height + 30}" role="img">{"".join(drawn)}</svg>'


def _indexes(indexes: Sequence[IndexResult]) -> str:
    rows = (
        (
            _cell(each.name),
            _cell(each.kind),
            _cell(each.on, "code"),
            _cell(each.state, "wrong" if each.faults else ""),
            _cell(each.bytes, "number"),
            _cell(each.queries, "number"),
            _cell(each.file_groups_refuted, "number"),
            _cell("; ".join(each.faults)),
        )
        for each in indexes
    )
    head = ("Index", "Kind", "On", "State", "Bytes", "Asked", "Refuted", "Faults")
    return _section("Indexes", _table(head, rows)) if indexes else ""


def _queries(queries: Sequence[QueryResult]) -> str:
    rows = (
        (
            _cell(each.query, "code"),
            _cell(each.result, "wrong" if each.is_wrong else ""),
            _cell(each.rows, "number"),
            _cell(each.rows_missing, "number"),
            _cell(each.file_groups_read, "number"),
            _cell(each.file_groups, "number"),
            _cell(each.reason or ""),
        )
        for each in queries
    )
    head = ("Query", "Result", "Rows", "Missing", "File groups read", "of", "Reason")
    return _section("All queries", _table(head, rows)) if queries else ""
