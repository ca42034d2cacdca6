"""Made conditions that no comparison says: what stands in a text, and which elements an array has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pyarrow as pa

from hudi_index.validation.literals import literal_of

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

__all__ = ["membership", "text_pattern"]

_LONGEST = 12
_MOST_ELEMENTS = 3
_COMPARISONS = ("=", "<=>", "<", ">=", "!=")


def text_pattern(chance: random.Random, term: str, text: str) -> str | None:
    """A pattern that this text meets, or just does not; None if no literal says it."""
    parts = _parts_of(chance, text)
    if chance.random() < 0.2:
        # In another order, and next to nothing that is there.
        parts = [part[::-1] + "~" * (position == 1) for position, part in enumerate(parts)]
    start, middle, end = parts
    name, wanted = chance.choice(
        (
            ("LIKE", f"%{_like(middle)}%"),
            ("LIKE", f"{_like(start)}%{_like(middle)}%{_like(end)}"),
            ("LIKE", f"%{_like(start)}_%{_like(end)}"),
            ("LIKE", f"{_like(start)}%"),
            ("contains", middle),
            ("startswith", start),
            ("endswith", end),
            ("RLIKE", re.escape(middle)),
            ("RLIKE", f"^{re.escape(start)}.*{re.escape(middle)}"),
            ("RLIKE", f"({re.escape(middle)}|{re.escape(end)})+$"),
        )
    )
    literal = literal_of(wanted, pa.string())
    if literal is None:
        return None
    return f"{term} {name} {literal}" if name.isupper() else f"{name}({term}, {literal})"


def _parts_of(chance: random.Random, text: str) -> list[str]:
    """A beginning, a stretch and an end, which don't overlap. Each may be empty, or the text whole."""
    if chance.random() < 0.15:
        return [text, text, text]
    cuts = sorted(chance.randint(0, len(text)) for _ in range(4))
    first, second, third, fourth = cuts
    return [
        text[: min(first, _LONGEST)],
        text[second:third][:_LONGEST],
        text[max(fourth, len(text) - _LONGEST) :],
    ]


def _like(text: str) -> str:
    return re.sub(r"([%_\\])", r"\\\1", text)


def membership(chance: random.Random, term: str, literal: Callable[[], str]) -> str:
    """A condition on the elements of an array.

    Args:
        chance: Which one.
        term: The array.
        literal: Makes a literal of the elements' type, sometimes `NULL`.
    """
    wanted = [literal() for _ in range(chance.randint(1, _MOST_ELEMENTS))]
    # Spark refuses an untyped null as an element to look for.
    elements = [each for each in wanted if each != "NULL"]
    draw = chance.random()
    if not elements or draw < 0.08:
        return f"exists({term}, x -> x IS NULL)"
    if draw < 0.4:
        return f"array_contains({term}, {elements[0]})"
    if draw < 0.7:
        listed = ", ".join([*elements, *["NULL"] * (len(elements) < len(wanted) or draw > 0.65)])
        return f"arrays_overlap({term}, array({listed}))"
    if draw < 0.85:
        return f"exists({term}, x -> x IN ({', '.join(wanted)}))"
    return f"exists({term}, x -> x {chance.choice(_COMPARISONS)} {elements[0]})"
