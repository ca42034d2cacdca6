"""Patterns over columns of text: the words of RE2, and what it finds.

RE2 reads characters, so what is no valid UTF-8 is refused: such bytes have no characters that both Spark and
RE2 agree on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hudi_index.errors import UnsupportedPredicateError
from hudi_index.predicate.semantics.regex_literals import re2_character
from hudi_index.predicate.semantics.text_patterns import like_signs

if TYPE_CHECKING:
    from hudi_index.predicate import TextPattern

__all__ = ["is_valid_regex", "matches_pattern", "matches_regex", "regex_of_like", "regex_of_pattern"]


def regex_of_like(pattern: str, escape: str) -> str | None:
    """A LIKE pattern for RE2; None for a pattern that Spark refuses."""
    signs = like_signs(pattern, escape)
    if signs is None:
        return None
    wild = {"%": ".*", "_": "."}
    made = "".join(wild[sign] if is_wildcard else re2_character(sign) for sign, is_wildcard in signs)
    return rf"(?s)\A{made}\z"


def regex_of_pattern(pattern: TextPattern) -> str:
    """A pattern for RE2."""
    stretches = (pattern.start, *pattern.pieces, pattern.end)
    return rf"(?s)\A{'.*'.join(''.join(map(re2_character, each)) for each in stretches)}\z"


def is_valid_regex(regex: str) -> bool:
    """Whether RE2 takes an expression, which may be too large for it."""
    try:
        pc.match_substring_regex(pa.array([""]), regex)
    except pa.ArrowInvalid:
        return False
    return True


def matches_regex(column: str, texts: Any, regex: str) -> Any:
    """In which texts RE2 finds an expression; null for null.

    Raises:
        UnsupportedPredicateError: a value is no valid text.
    """
    _refuse_invalid(column, texts)
    return pc.match_substring_regex(texts, regex)


def matches_pattern(column: str, texts: Any, pattern: TextPattern) -> Any:
    """Which texts meet a pattern; null for null.

    Raises:
        UnsupportedPredicateError: a value is no valid text.
    """
    _refuse_invalid(column, texts)
    if not pattern.start and not pattern.end and len(pattern.pieces) == 1:
        return pc.match_substring(texts, pattern.pieces[0])
    regex = regex_of_pattern(pattern)
    if is_valid_regex(regex):
        return pc.match_substring_regex(texts, regex)
    return pa.array([pattern.contains(text) for text in texts.to_pylist()], pa.bool_())


def _refuse_invalid(column: str, texts: Any) -> None:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid as error:
        reason = f"a value of the column is no valid text: {error}"
        raise UnsupportedPredicateError(parts=[(f"{column} LIKE …", reason)]) from error
