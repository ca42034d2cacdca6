"""What LIKE, RLIKE and their like ask of a text: a pattern, and whether it says all that they ask."""

from __future__ import annotations

from typing import TypeAlias

from hudi_index.predicate.expression import Like, Matches, RLike, StartsWith
from hudi_index.predicate.semantics.regex_literals import literals_of
from hudi_index.predicate.values.condition import TextPattern

__all__ = ["TextLeaf", "like_signs", "text_pattern_of"]

TextLeaf: TypeAlias = Like | Matches | RLike | StartsWith


def like_signs(pattern: str, escape: str) -> list[tuple[str, bool]] | None:
    """The signs of a LIKE pattern, each with whether it is a wildcard.

    None for a pattern that Spark refuses: an escape before anything but a wildcard or itself.
    """
    found: list[tuple[str, bool]] = []
    signs = iter(pattern)
    for sign in signs:
        if sign != escape:
            found.append((sign, sign in ("%", "_")))
            continue
        following = next(signs, "")
        if not following or following not in ("%", "_", escape):
            return None
        found.append((following, False))
    return found


def text_pattern_of(leaf: TextLeaf) -> tuple[TextPattern, bool] | None:
    """The pattern of every text that a leaf, which is not negated, is true for; whether no other meets it.

    None if nothing is known.
    """
    if isinstance(leaf, StartsWith):
        return TextPattern(leaf.prefix), True
    if isinstance(leaf, Matches):
        return leaf.pattern, True
    if isinstance(leaf, RLike):
        found = literals_of(leaf.regex)
        return None if found is None else (found, False)
    signs = like_signs(leaf.pattern, leaf.escape)
    if signs is None or not any(is_wildcard for _, is_wildcard in signs):
        # A pattern without wildcards is an equality, which a domain says.
        return None
    stretches = [""]
    for sign, is_wildcard in signs:
        if is_wildcard:
            stretches.append("")
        else:
            stretches[-1] += sign
    start, *pieces, end = stretches
    is_exact = ("_", True) not in signs
    return TextPattern(start, tuple(piece for piece in pieces if piece), end), is_exact
