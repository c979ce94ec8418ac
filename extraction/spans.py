"""Calendar arithmetic: from a moment to the day, week, month or year that words count from it. Pure.

`dateutil.relativedelta` does the months and years. Every moment here is aware and in the zone of the speaker; only that
zone's offset is known, so that a day is 24 hours also when the clocks change. Weeks begin on Monday.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import NamedTuple

from dateutil.relativedelta import relativedelta

from memoray.entries import Precision

# Not strftime's: those follow the locale of the process.
MONTHS = "January February March April May June July August September October November December".split()
DAYS_OF_WEEK = 7
SATURDAY = 5


class Span(NamedTuple):
    """A stretch of time.

    Attributes:
        start: when it begins, in the zone of the speaker.
        precision: how long it is.
        name: what to call it where that is not the date of its start, such as "summer 2022".
    """

    start: datetime
    precision: Precision
    name: str = ""


def midnight(now: datetime) -> datetime:
    """Start of the day."""
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def week_of(now: datetime) -> datetime:
    """Start of the week."""
    return midnight(now) - timedelta(days=now.weekday())


def day(now: datetime, offset: int = 0) -> Span:
    """The day that is `offset` days away."""
    return Span(midnight(now) + timedelta(days=offset), Precision.DAY)


def shown_day(moment: datetime) -> str:
    """A day as people write it."""
    return f"{moment.day} {shown_month(moment)}"


def shown_month(moment: datetime) -> str:
    """A month as people write it."""
    return f"{MONTHS[moment.month - 1]} {moment.year}"


def shifted(count: int, unit: str, now: datetime) -> Span:
    """The unit that is `count` of them away: a month ago is the month before, not the same day of it.

    Args:
        count: below zero for the past.
        unit: minute, hour, day, week, month or year.
        now: to count from.
    """
    match unit:
        case "minute":
            return day(now + timedelta(minutes=count))
        case "hour":
            return day(now + timedelta(hours=count))
        case "day":
            return day(now, count)
        case "week":
            return Span(week_of(now) + timedelta(weeks=count), Precision.WEEK)
        case "month":
            return Span(midnight(now).replace(day=1) + relativedelta(months=count), Precision.MONTH)
        case _:
            return Span(midnight(now).replace(month=1, day=1) + relativedelta(years=count), Precision.YEAR)


def weekend(now: datetime, weeks: int) -> Span:
    """A weekend, counted in weeks from the one of this week. It stands for its Saturday."""
    saturday = week_of(now) + timedelta(days=SATURDAY, weeks=weeks)
    return Span(saturday, Precision.DAY, f"weekend of {shown_day(saturday)}")


def weekday_before(now: datetime, weekday: int) -> Span:
    """The nearest such day before today."""
    return day(now, -((now.weekday() - weekday - 1) % DAYS_OF_WEEK + 1))


def weekday_after(now: datetime, weekday: int) -> Span:
    """The nearest such day after today."""
    return day(now, (weekday - now.weekday() - 1) % DAYS_OF_WEEK + 1)


def weekday_of_week(now: datetime, weekday: int, weeks: int) -> Span:
    """That day of the week that is `weeks` away."""
    return day(week_of(now), weeks * DAYS_OF_WEEK + weekday)


def date(now: datetime, year: int, month: int, day_of_month: int) -> Span:
    """A date.

    Raises:
        ValueError: there is no such day.
    """
    return Span(midnight(now).replace(year=year, month=month, day=day_of_month), Precision.DAY)


def date_near(now: datetime, month: int, day_of_month: int, *, side: int) -> Span:
    """A date without a year.

    Args:
        now: to count from.
        month: from 1.
        day_of_month: from 1.
        side: below zero for the last such day until today, above for the next from today, 0 for the nearest.

    Raises:
        ValueError: there is no such day in the years around now.
    """
    found: list[datetime] = []
    for year in (now.year - 1, now.year, now.year + 1):
        try:
            found.append(date(now, year, month, day_of_month).start)
        except ValueError:
            continue  # 29 February
    on_side = [moment for moment in found if (moment - midnight(now)) * side >= timedelta(0)]
    return Span(min(on_side, key=lambda moment: abs(moment - now)), Precision.DAY)


def month_of(now: datetime, year: int, month: int) -> Span:
    """A month of a year."""
    return Span(midnight(now).replace(year=year, month=month, day=1), Precision.MONTH)


def year_of(now: datetime, year: int) -> Span:
    """A year."""
    return Span(midnight(now).replace(year=year, month=1, day=1), Precision.YEAR)
