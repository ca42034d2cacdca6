"""Where clocks change: instants around it, and predicates over them."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.parity.corners.comparing import Predicate

CHANGES: dict[str, list[tuple[int, ...]]] = {
    "America/New_York": [(2024, 11, 3, 6), (2024, 3, 10, 7)],
    "Europe/Berlin": [(2024, 10, 27, 1), (2024, 3, 31, 1)],
    # By half an hour.
    "Australia/Lord_Howe": [(2024, 4, 6, 15), (2024, 10, 5, 15, 30)],
    # For ever, in zone data of 2024 and later.
    "Asia/Almaty": [(2024, 2, 29, 18)],
    # Around Ramadan, other days each year.
    "Africa/Casablanca": [(2024, 3, 10, 2), (2024, 4, 14, 2)],
    # No longer since 2019.
    "America/Sao_Paulo": [(2018, 2, 18, 2), (2018, 11, 4, 3)],
    # By a quarter of an hour.
    "Asia/Kathmandu": [(1985, 12, 31, 18, 30)],
    # A whole day left out.
    "Pacific/Apia": [(2011, 12, 30, 10)],
    "+05:30": [],
    "UTC": [],
}
ZONES = tuple(CHANGES)
OPERATORS = ("=", "<", "<=", ">", ">=", "<=>", "!=")
STEPS = (-90, -60, -30, -15, 0, 15, 30, 60, 90)
"""Minutes from the change at which there are rows."""


def _utc(parts: tuple[int, ...]) -> datetime:
    year, month, day, hour, minute = (*parts, 0)[:5]
    return datetime(year, month, day, hour, minute, tzinfo=timezone.utc)


def instants() -> list[datetime]:
    """Instants around every change."""
    changes = sorted(_utc(parts) for each in CHANGES.values() for parts in each)
    return [change + timedelta(minutes=step) for change in changes for step in STEPS]


def rows() -> list[dict[str, Any]]:
    """One row per instant, the instant as every type that holds one; the last ones hold nothing."""
    found: list[dict[str, Any]] = [
        {
            "at": at if place % 7 else at.replace(microsecond=1),
            "d": at.date(),
            "wall": at.replace(tzinfo=None),
            "s": f"{at:%Y-%m-%d %H:%M:%S}" + ("Z" if place % 5 == 0 else ""),
            "n": int(at.timestamp()),
        }
        for place, at in enumerate(instants())
    ]
    return [*found, {}, {}, {}]


SCHEMA = "at timestamp, d date, wall timestamp_ntz, s string, n bigint"
EXPRESSIONS = (
    "date(at)",
    "date_format(at, 'yyyy-MM-dd HH')",
    "CAST(s AS TIMESTAMP)",
)


class Moments:
    """Predicates near the changes of a zone, and of all others."""

    def __init__(self, zone: str, chance: random.Random) -> None:
        self._zone, self._chance = zone, chance
        self._all = instants()
        own = [_utc(parts) for parts in CHANGES[zone]]
        self._own = [change + timedelta(minutes=step) for change in own for step in STEPS] or self._all

    def instant(self) -> datetime:
        """Mostly one that a row holds."""
        chosen = self._chance.choice(self._own if self._chance.random() < 0.7 else self._all)
        return chosen + timedelta(minutes=self._chance.choice((0, 0, 0, 7)))

    def literal(self) -> str:
        """An instant in one of the ways in which SQL says it."""
        at, kind = self.instant(), self._chance.randrange(5)
        if kind < 2:
            return f"timestamp'{at:%Y-%m-%d %H:%M:%S}Z'"
        # A local time that may be there twice, or not at all.
        local = at + timedelta(hours=self._chance.choice((-5, -4, -3, -2, 0, 1, 2, 5, 6, 10.5, 11)))
        return (
            f"timestamp'{local:%Y-%m-%d %H:%M:%S}'",
            f"'{local:%Y-%m-%d %H:%M:%S}'",
            f"date'{local:%Y-%m-%d}'",
        )[kind - 2]

    def predicate(self) -> Predicate:
        """Any of the forms below."""
        operator = self._chance.choice(OPERATORS)
        forms = (self._plain, self._plain, self._by_function, self._converted, self._of_the_api)
        return self._chance.choice(forms)(operator)

    def _plain(self, operator: str) -> str:
        low, high = sorted((self.instant(), self.instant()))
        return self._chance.choice(
            (
                f"at {operator} {self.literal()}",
                f"at = {self.literal()}",
                f"at IN ({self.literal()}, {self.literal()}, {self.literal()})",
                f"at BETWEEN {self.literal()} AND {self.literal()}",
                f"at >= timestamp'{low:%Y-%m-%d %H:%M:%S}Z' AND at < timestamp'{high:%Y-%m-%d %H:%M:%S}Z'",
                f"NOT (at < {self.literal()}) AND at <= timestamp'{high:%Y-%m-%d %H:%M:%S}Z'",
                f"d {operator} {self.literal()}",
                f"wall {operator} timestamp_ntz'{low:%Y-%m-%d %H:%M:%S}'",
            )
        )

    def _by_function(self, operator: str) -> str:
        at = self.instant()
        local = at + timedelta(hours=self._chance.choice((-5, -4, -3, -2, 0, 1, 2, 5, 6, 10.5, 11)))
        return self._chance.choice(
            (
                f"date(at) {operator} date'{local:%Y-%m-%d}'",
                f"date(at) = date'{local:%Y-%m-%d}' AND hour(at) = {local.hour}",
                f"hour(at) {operator} {local.hour}",
                f"date_trunc('HOUR', at) = {self.literal()}",
                f"date_trunc('DAY', at) {operator} {self.literal()}",
                f"date_format(at, 'yyyy-MM-dd HH') = '{local:%Y-%m-%d %H}'",
                f"CAST(at AS STRING) {operator} '{local:%Y-%m-%d %H:%M:%S}'",
                f"CAST(at AS DATE) = CAST({self.literal()} AS DATE)",
                f"from_unixtime(n) = '{local:%Y-%m-%d %H:%M:%S}'",
                f"year(at) = {local.year} AND month(at) = {local.month} AND day(at) >= {local.day}",
                f"to_date(at) IN (date'{local:%Y-%m-%d}', date'{at:%Y-%m-%d}')",
            )
        )

    def _converted(self, operator: str) -> str:
        at, zone = self.instant(), self._chance.choice(ZONES)
        return self._chance.choice(
            (
                f"CAST(s AS TIMESTAMP) {operator} {self.literal()}",
                f"CAST(wall AS TIMESTAMP) = {self.literal()}",
                f"CAST(at AS TIMESTAMP_NTZ) = timestamp_ntz'{at:%Y-%m-%d %H:%M:%S}'",
                f"wall = CAST({self.literal()} AS TIMESTAMP_NTZ)",
                f"wall {operator} {self.literal()}",
                f"CAST(d AS TIMESTAMP) {operator} {self.literal()}",
                f"from_utc_timestamp(at, '{zone}') = {self.literal()}",
                f"at = to_utc_timestamp({self.literal()}, '{zone}')",
                f"at + INTERVAL 1 HOUR {operator} {self.literal()}",
                f"at - INTERVAL 1 DAY = {self.literal()}",
                f"unix_timestamp(at) {operator} {int(at.timestamp())}",
                f"CAST(at AS BIGINT) = {int(at.timestamp())}",
                f"at = CAST({int(at.timestamp())} AS TIMESTAMP)",
                f"at = make_timestamp({at.year}, {at.month}, {at.day}, {at.hour}, {at.minute}, 0)",
                f"at = to_timestamp('{at:%Y-%m-%d %H.%M}', 'yyyy-MM-dd HH.mm')",
            )
        )

    def _of_the_api(self, operator: str) -> Predicate:
        column, at = functions.col("at"), self.instant()
        # Without a zone Python means the machine's local time, for both sides alike.
        literals = [functions.lit(at), functions.lit(at.replace(tzinfo=None)), functions.lit(at.date())]
        literal = self._chance.choice(literals)
        return self._chance.choice(
            (column == literal, column >= literal, column < literal, column.eqNullSafe(literal),
             column.isin(at, self.instant()), column.between(at, self.instant()))
        )  # fmt: skip

    def predicates(self, count: int) -> Iterator[Predicate]:
        """So many."""
        return (self.predicate() for _ in range(count))
