"""Functions of dates and timestamps that rise with them.

Where the session's time zone has one offset, they are certain from year 2 to 9998. Where clocks are put back,
later instants show earlier times: then a function is taken of all local times that the instant may have. A
step says what may come out before and after those years, as far as that is known: `YEAR` goes on to rise,
texts of years with a sign do not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from typing import TYPE_CHECKING, Any, TypeAlias

from hudi_index.predicate.expression import Call
from hudi_index.predicate.semantics.comparison import line_of
from hudi_index.predicate.semantics.leaf_domains import prefix_range
from hudi_index.predicate.semantics.monotonic import Monotone, NoStep, Shifted, Step
from hudi_index.predicate.values import types
from hudi_index.predicate.values.domain import Domain, Range
from hudi_index.predicate.values.times import SessionZone
from hudi_index.predicate.values.types import SqlType

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "EPOCH",
    "TIME_FUNCTIONS",
    "TIME_TYPES",
    "Maker",
    "from_epoch",
    "in_zone",
    "local_of",
    "rising",
    "texts_above",
    "undecided",
]

Maker: TypeAlias = Callable[[Call, SqlType, SessionZone], Step | NoStep]

_UTC = SessionZone("UTC")
_MOST = timedelta(hours=18)
"""No zone is further from UTC."""
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICRO = timedelta(microseconds=1)


def rising(
    source: SqlType,
    target: SqlType,
    apply: Callable[[Any], Any],
    *,
    below: Domain | None = None,
    above: Callable[[Any], Domain] | None = None,
) -> Monotone:
    """A function that rises everywhere, beyond Python's dates too unless something else is given.

    `above` tells from the function's value at the last certain place what may come after it.
    """
    line = line_of(source)
    if line is None:
        raise TypeError(f"values of type {source} have no positions")
    low, high = apply(line.value_at(line.lowest)), apply(line.value_at(line.highest))
    return Monotone(
        target,
        line,
        apply,
        line.lowest,
        line.highest,
        below=below or Domain.of([Range.at_most(low)]),
        above=above(high) if above else Domain.of([Range.at_least(high)]),
    )


def in_zone(
    source: SqlType, zone: SessionZone, make: Callable[[SessionZone], Step], *, gives_instants: bool = False
) -> Step:
    """A step that goes by local time: exact where the offset is fixed, else by the widest of all."""
    if source != types.TIMESTAMP or zone.is_fixed:
        return make(zone)
    return Shifted(make(_UTC), _MOST, _MOST if gives_instants else None)


def local_of(value: Any, zone: SessionZone) -> datetime:
    """What clocks show, of a timestamp, or at the beginning of a date."""
    if not isinstance(value, datetime):
        return datetime.combine(value, time())
    if value.tzinfo is None:
        return value
    local = zone.local_of(value)
    if local is None:
        raise ValueError(f"{value} has no local time in {zone.name}")
    return local


TIME_TYPES = (types.DATE, types.TIMESTAMP, types.TIMESTAMP_NTZ)


def undecided(call: Call, source: SqlType) -> NoStep:
    """No step, for a type that the function is not known for."""
    return NoStep(f"{call} of a value of type {source} is not known to rise with it")


def texts_above(leading: str) -> Callable[[str], Domain]:
    """Texts of times after the last that is certain: above its text, or with a sign behind what leads."""
    return lambda last: Domain.of([Range.at_least(last), prefix_range(f"{leading}+")])


_PATTERN = re.compile(r"(yyyy|MM|dd|HH|mm|ss|S{1,6})|'([^']*)'|([^A-Za-z'\[\]{}#]+)")
_ORDER = ("yyyy", "MM", "dd", "HH", "mm", "ss", "S")


def _pattern_parts(pattern: str) -> list[tuple[str, bool]] | None:
    """The fields (marked) and fixed texts of a pattern that sorts as time goes; None for any other."""
    parts, position = [], 0
    while position < len(pattern):
        found = _PATTERN.match(pattern, position)
        if not found:
            return None
        text = found[1] or found[2] or found[3] or ("'" if found[2] == "" else "")
        parts.append((text, found[1] is not None))
        position = found.end()
    fields = [text[0] if text[0] == "S" else text for text, is_field in parts if is_field]
    return parts if fields and fields == list(_ORDER[: len(fields)]) else None


def _format(local: datetime, parts: Sequence[tuple[str, bool]]) -> str:
    known = {
        "yyyy": f"{local.year:04}",
        "MM": f"{local.month:02}",
        "dd": f"{local.day:02}",
        "HH": f"{local.hour:02}",
        "mm": f"{local.minute:02}",
        "ss": f"{local.second:02}",
    }
    fraction = f"{local.microsecond:06}"
    return "".join(
        (known.get(text) or fraction[: len(text)]) if is_field else text for text, is_field in parts
    )


def _leading(parts: Sequence[tuple[str, bool]]) -> str:
    return parts[0][0] if not parts[0][1] else ""


def _parts_of(call: Call, default: str | None = None) -> list[tuple[str, bool]] | None:
    """The parts of a call's pattern; None if it does not sort as time goes."""
    pattern = default
    if call.after and call.after[0].type == types.STRING:
        pattern = call.after[0].value
    is_plain = not call.before and len(call.after) <= 1
    return _pattern_parts(pattern) if pattern and is_plain else None


