"""Regular expressions as Java reads them, as far as they are simple: what every match holds, and RE2's words.

    literals      texts that stand in every match, in their order: an index can look for them
    translation   the same expression for RE2, where it finds the same texts

Understood are characters, escaped punctuation, `.`, classes without operators, groups, alternation,
quantifiers, anchors and word boundaries. Flags, look-around, back-references, quotation, properties
and everything else are not: then there is neither. Nothing is ever guessed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile
from typing import TypeAlias

from hudi_index.predicate.values.condition import TextPattern

__all__ = ["literals_of", "re2_character", "re2_of"]


@dataclass(frozen=True, slots=True)
class _Character:
    """One character as itself."""

    text: str


@dataclass(frozen=True, slots=True)
class _OneOf:
    """One character out of ranges, or out of all others."""

    ranges: tuple[tuple[str, str], ...]
    is_negated: bool = False


@dataclass(frozen=True, slots=True)
class _Boundary:
    """A place between characters."""

    re2: str | None
    """None where RE2 sees another place than Java, or may."""


@dataclass(frozen=True, slots=True)
class _Repeated:
    node: _Node
    least: int
    most: int | None
    """None for any number."""
    is_possessive: bool = False


@dataclass(frozen=True, slots=True)
class _Sequence:
    parts: tuple[_Node, ...]


@dataclass(frozen=True, slots=True)
class _Choice:
    branches: tuple[_Node, ...]


_Node: TypeAlias = "_Character | _OneOf | _Boundary | _Repeated | _Sequence | _Choice"

_BEGINNING = _Boundary(r"\A")
# Java's `$` is also in front of a line break that ends the text; what a word is depends on Java's version.
_BOUNDARIES = {"$": _Boundary(None), "b": _Boundary(None), "B": _Boundary(None)}
_LINE_ENDS = ("\n", "\r", "\u0085", "\u2028", "\u2029")
_ANY = _OneOf(tuple((sign, sign) for sign in _LINE_ENDS), is_negated=True)
_CLASSES = {
    "d": (("0", "9"),),
    "w": (("a", "z"), ("A", "Z"), ("_", "_"), ("0", "9")),
    "s": tuple((sign, sign) for sign in " \t\n\x0b\f\r"),
}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_SPECIAL = frozenset("\\^$.|?*+()[]{}")
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~ ")
_MAX_DEPTH = 40
_MAX_LENGTH = 20_000
_MAX_COPIED = 256
"""Characters of what is repeated a certain number of times: copies of copies would grow without end."""
_MAX_RE2_REPEATS = 200


@lru_cache(maxsize=1024)
def literals_of(regex: str) -> TextPattern | None:
    """What stands in every text in which Java finds the expression; None if it is not understood."""
    tree = _parse(regex)
    if tree is None:
        return None
    parts = tree.parts if isinstance(tree, _Sequence) else (tree,)
    is_anchored = bool(parts) and parts[0] == _BEGINNING
    stretches = _stretches(tree)
    start = ""
    if is_anchored and stretches and stretches[0] is not None:
        start = stretches.pop(0) or ""
    return TextPattern(start, tuple(each for each in stretches if each))


@lru_cache(maxsize=1024)
def re2_of(regex: str) -> str | None:
    """The expression in RE2's words, which finds the same texts; None if there is none that surely does."""
    tree = _parse(regex)
    return None if tree is None else _translate(tree)


def re2_character(sign: str) -> str:
    """One character for RE2."""
    return sign if sign.isascii() and sign.isalnum() else rf"\x{{{ord(sign):x}}}"


def _stretches(node: _Node) -> list[str | None]:
    """Texts that follow each other in every match, None where anything, or nothing, may stand."""
    if isinstance(node, _Character):
        return [node.text]
    if isinstance(node, _Boundary):
        return []
    if isinstance(node, _Sequence):
        return _join([stretch for part in node.parts for stretch in _stretches(part)])
    if isinstance(node, _Repeated):
        return _repeat(node)
    if isinstance(node, _Choice):
        return _common([_stretches(branch) for branch in node.branches])
    return [None]


