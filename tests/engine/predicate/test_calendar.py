from __future__ import annotations

from datetime import date, datetime, timezone

import pytest

from hudi_index.predicate import (
    CALENDAR_SETTINGS,
    AllOf,
    AnyOf,
    Calendar,
    Constraint,
    Domain,
    Range,
    Term,
    Unknown,
)

LEGACY = Calendar(shifts=True)
OLD_DAY, NEW_DAY = date(1, 1, 1), date(1582, 10, 15)
OLD_TIME, NEW_TIME = datetime(1899, 12, 31, tzinfo=timezone.utc), datetime(1900, 1, 3, tzinfo=timezone.utc)


def asked(domain: Domain, calendar: Calendar = LEGACY) -> Domain:
    found = calendar.widen(Constraint(Term("d"), domain))
    assert isinstance(found, Constraint)
    assert found.domain is not None
    return found.domain


@pytest.mark.parametrize(("old", "new"), [(OLD_DAY, NEW_DAY), (OLD_TIME, NEW_TIME)])
def test_what_admits_an_old_value_is_asked_for_all_of_them(old: date, new: date) -> None:
    assert asked(Domain.points([old])) == Domain.of([Range.below(new)])
    assert asked(Domain.of([Range.at_least(old)], has_null=True)) == Domain.all()
    assert asked(Domain.points([new])) == Domain.points([new])
    assert asked(Domain.of([Range.at_least(new)])) == Domain.of([Range.at_least(new)])
    assert asked(Domain.of([Range.below(new)])) == Domain.of([Range.below(new)])


def test_what_is_no_date_stays_as_it_is() -> None:
    for domain in (Domain.points(["0001-01-01"]), Domain.points([1]), Domain.null(), Domain.not_null()):
        assert asked(domain) == domain


def test_trees_are_widened_throughout_and_the_plain_calendar_changes_none() -> None:
    old, unknown = Constraint(Term("d"), Domain.points([OLD_DAY])), Unknown("x", "nobody knows")
    wide = Constraint(Term("d"), Domain.of([Range.below(NEW_DAY)]))
    tree = AnyOf((AllOf((old, unknown)), old))
    assert LEGACY.widen(tree) == AnyOf((AllOf((wide, unknown)), wide))
    assert Calendar().widen(tree) is tree


def test_converted_timestamps_may_be_any_and_dates_are_not_converted() -> None:
    converts = Calendar(converts=True)
    assert asked(Domain.points([NEW_TIME]), converts) == Domain.not_null()
    assert asked(Domain.points([OLD_DAY]), converts) == Domain.points([OLD_DAY])


@pytest.mark.parametrize("name", CALENDAR_SETTINGS)
def test_a_session_is_another_by_any_of_its_settings(name: str) -> None:
    defaults = dict.fromkeys(CALENDAR_SETTINGS[:-1], "EXCEPTION") | {CALENDAR_SETTINGS[-1]: "false"}
    assert Calendar.of_session(defaults) == Calendar()
    value = "legacy" if name != CALENDAR_SETTINGS[-1] else "true"
    assert Calendar.of_session(defaults | {name: value}).is_other
    assert Calendar.of_session(defaults, {"datetimeRebaseMode": "LEGACY"}) == LEGACY