def _refuse_unsorted(call: Call) -> NoStep:
    return NoStep(f"{call} with this pattern gives texts that do not sort as time goes")


def _date_format(call: Call, source: SqlType, zone: SessionZone) -> Step | NoStep:
    parts = _parts_of(call)
    if parts is None:
        return _refuse_unsorted(call)
    if source == types.DATE and not zone.is_fixed:
        return NoStep(f"some days of {zone.name} do not begin at midnight")
    if source not in (types.DATE, types.TIMESTAMP):
        return undecided(call, source)
    # Years of era: those before the first print like those after it.
    return in_zone(
        source,
        zone,
        lambda own: rising(
            source,
            types.STRING,
            lambda value: _format(local_of(value, own), parts),
            below=Domain.not_null(),
            above=texts_above(_leading(parts)),
        ),
    )


def _from_unixtime(call: Call, source: SqlType, zone: SessionZone) -> Step | NoStep:
    parts = _parts_of(call, "yyyy-MM-dd HH:mm:ss")
    if parts is None:
        return _refuse_unsorted(call)
    line = line_of(source)
    if not source.is_integral or line is None:
        return undecided(call, source)
    seconds = line_of(types.TIMESTAMP)
    if seconds is None:
        raise TypeError("timestamps have positions")
    second = timedelta(seconds=1)
    own = zone if zone.is_fixed else _UTC
    # Seconds beyond what microseconds can count wrap around: anything may come out.
    step = Monotone(
        types.STRING,
        line,
        lambda value: _format(local_of(EPOCH + value * second, own), parts),
        max(line.lowest, -((EPOCH - seconds.value_at(seconds.lowest)) // second)),
        min(line.highest, (seconds.value_at(seconds.highest) - EPOCH) // second),
        below=Domain.not_null(),
        above=Domain.not_null(),
    )
    return step if zone.is_fixed else Shifted(step, int(_MOST.total_seconds()))


def _year(call: Call, source: SqlType, zone: SessionZone) -> Step | NoStep:
    if source not in TIME_TYPES or call.before or call.after:
        return undecided(call, source)
    return in_zone(
        source, zone, lambda own: rising(source, types.INT, lambda value: local_of(value, own).year)
    )


_YEARS, _MONTHS = ("YEAR", "YYYY", "YY"), ("MONTH", "MON", "MM")
_CLOCK_UNITS = {
    "HOUR": timedelta(hours=1),
    "MINUTE": timedelta(minutes=1),
    "SECOND": timedelta(seconds=1),
    "MILLISECOND": timedelta(milliseconds=1),
    "MICROSECOND": _MICRO,
}


def _day_cut(unit: str) -> Callable[[date], date] | None:
    """The first day of a date's year, quarter, month or week."""
    if unit in _YEARS:
        return lambda day: date(day.year, 1, 1)
    if unit == "QUARTER":
        return lambda day: date(day.year, (day.month - 1) // 3 * 3 + 1, 1)
    if unit in _MONTHS:
        return lambda day: date(day.year, day.month, 1)
    return (lambda day: day - timedelta(days=day.weekday())) if unit == "WEEK" else None


def _time_cut(unit: str) -> Callable[[datetime], datetime] | None:
    if unit in ("DAY", "DD"):
        return lambda local: datetime.combine(local.date(), time())
    if unit in _CLOCK_UNITS:
        size = _CLOCK_UNITS[unit]
        return lambda local: local - (local - datetime.combine(local.date(), time())) % size
    cut = _day_cut(unit)
    return (lambda local: datetime.combine(cut(local.date()), time())) if cut else None


def _date_trunc(call: Call, source: SqlType, zone: SessionZone) -> Step | NoStep:
    is_unit = len(call.before) == 1 and call.before[0].type == types.STRING and not call.after
    cut = _time_cut(call.before[0].value.upper()) if is_unit else None
    if cut is None or source != types.TIMESTAMP:
        return undecided(call, source) if cut else NoStep(f"{call} with this unit is null")

    def made(own: SessionZone) -> Step:
        def apply(value: datetime) -> datetime:
            local = local_of(value, own)
            return value - (local - cut(local))

        return rising(source, source, apply)

    return in_zone(source, zone, made, gives_instants=True)


def _trunc(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
    is_unit = len(call.after) == 1 and call.after[0].type == types.STRING and not call.before
    cut = _day_cut(call.after[0].value.upper()) if is_unit else None
    if cut is None or source != types.DATE:
        return undecided(call, source) if cut else NoStep(f"{call} with this unit is null")
    line = line_of(source)
    if line is None:
        raise TypeError("dates have positions")
    # The first week of the calendar begins before it.
    low = line.lowest + 7
    return Monotone(
        source,
        line,
        cut,
        low,
        line.highest,
        below=Domain.of([Range.at_most(line.value_at(low))]),
        above=Domain.of([Range.at_least(cut(line.value_at(line.highest)))]),
    )


def _days_added(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
    is_days = len(call.after) == 1 and call.after[0].type.is_integral and not call.before
    line = line_of(types.DATE)
    if not is_days or source != types.DATE or line is None or call.after[0].type == types.LONG:
        return undecided(call, source)
    days: int = call.after[0].value * (-1 if call.name == "DATE_SUB" else 1)
    low, high = max(line.lowest, line.lowest - days), min(line.highest, line.highest - days)
    if low > high:
        return NoStep(f"{call} leads beyond the calendar")
    # Days wrap around where 32 bits end.
    step = timedelta(days=days)
    any_day = Domain.not_null()
    return Monotone(source, line, lambda value: value + step, low, high, below=any_day, above=any_day)


def from_epoch(source: SqlType, unit: timedelta) -> Monotone | NoStep:
    """The timestamp so many units after 1970."""
    line, times = line_of(source), line_of(types.TIMESTAMP)
    if not source.is_integral or line is None or times is None:
        return NoStep(f"a number of type {source} is no count of units since 1970")
    first, last = (times.value_at(position) for position in (times.lowest, times.highest))
    low = max(line.lowest, -((EPOCH - first) // unit))
    high = min(line.highest, (last - EPOCH) // unit)
    # Beyond, Spark goes on to rise, or refuses.
    return Monotone(
        types.TIMESTAMP,
        line,
        lambda value: EPOCH + value * unit,
        low,
        high,
        below=Domain.of([Range.at_most(EPOCH + low * unit)]),
        above=Domain.of([Range.at_least(EPOCH + high * unit)]),
    )


def _to_epoch(unit: timedelta) -> Maker:
    def make(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
        if source != types.TIMESTAMP or call.before or call.after:
            return undecided(call, source)
        return rising(source, types.LONG, lambda value: (value - EPOCH) // unit)

    return make


def _to_whole_seconds(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
    if source != types.TIMESTAMP or call.before or call.after:
        return undecided(call, source)
    # Unlike UNIX_SECONDS it cuts towards 1970.
    second = timedelta(seconds=1)

    def apply(value: datetime) -> int:
        since = value - EPOCH
        return since // second if since >= timedelta() else -(-since // second)

    return rising(source, types.LONG, apply)


def _of_epoch(unit: timedelta) -> Maker:
    def make(call: Call, source: SqlType, _: SessionZone) -> Step | NoStep:
        return undecided(call, source) if call.before or call.after else from_epoch(source, unit)

    return make


TIME_FUNCTIONS: dict[str, Maker] = {
    "DATE_FORMAT": _date_format,
    "FROM_UNIXTIME": _from_unixtime,
    "YEAR": _year,
    "DATE_TRUNC": _date_trunc,
    "TRUNC": _trunc,
    "DATE_ADD": _days_added,
    "DATE_SUB": _days_added,
    "UNIX_TIMESTAMP": _to_whole_seconds,
    "TO_UNIX_TIMESTAMP": _to_whole_seconds,
    "UNIX_SECONDS": _to_epoch(timedelta(seconds=1)),
    "UNIX_MILLIS": _to_epoch(timedelta(milliseconds=1)),
    "UNIX_MICROS": _to_epoch(_MICRO),
    "TIMESTAMP_SECONDS": _of_epoch(timedelta(seconds=1)),
    "TIMESTAMP_MILLIS": _of_epoch(timedelta(milliseconds=1)),
    "TIMESTAMP_MICROS": _of_epoch(_MICRO),
}