def _join(stretches: list[str | None]) -> list[str | None]:
    found: list[str | None] = []
    texts: list[str] = []
    for stretch in (*stretches, None):
        if stretch is not None:
            texts.append(stretch)
            continue
        if texts:
            found.append("".join(texts))
            texts = []
        if not found or found[-1] is not None:
            found.append(None)
    # The last None was put there to end the last text.
    return found[:-1] if not stretches or stretches[-1] is not None else found


def _repeat(node: _Repeated) -> list[str | None]:
    if node.least == 0:
        return [None]
    inner = _stretches(node.node)
    size = node.least * sum(len(stretch or "%") for stretch in inner)
    if node.least == node.most and size <= _MAX_COPIED:
        return _join(inner * node.least)
    return _join([*inner, None])


def _common(branches: list[list[str | None]]) -> list[str | None]:
    """What all branches begin with, or else what all of them end with."""
    if all(branch == branches[0] for branch in branches):
        return branches[0]
    firsts = [branch[0] or "" if branch else "" for branch in branches]
    if prefix := _common_prefix(firsts):
        return [prefix, None]
    lasts = [(branch[-1] or "")[::-1] if branch else "" for branch in branches]
    suffix = _common_prefix(lasts)[::-1]
    return [None, suffix] if suffix else [None]


def _common_prefix(texts: list[str]) -> str:
    alike = takewhile(lambda signs: len(set(signs)) == 1, zip(*texts, strict=False))
    return "".join(signs[0] for signs in alike)


def _translate(node: _Node) -> str | None:
    if isinstance(node, _Character):
        return re2_character(node.text)
    if isinstance(node, _Boundary):
        return node.re2
    if isinstance(node, _OneOf):
        ranges = "".join(f"{re2_character(low)}-{re2_character(high)}" for low, high in node.ranges)
        return f"[{'^' * node.is_negated}{ranges}]"
    if isinstance(node, _Repeated):
        return _translate_repeat(node)
    parts = node.parts if isinstance(node, _Sequence) else node.branches
    found = [_translate(part) for part in parts]
    texts = [each for each in found if each is not None]
    if len(texts) < len(found):
        return None
    # Whether there is a match does not depend on which branch or number is tried first.
    return f"(?:{('' if isinstance(node, _Sequence) else '|').join(texts)})"


def _translate_repeat(node: _Repeated) -> str | None:
    inner = _translate(node.node)
    if inner is None or node.is_possessive or max(node.least, node.most or 0) > _MAX_RE2_REPEATS:
        return None
    most = "" if node.most is None else node.most
    return f"(?:{inner}){{{node.least},{most}}}"


class _NotUnderstoodError(Exception):
    """An expression beyond what is read here."""


@lru_cache(maxsize=1024)
def _parse(regex: str) -> _Node | None:
    if len(regex) > _MAX_LENGTH:
        return None
    try:
        return _Parser(regex).whole()
    except _NotUnderstoodError:
        return None


