"""SQL about indexes from single values: whatever a value holds, it stays in its place in the statement."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hudi_index.errors import (
    DdlSyntaxError,
    InvalidDefinitionError,
    InvalidNameError,
    UnknownIndexKindError,
)
from hudi_index.kind_specs import specs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlglot import Token

__all__ = ["check_predicate", "check_query", "create_statement", "kinds", "rebuild_statement"]


def kinds() -> list[str]:
    """The kinds of index that a statement can name."""
    return [spec.name for spec in specs().values() if spec.is_created]


def create_statement(
    *,
    name: str,
    kind: str | None = None,
    columns: Sequence[str] | None = None,
    expression: str | None = None,
    options: Mapping[str, object] | None = None,
    if_not_exists: bool = True,
) -> str:
    """CREATE INDEX of these parts.

    Raises:
        UserError: a subclass that names the part which can't be one.
    """
    if kind is not None and kind not in kinds():
        raise UnknownIndexKindError(kind=kind, known=kinds())
    if bool(columns) == bool(expression):
        raise InvalidDefinitionError(name=name, reason="it is over columns or over an expression: give one")
    if isinstance(columns, str):
        raise InvalidDefinitionError(name=name, reason=f"columns is one text, {columns!r}: give a list")
    source = _check_closed(expression) if expression else ", ".join(_column(each) for each in columns or ())
    words = ["CREATE INDEX", *(["IF NOT EXISTS"] if if_not_exists else []), _name(name), "ON TABLE t"]
    if kind:
        words.append(f"USING {kind}")
    words.append(f"({source})")
    if options:
        pairs = (f"{_text(key)} = {_text(_plain(value))}" for key, value in options.items())
        words.append(f"OPTIONS ({', '.join(pairs)})")
    return " ".join(words)


def rebuild_statement(name: str) -> str:
    """REBUILD INDEX of a name."""
    return f"REBUILD INDEX {_name(name)} ON TABLE t"


def check_predicate(text: str) -> None:
    """Refuse what is not one condition on the columns of one row; the job does so again.

    Raises:
        UserError: it holds something else, or is no SQL.
    """
    from hudi_index.gate import check_condition

    check_condition(text)


def check_query(text: str) -> None:
    """Refuse what is not one query over the rows of the table, there called `t`; the job does so again.

    Raises:
        UserError: it holds something else, or is no SQL.
    """
    from hudi_index import gate

    gate.check_query(text, view="t")


def _name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", name):
        raise InvalidNameError(
            name=name, reason="is not letters, digits, '_' and '-', beginning with a letter or '_'"
        )
    return f"`{name}`"


def _column(path: str) -> str:
    return ".".join("`" + part.replace("`", "``") + "`" for part in path.split("."))


def _text(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_closed(expression: str) -> str:
    """The expression, if it closes what it opens: then nothing of it can be read as what follows it."""
    depth = 0
    for token in _tokens(expression):
        depth += {"(": 1, ")": -1}.get(token.text, 0) if token.token_type.name.endswith("PAREN") else 0
        if depth < 0 or token.token_type.name == "SEMICOLON":
            raise DdlSyntaxError(text=expression, position=token.start, expected="one expression, closed")
    if depth:
        raise DdlSyntaxError(text=expression, position=len(expression), expected="')'")
    # A comment at its end must not swallow the bracket.
    return f"{expression}\n"


def _tokens(text: str) -> list[Token]:
    """By the tokenizer that reads whole statements, so both see the same strings, names and comments."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError:
        tokens = []
    if not tokens:
        raise DdlSyntaxError(text=text, position=0, expected="an expression")
    return tokens
