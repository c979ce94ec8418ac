"""Full dates in a text, and whether two memories speak of different occasions. Pure.

A date here has a day and a month. It is read before anything else is, so that its parts are never taken for numbers of
the statement, and kept as year, month and day, so that 6 May and 5 June differ although they share all their digits.
"""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta, timezone
from typing import TYPE_CHECKING

import msgspec

from memoray.entries import Precision

if TYPE_CHECKING:
    from collections.abc import Collection

DATE_MARK = "\ue000"
"""Stands in a text where a date was taken out: no token, and no space that could join what stood apart."""

_MONTHS: tuple[str, ...] = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
_MONTH = (
    "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)(?![a-z])\.?"
)
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+\d{4}(?!\d))?"
# Boundaries are digits, not words: in Chinese a date stands between characters without a space.
_DATE = re.compile(
    rf"""
    (?<![\d.\-/])(?:
        (?P<iso>\d{{4}}[-/.]\d{{1,2}}[-/.]\d{{1,2}})(?![\d\-/])
      | (?P<slashed>\d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d{{2}}))(?![\d\-/])
      | (?P<day_first>{_DAY}\s+(?:of\s+)?{_MONTH}{_YEAR})
      | (?P<han>(?:\d{{4}}年)?\d{{1,2}}月\d{{1,2}}[日号號])
    )
  | (?<![a-z])(?P<month_first>{_MONTH}\s+{_DAY}(?![\d:a-z%]){_YEAR})
    """,
    re.VERBOSE | re.IGNORECASE,
)


class Date(msgspec.Struct, frozen=True, order=True):
    """A day. `year` 0: not said. `month` 0: `day` is first * 100 + second, of which neither is surely the month."""

    year: int
    month: int
    day: int

    def agrees(self, other: Date) -> bool:
        """Whether both may be the same day."""
        is_same_year = self.year == other.year or not (self.year and other.year)
        return is_same_year and (self.month, self.day) == (other.month, other.day)

    @property
    def parts(self) -> tuple[str, ...]:
        """Year, month and day as tokens that cannot be taken for numbers."""
        return (*((f"year {self.year}",) if self.year else ()), f"month {self.month}", f"day {self.day}")


def take_dates(text: str) -> tuple[frozenset[Date], str]:
    """Dates of a normalised text, and the text with `DATE_MARK` in their places."""
    dates: set[Date] = set()

    def take(match: re.Match[str]) -> str:
        date = _read(str(match.lastgroup), match.group())
        if date is None:
            return match.group()
        dates.add(date)
        return DATE_MARK

    rest = _DATE.sub(take, text)
    return frozenset(dates), rest


def _read(form: str, text: str) -> Date | None:
    numbers = [int(number) for number in re.findall(r"\d+", text)]
    year = 0
    match form:
        case "iso":
            year, month, day = numbers
        case "slashed":
            return _read_slashed(*numbers)
        case "han":
            *before, month, day = numbers
            year = before[0] if before else 0
        case _:
            day, *after = numbers
            year = after[0] if after else 0
            name = re.search("[a-z]{3}", re.sub(rf"{_DAY}|\bof\b", " ", text, flags=re.IGNORECASE).lower())
            month = _MONTHS.index(name.group()) + 1 if name else 0
    return Date(year, month, day) if 1 <= month <= len(_MONTHS) and _is_day(day) else None


def _read_slashed(first: int, second: int, year: int) -> Date | None:
    year += 2000 if year < 100 else 0  # noqa: PLR2004 - two digits
    if not (_is_day(first) and _is_day(second)):
        return None
    if first <= len(_MONTHS) and second <= len(_MONTHS):
        return Date(year, 0, first * 100 + second)
    if min(first, second) > len(_MONTHS):
        return None
    return Date(year, min(first, second), max(first, second))


def _is_day(number: int) -> bool:
    return 1 <= number <= 31  # noqa: PLR2004 - the longest month


def local_time(moment: datetime | None, utc_offset_minutes: int) -> datetime | None:
    """An event time in the zone in which it reads as the date that was meant."""
    return None if moment is None else moment.astimezone(timezone(timedelta(minutes=utc_offset_minutes)))


def times_conflict(one: datetime | None, other: datetime | None) -> bool:
    """Whether two event times, each in its own zone, say that two things happened.

    They don't when one is unknown, or when one is only a day (midnight) and the other a moment of that day.
    """
    if one is None or other is None or one == other:
        return False
    return not (_is_day_of(one, other) or _is_day_of(other, one))


def _is_day_of(day: datetime, moment: datetime) -> bool:
    return day.time() == time(0) and moment.astimezone(day.tzinfo).date() == day.date()


def dates_conflict(one: Collection[Date], other: Collection[Date]) -> bool:
    """Whether both name dates, and not the same ones. A date without a year agrees with that day of any year."""
    if not one or not other:
        return False
    return not (
        all(any(date.agrees(known) for known in other) for date in one)
        and all(any(date.agrees(known) for known in one) for date in other)
    )


def date_of(moment: datetime | None, precision: Precision) -> frozenset[Date]:
    """The day of an event time in its own zone, as a text would name it; none where only a longer span is known."""
    if moment is None or precision not in {Precision.INSTANT, Precision.DAY}:
        return frozenset()
    return frozenset({Date(moment.year, moment.month, moment.day)})
