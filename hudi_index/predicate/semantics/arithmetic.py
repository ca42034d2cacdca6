"""Sums, differences, products and quotients with a constant: how they rise or fall with the other side.

Integers are certain as far as nothing wraps around. Floating-point results are rounded, which keeps their
order; not-a-number stays what it is. Decimals are left alone: their results may be rounded or null.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from hudi_index.predicate.semantics.comparison import Line, first_position, line_of
from hudi_index.predicate.semantics.monotonic import Monotone, NoStep
from hudi_index.predicate.values import types
from hudi_index.predicate.values.coercion import common_type
from hudi_index.predicate.values.domain import Domain
from hudi_index.predicate.values.numbers import single_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hudi_index.predicate.expression import Call
    from hudi_index.predicate.semantics.monotonic import Step
    from hudi_index.predicate.values.casts import Literal
    from hudi_index.predicate.values.times import SessionZone
    from hudi_index.predicate.values.types import SqlType

__all__ = ["ARITHMETIC"]


def _arithmetic(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
    literals = (*call.before, *call.after)
    line = line_of(source)
    if len(literals) != 1 or not literals[0].type.is_numeric or not source.is_numeric or line is None:
        return NoStep(
            f"{call} between types {source} and {literals[0].type if literals else '?'} is left alone"
        )
    constant, is_first = literals[0], bool(call.before)
    target = common_type(source, constant.type)
    if call.name == "/":
        is_whole = target is not None and target.is_integral
        target = types.DOUBLE if is_whole or target in (types.FLOAT, types.DOUBLE) else None
        if is_first:
            return NoStep("a quotient does not rise or fall with its divisor everywhere")
    if target is None or target.is_decimal:
        return NoStep("decimal results may be rounded, or null")
    number = _as(constant, target)
    if number is None or (call.name in "*/" and number == 0):
        return NoStep(f"{call} {constant.value} does not rise or fall")
    is_falling = is_first if call.name == "-" else call.name in "*/" and number < 0
    operation = _operation(call.name, number, is_first=is_first)
    if target.is_integral:
        return _whole(line, target, operation, is_falling=is_falling)
    return _fractional(line, source, target, operation, is_falling=is_falling)


def _as(constant: Literal, target: SqlType) -> int | float | None:
    if target.is_integral:
        value: int = constant.value
        return value
    exact = constant.value
    if isinstance(exact, float) and not math.isfinite(exact):
        return None
    return single_of(Fraction(exact)) if target == types.FLOAT else float(exact)


def _operation(name: str, number: Any, *, is_first: bool) -> Callable[[Any], Any]:
    if name == "+":
        return lambda value: value + number
    if name == "*":
        return lambda value: value * number
    if name == "/":
        return lambda value: value / number
    return (lambda value: number - value) if is_first else (lambda value: value - number)


def _whole(
    line: Line, target: SqlType, operation: Callable[[int], int], *, is_falling: bool
) -> Step | NoStep:
    """As far as the result fits: beyond, it wraps around and may be anything."""
    lowest, highest = -(1 << (target.bits - 1)), (1 << (target.bits - 1)) - 1

    def first(is_reached: Callable[[int], bool]) -> int:
        return first_position(line.lowest, line.highest + 1, lambda position: is_reached(operation(position)))

    if is_falling:
        low, high = first(lambda value: value <= highest), first(lambda value: value < lowest) - 1
    else:
        low, high = first(lambda value: value >= lowest), first(lambda value: value > highest) - 1
    if low > high:
        return NoStep("its result never fits")
    anything = Domain.not_null()
    return Monotone(target, line, operation, low, high, is_falling, anything, anything)


def _fractional(
    line: Line, source: SqlType, target: SqlType, operation: Callable[[Any], Any], *, is_falling: bool
) -> Step:
    to_target: Callable[[Any], Any] = float if target == types.DOUBLE else _single

    def apply(value: Any) -> float:
        given = to_target(value)
        found: float = operation(given)
        if target == types.DOUBLE or not math.isfinite(given):
            return found
        # Two single-precision numbers: their exact result, rounded once.
        return single_of(Fraction(operation(Fraction(given))))

    # Not-a-number is the largest before and after, which is no fall.
    is_cut = is_falling and source.is_fractional
    return Monotone(
        target,
        line,
        apply,
        line.lowest,
        line.highest - 1 if is_cut else line.highest,
        is_falling,
        above=Domain.points([math.nan]),
    )


def _single(value: Any) -> float:
    return single_of(value if isinstance(value, float) else Fraction(value))


def _negative(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
    line = line_of(source)
    if line is None or not source.is_numeric or call.before or call.after:
        return NoStep(f"{call} of type {source} is left alone")
    if source.is_integral:
        return _whole(line, source, lambda value: -value, is_falling=True)
    if source.is_decimal:
        return Monotone(source, line, lambda value: value.copy_negate(), line.lowest, line.highest, True)  # noqa: FBT003 - falls
    return _fractional(line, source, source, lambda value: -value, is_falling=True)


ARITHMETIC = {**dict.fromkeys("+-*/", _arithmetic), "NEGATIVE": _negative}
