"""The functions that are known to rise or fall with their argument: one registry, one entry each.

`FUNCTIONS` maps a name, as Spark calls it, to what makes a step of a call: from the call, the type of its
argument and the session's time zone to a `Step`, or to the reason why there is none. Whoever adds a function
adds hostile arguments to tests/parity/test_functions_on_spark.py, which compares image and preimage with what
Spark makes of them.

Meaning is Spark's with ANSI mode off and its default time parser: integers wrap around, years beyond 9999
print with a sign.
"""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_FLOOR
from typing import TYPE_CHECKING

from hudi_index.predicate.expression import CAST, Call
from hudi_index.predicate.semantics.arithmetic import ARITHMETIC
from hudi_index.predicate.semantics.comparison import line_of, rising_cast
from hudi_index.predicate.semantics.monotonic import Monotone, NoStep, Prefix, Step
from hudi_index.predicate.semantics.time_functions import (
    EPOCH,
    TIME_FUNCTIONS,
    TIME_TYPES,
    Maker,
    from_epoch,
    in_zone,
    local_of,
    rising,
    texts_above,
    undecided,
)
from hudi_index.predicate.values import types
from hudi_index.predicate.values.domain import Domain, Range

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hudi_index.predicate.values.times import SessionZone
    from hudi_index.predicate.values.types import SqlType

__all__ = ["FUNCTIONS", "steps_of"]


def steps_of(source: SqlType, calls: Sequence[Call], zone: SessionZone) -> tuple[Step, ...] | NoStep:
    """The steps that calls make of a value of some type, innermost first; else why they are of no use."""
    found: list[Step] = []
    for call in calls:
        maker = FUNCTIONS.get(call.name)
        unknown = NoStep(f"{call} is not known to rise or fall with its argument")
        step = maker(call, source, zone) if maker else unknown
        if isinstance(step, NoStep):
            return step
        found.append(step)
        source = step.target
    return tuple(found)


def _cast(call: Call, source: SqlType, zone: SessionZone) -> Step | NoStep:
    target = call.cast_to or types.NULL
    if source == target and line_of(source):
        return rising(source, target, lambda value: value)
    if source == types.TIMESTAMP and target == types.DATE:
        return in_zone(
            source, zone, lambda own: rising(source, target, lambda value: local_of(value, own).date())
        )
    if source.is_integral and target == types.TIMESTAMP:
        return from_epoch(source, timedelta(seconds=1))
    if source == types.TIMESTAMP and target == types.LONG:
        return rising(source, target, lambda value: (value - EPOCH) // timedelta(seconds=1))
    if source == types.DATE and target == types.STRING:
        return rising(source, target, date.isoformat, above=texts_above(""))
    cast = rising_cast(source, [target], zone)
    if cast is None or line_of(source) is None:
        return NoStep(f"a cast from {source} to {target} may fall, or make null of values")
    # Local times before 1970 in a named zone are left alone.
    if not zone.is_fixed and source in TIME_TYPES and types.TIMESTAMP in (source, target):
        return NoStep(f"local time in {zone.name} goes back when clocks do")
    if source == types.DATE and target == types.TIMESTAMP:
        return _midnight(cast)
    return rising(source, target, cast)


def _midnight(cast: Callable[[date], datetime]) -> Step:
    """When a date begins, where the offset is fixed. In the outermost years Python has no such time."""
    line = line_of(types.DATE)
    if line is None:
        raise TypeError("dates have positions")
    low, high = date(2, 1, 1), date(9998, 12, 31)
    return Monotone(
        types.TIMESTAMP,
        line,
        cast,
        low.toordinal(),
        high.toordinal(),
        below=Domain.of([Range.at_most(cast(low))]),
        above=Domain.of([Range.at_least(cast(high))]),
    )


def _prefix(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
    numbers = [literal.value for literal in call.after if literal.type.is_integral]
    is_left = call.name == "LEFT"
    begins = is_left or (len(numbers) == 2 and numbers[0] in (0, 1))
    is_whole = len(numbers) == len(call.after) == (1 if is_left else 2) and not call.before
    if source != types.STRING or not is_whole or not begins or not 0 < numbers[-1] <= 1 << 31:
        return NoStep(f"{call} is the beginning of a text only if it is taken from its first character on")
    return Prefix(numbers[-1])


def _round(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
    line = line_of(source)
    if line is None or call.before or call.after or not source.is_numeric:
        return undecided(call, source)
    whole = math.floor if call.name == "FLOOR" else math.ceil
    if source.is_fractional:
        # Not-a-number, the largest, becomes 0; what no bigint holds, its end.
        limit = 1 << 63
        return Monotone(
            types.LONG,
            line,
            lambda value: (
                max(-limit, min(limit - 1, whole(value)))
                if math.isfinite(value)
                else (limit - 1 if value > 0 else -limit)
            ),
            line.lowest,
            line.highest - 1,
            above=Domain.points([0]),
        )
    if source.is_integral:
        return rising(source, types.LONG, lambda value: value)
    if source.scale == 0:
        return rising(source, source, lambda value: value)
    mode = ROUND_FLOOR if call.name == "FLOOR" else ROUND_CEILING
    target = types.decimal(min(38, source.precision - source.scale + 1), 0)
    return rising(source, target, lambda value: value.to_integral_value(mode))


FUNCTIONS: dict[str, Maker] = {
    CAST: _cast,
    "SUBSTRING": _prefix,
    "SUBSTR": _prefix,
    "LEFT": _prefix,
    "FLOOR": _round,
    "CEIL": _round,
    "CEILING": _round,
    **TIME_FUNCTIONS,
    **ARITHMETIC,
}
"""By name in upper case, operators by their sign. `calls` says how calls are read."""
