"""Dates and timestamps in texts, and the session time zone that gives them their meaning.

A timestamp is an aware datetime in UTC, one without time zone a naive datetime, both in microseconds.
Only what Spark is known to read in the same way is understood. Further limits keep it exact. In a named zone:
no local time before 1970, where Java's and Python's zone data differ; none that clocks show twice or skip;
none at all where the query goes by zone data of another version than Python's. And no year outside of 1 to
9999.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

__all__ = ["INVALID", "SessionZone", "parse_date", "parse_timestamp", "timestamp_text"]

INVALID = "invalid"
"""What Spark's cast makes null of: the shape is right, the date is not."""

_OFFSET = re.compile(r"(?:UTC|GMT|UT)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)


@dataclass(frozen=True)
class SessionZone:
    """The time zone that a query's local times are in."""

    name: str
    is_known: bool = True
    """Whether the rules that Python has for a named zone are those that the query goes by."""

    @classmethod
    def of(cls, zone: str | SessionZone) -> SessionZone:
        """A zone, perhaps given by its name."""
        return cls(zone) if isinstance(zone, str) else zone

    @property
    def is_fixed(self) -> bool:
        """Whether local time and instant go up together, always by the same."""
        return isinstance(_zone_of(self.name), timezone)

    def instant_of(self, local: datetime) -> datetime | None:
        """The instant at which clocks show a naive local time; None if it can't be told."""
        zone = _zone_of(self.name)
        if zone is None or not (self.is_fixed or (self.is_known and local.year >= 1970)):
            return None
        once, again = (local.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        try:
            is_certain = once.utcoffset() == again.utcoffset()
            return once.astimezone(timezone.utc) if is_certain else None
        except OverflowError:
            return None

    def local_of(self, instant: datetime) -> datetime | None:
        """What clocks show at an instant, where the offset is fixed; else None."""
        zone = _zone_of(self.name)
        if zone is None or not self.is_fixed:
            return None
        try:
            return instant.astimezone(zone).replace(tzinfo=None)
        except OverflowError:
            return None


@lru_cache(maxsize=64)
def _zone_of(name: str) -> tzinfo | None:
    if name.upper() in ("UTC", "GMT", "Z", "UT", "ETC/UTC", "ETC/GMT"):
        return timezone.utc
    if found := _OFFSET.fullmatch(name):
        minutes = int(found[2]) * 60 + int(found[3] or 0)
        if int(found[2]) > 18:
            return None
        return timezone(timedelta(minutes=-minutes if found[1] == "-" else minutes))
    # Java reads three-letter ids in a way of its own.
    if "/" not in name:
        return None
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return None


_DATE = r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})"
_DATE_TEXT = re.compile(_DATE + r"(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIME = r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?"
_TIMESTAMP_TEXT = re.compile(_DATE + rf"(?:[ T]{_TIME}( ?(?:Z|UTC|[+-]\d\d:\d\d))?)?)?)?", re.ASCII)


def parse_date(text: str) -> date | str | None:
    """The date Spark reads from a text; INVALID if it makes null of it; None if it can't be told."""
    found = _DATE_TEXT.fullmatch(text.strip(" "))
    if not found or found[1] == "0000":
        return None
    try:
        return date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
    except ValueError:
        return INVALID


def parse_timestamp(text: str, zone: SessionZone | None) -> datetime | str | None:
    """The timestamp Spark reads from a text, in a zone, or without one if that is None.

    Returns:
        INVALID if Spark makes null of it, None if it can't be told.
    """
    found = _TIMESTAMP_TEXT.fullmatch(text.strip(" "))
    if not found or found[1] == "0000":
        return None
    hour, minute, second = (int(part or 0) for part in found.groups()[3:6])
    micros = int((found[7] or "").ljust(6, "0")[:6])
    try:
        day = date(int(found[1]), int(found[2] or 1), int(found[3] or 1))
        local = datetime.combine(day, time(hour, minute, second, micros))
    except ValueError:
        return INVALID
    own_zone = (found[8] or "").strip()
    if zone is None:
        return None if own_zone else local
    return (SessionZone(own_zone) if own_zone else zone).instant_of(local)


def timestamp_text(local: datetime) -> str:
    """The text Spark's cast makes of a local time."""
    text = f"{local.year:04}" + local.strftime("-%m-%d %H:%M:%S")
    return f"{text}.{local.microsecond:06}".rstrip("0") if local.microsecond else text