class _Parser:
    def __init__(self, regex: str) -> None:
        self._regex, self._at = regex, 0

    def whole(self) -> _Node:
        found = self._choice(_MAX_DEPTH)
        if self._at < len(self._regex):
            raise _NotUnderstoodError
        return found

    def _next(self) -> str:
        return self._regex[self._at : self._at + 1]

    def _take(self) -> str:
        sign = self._next()
        if not sign:
            raise _NotUnderstoodError
        self._at += 1
        return sign

    def _accept(self, text: str) -> bool:
        is_there = self._regex.startswith(text, self._at)
        self._at += len(text) * is_there
        return is_there

    def _choice(self, depth: int) -> _Node:
        if not depth:
            raise _NotUnderstoodError
        branches = [self._sequence(depth)]
        while self._accept("|"):
            branches.append(self._sequence(depth))
        return branches[0] if len(branches) == 1 else _Choice(tuple(branches))

    def _sequence(self, depth: int) -> _Node:
        parts: list[_Node] = []
        while self._next() not in ("", "|", ")"):
            atom = self._atom(depth)
            parts.append(self._quantify(atom))
        return _Sequence(tuple(parts))

    def _atom(self, depth: int) -> _Node:
        sign = self._take()
        if sign == "\\":
            return self._escape()
        if sign == "[":
            return self._class()
        if sign == "(":
            return self._group(depth)
        if sign == ".":
            return _ANY
        if sign == "^":
            return _BEGINNING
        if sign == "$":
            return _BOUNDARIES[sign]
        if sign in _SPECIAL:
            raise _NotUnderstoodError
        return _Character(sign)

    def _escape(self) -> _Node:
        sign = self._take()
        if sign in ("b", "B"):
            # \b{g} is a boundary of another sort.
            if self._next() == "{":
                raise _NotUnderstoodError
            return _BOUNDARIES[sign]
        if sign.lower() in _CLASSES:
            return _OneOf(_CLASSES[sign.lower()], is_negated=sign.isupper())
        return _Character(self._parse_escape(sign))

    def _parse_escape(self, sign: str) -> str:
        if sign in _PUNCTUATION:
            return sign
        if sign not in _CONTROLS:
            raise _NotUnderstoodError
        return _CONTROLS[sign]

    def _group(self, depth: int) -> _Node:
        if self._accept("?") and not self._accept(":"):
            self._name()
        found = self._choice(depth - 1)
        if not self._accept(")"):
            raise _NotUnderstoodError
        return found

    def _name(self) -> None:
        """The name of a group; everything else that begins with `(?` is not understood."""
        if not self._accept("<"):
            raise _NotUnderstoodError
        name, is_closed, _ = self._regex[self._at :].partition(">")
        if not is_closed or not (name.isascii() and name.isalnum() and name[0].isalpha()):
            raise _NotUnderstoodError
        self._at += len(name) + 1

    def _quantify(self, atom: _Node) -> _Node:
        counts = self._counts()
        if counts is None:
            return atom
        if isinstance(atom, _Boundary):
            raise _NotUnderstoodError
        is_possessive = self._accept("+")
        if not is_possessive:
            self._accept("?")
        if self._next() in ("*", "+", "?", "{"):
            raise _NotUnderstoodError
        return _Repeated(atom, *counts, is_possessive)

    def _counts(self) -> tuple[int, int | None] | None:
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._accept(sign):
                return counts
        if not self._accept("{"):
            return None
        inside, is_closed, _ = self._regex[self._at :].partition("}")
        least, is_range, most = inside.partition(",")
        numbers = [least, *([most] if most else [])]
        if not is_closed or not all(text.isascii() and text.isdigit() and len(text) < 9 for text in numbers):
            raise _NotUnderstoodError
        self._at += len(inside) + 1
        low, high = int(least), (int(most) if most else None) if is_range else int(least)
        if high is not None and high < low:
            raise _NotUnderstoodError
        return low, high

    def _class(self) -> _Node:
        is_negated = self._accept("^")
        # Each with whether it is one plain character, such as a range can begin or end with.
        items: list[tuple[str, str]] = []
        ends: list[bool] = []
        while True:
            sign = self._take()
            if sign == "]" and items:
                break
            if sign in "[]^" or (sign == "&" and self._next() == "&"):
                raise _NotUnderstoodError
            if sign == "-" and items and self._next() != "]":
                self._range(items, ends)
            elif sign == "\\" and self._next() in _CLASSES:
                items += _CLASSES[self._take()]
                ends += [False] * (len(items) - len(ends))
            else:
                text = self._parse_escape(self._take()) if sign == "\\" else sign
                items.append((text, text))
                ends.append(True)
        if len(items) == 1 and items[0][0] == items[0][1] and not is_negated:
            return _Character(items[0][0])
        return _OneOf(tuple(items), is_negated)

    def _range(self, items: list[tuple[str, str]], ends: list[bool]) -> None:
        sign = self._take()
        if sign in "[]^-&" or not ends[-1]:
            raise _NotUnderstoodError
        high = self._parse_escape(self._take()) if sign == "\\" else sign
        low = items[-1][0]
        if high < low:
            raise _NotUnderstoodError
        items[-1], ends[-1] = (low, high), False
