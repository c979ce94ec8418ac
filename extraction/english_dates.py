"""English date expressions: a table of patterns, each with the rule that resolves it. Pure.

Patterns match ASCII only, so that no folding of letters makes them match what the rules cannot read. Every repetition
is bounded. "may" and "march" count as months only with a capital.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from memoray.entries import Precision
from memoray.extraction import spans

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoray.extraction.spans import Span

Rule = tuple[re.Pattern[str], "Callable[[re.Match[str], datetime], Span]"]

_MONTHS: tuple[str, ...] = tuple("jan feb mar apr may jun jul aug sep oct nov dec".split())
_WEEKDAYS: tuple[str, ...] = tuple("mon tue wed thu fri sat sun".split())
_COUNTS = {
    word: number
    for number, words in enumerate(
        "|a an one|two couple|three|four|five|six|seven|eight|nine|ten|eleven|twelve|||fifteen|||||twenty".split("|")
    )
    for word in words.split()
}
_SHIFT = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1, "following": 1}

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|(?-i:Mar(?:ch)?|MARCH)|apr(?:il)?|(?-i:May|MAY)|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)(?![a-z])(?:\.(?=,? \d))?"
)
_WEEKDAY = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_DAY = r"(?<![\d.:/$-])(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:(?: to |\s?[-\u2013]\s?)\d{1,2}(?:st|nd|rd|th)?)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_DAY_AND_MONTH = rf"(?:the )?{_DAY}(?: of)? {_MONTH}"
_MONTH_AND_DAY = rf"{_MONTH} (?:the )?{_DAY}"
_COUNT = (
    r"(?P<count>\d{1,3}|an?|one|(?:a )?couple(?: of)?|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|fifteen|twenty)"
)
_UNIT = r"(?P<unit>fortnight|day|week|month|year)s?"
_WHICH = r"(?P<which>last|past|previous|this|next|coming|following)"
_PART = r"(?: (?:early |late )?(?:morning|afternoon|evening|night)\b(?!s))?"

_TO_COME = re.compile(
    r"\b(?:will|won't|shall|going to|gonna|plan(?:s|ned|ning)? (?:to|on|for)|(?:want|need|hope|have|has|intend)s? to"
    r"|hoping to|must|should|might|maybe|perhaps|due|let's|upcoming|scheduled|(?:start|leave|expire|open|end|begin"
    r"|arrive)s"
    r"|(?:am|is|are|'m|'re) (?:\w{1,20} )?\w{2,20}ing|have an? (?:\w{1,20} )?"
    r"(?:meeting|appointment|flight|interview|exam|call|test|trip|date))\b|'ll\b",
    re.IGNORECASE,
)


_PAST = re.compile(
    r"\b(?:was|were|had|did|went|got|came|took|made|saw|met|bought|sold|left|began|became|ran|gave|found|lost|won|ate"
    r"|(?!indeed)\w{3,20}ed)\b",
    re.IGNORECASE,
)


_IS = re.compile(r"(?:\b(?:is|are)|'s|'re) $", re.IGNORECASE)
# What was to come when it was past: "it was due on the 1st".
_WAS_TO_COME = re.compile(
    r"\b(?:was|were|had been) (?:\w{1,20} )?(?:due|going to|scheduled|supposed to|hoping to|planning (?:to|on|for))\b",
    re.IGNORECASE,
)


def is_to_come(sentence: str) -> bool:
    """Whether a sentence speaks of what is to come, by its verbs."""
    return bool(_TO_COME.search(_WAS_TO_COME.sub("was", sentence.replace("\u2019", "'"))))


def _side(sentence: str) -> int:
    if is_to_come(sentence):
        return 1
    return -1 if _PAST.search(sentence) else 0


def _days(offset: int) -> Callable[[re.Match[str], datetime], Span]:
    return lambda _match, now: spans.day(now, offset)


def _shift(match: re.Match[str]) -> int:
    return _SHIFT[match["which"].lower()]


def _count_of(match: re.Match[str]) -> int:
    word = match["count"].lower().removeprefix("a ").removesuffix(" of")
    return int(word) if word.isdigit() else _COUNTS[word]


def _month_number(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _weekday_number(match: re.Match[str]) -> int:
    return _WEEKDAYS.index(match["weekday"][:3].lower())


def _ago(match: re.Match[str], now: datetime) -> Span:
    return _counted(-1, match, now)


def _half_ago(match: re.Match[str], now: datetime) -> Span:
    return spans.shifted(-6, "month", now) if match["unit"].lower() == "year" else spans.shifted(-30, "minute", now)


def _ahead(match: re.Match[str], now: datetime) -> Span:
    return _counted(1, match, now)


def _counted(sign: int, match: re.Match[str], now: datetime) -> Span:
    count, unit = _count_of(match), match["unit"].lower()
    return (
        spans.shifted(sign * 2 * count, "week", now) if unit == "fortnight" else spans.shifted(sign * count, unit, now)
    )


def _ahead_or_how_long(match: re.Match[str], now: datetime) -> Span:
    if is_to_come(match.string) or _IS.search(match.string[: match.start()]):
        return _ahead(match, now)
    message = "how long it took: done in two weeks"
    raise ValueError(message)


def _unit(match: re.Match[str], now: datetime) -> Span:
    return spans.shifted(_shift(match), match["unit"].lower(), now)


def _beyond(match: re.Match[str], now: datetime) -> Span:
    return spans.shifted(-2 if match["side"].lower() == "before last" else 2, match["unit"].lower(), now)


def _weekend(match: re.Match[str], now: datetime) -> Span:
    is_coming_one_now = match["which"].lower() == "coming" and now.weekday() < spans.SATURDAY
    return spans.weekend(now, 0 if is_coming_one_now else _shift(match))


def _weekday(match: re.Match[str], now: datetime) -> Span:
    shift = _shift(match)
    if shift == 0:
        return spans.weekday_of_week(now, _weekday_number(match), 0)
    return (spans.weekday_after if shift > 0 else spans.weekday_before)(now, _weekday_number(match))


def _weekday_by_tense(match: re.Match[str], now: datetime) -> Span:
    beside = spans.weekday_after if is_to_come(match.string) else spans.weekday_before
    return beside(now, _weekday_number(match))


def _weekday_of_week(match: re.Match[str], now: datetime) -> Span:
    return spans.weekday_of_week(now, _weekday_number(match), _shift(match))


def _weekdays_ago(match: re.Match[str], now: datetime) -> Span:
    nearest = spans.weekday_before(now, _weekday_number(match)).start
    return spans.day(nearest, -spans.DAYS_OF_WEEK * (_count_of(match) - 1))


def _date(match: re.Match[str], now: datetime) -> Span:
    month, day = _month_number(match["month"]), int(match["day"])
    if match["year"]:
        return spans.date(now, int(match["year"]), month, day)
    return spans.date_near(now, month, day, side=_side(match.string))


def _beside_date(match: re.Match[str], now: datetime) -> Span:
    """Counted from another date: "the week before 9 June"."""
    anchor = _date(match, now).start
    sign = -1 if match["side"].lower() == "before" else 1
    what = match["what"].lower()
    if what in {"day", "week", "month", "year"}:
        return spans.shifted(sign, what, anchor)
    if what == "weekend":
        # Of a Wednesday's week, the weekend before is last week's, and the one after is its own.
        return spans.weekend(anchor, -1 if sign < 0 else int(anchor.weekday() >= spans.SATURDAY))
    beside = spans.weekday_before if sign < 0 else spans.weekday_after
    return beside(anchor, _WEEKDAYS.index(what[:3]))


def _day_of_month(match: re.Match[str], now: datetime) -> Span:
    """The nearest such day on the side that the verbs say: "on the 15th"."""
    day = int(match["day"])
    step = 1 if is_to_come(match.string) else -1
    for months in range(3):
        month = spans.shifted(step * months, "month", now).start
        try:
            made = month.replace(day=day)
        except ValueError:
            continue  # no 31st in this month
        if (made - spans.midnight(now)) * step >= timedelta(0):
            return spans.day(made)
    message = f"no month near {spans.shown_month(now)} has a day {day} on that side"
    raise ValueError(message)


def _iso(match: re.Match[str], now: datetime) -> Span:
    return spans.date(now, int(match["year"]), int(match["month"]), int(match["day"]))


def _iso_moment(match: re.Match[str], now: datetime) -> Span:
    zone = now.tzinfo
    if match["zone"]:
        sign = -1 if match["zone"][0] == "-" else 1
        digits = re.sub(r"\D", "", match["zone"]).ljust(4, "0")
        zone = timezone(sign * timedelta(hours=int(digits[:2]), minutes=int(digits[2:4])))
    made = _iso(match, now).start.replace(hour=int(match["hour"]), minute=int(match["minute"]), tzinfo=zone)
    return spans.Span(made.astimezone(now.tzinfo), Precision.INSTANT)


def _slashed(match: re.Match[str], now: datetime) -> Span:
    first, second, year = int(match["first"]), int(match["second"]), int(match["year"])
    if first != second and max(first, second) <= len(_MONTHS):
        message = "day first or month first: no telling"
        raise ValueError(message)
    return spans.date(now, year, min(first, second), max(first, second))


def _month(match: re.Match[str], now: datetime) -> Span:
    number = _month_number(match["month"])
    if match["year"]:
        return spans.month_of(now, int(match["year"]), number)
    which = (match["which"] or "").lower()
    if which == "this":
        return spans.month_of(now, now.year, number)
    if which == "next" or (which not in {"last", "since"} and is_to_come(match.string)):
        is_later = number > now.month or (number == now.month and which != "next")
        return spans.month_of(now, now.year + (not is_later), number)
    # The last one that has begun; said in March, "last March" is another.
    is_earlier = number < now.month or (number == now.month and which != "last")
    return spans.month_of(now, now.year - (not is_earlier), number)


def _season(match: re.Match[str], now: datetime) -> Span:
    """A season has no precision of its own: the year in which it begins. Of the northern half of the world."""
    season = match["season"].lower()
    if "which" not in match.groupdict():
        return _named_season(season, int(match["year"]), now)
    first = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}[season]
    is_winter_still = season == "winter" and now.month <= 2  # noqa: PLR2004 - it began in December
    year = now.year - is_winter_still
    has_begun = now.month >= first or is_winter_still
    is_over = now.month >= first + 3
    shift = _shift(match)
    if shift < 0:
        return _named_season(season, year - (not is_over), now)
    return _named_season(season, year + (shift > 0 and has_begun), now)


def _named_season(season: str, year: int, now: datetime) -> Span:
    shown = f"{season} {year}/{(year + 1) % 100:02}" if season == "winter" else f"{season} {year}"
    return spans.year_of(now, year)._replace(name=shown)


def _year(match: re.Match[str], now: datetime) -> Span:
    return spans.year_of(now, int(match["year"]))


_SEASON = r"(?P<season>spring|summer|autumn|fall|winter)"
_BESIDE = r"the (?P<what>day|week|weekend|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day) (?P<side>before|after)"
_IN = r"(?P<which>last|next|this|in|since|during|back in)"
_ISO_CLOCK = r"(?P<hour>\d\d):(?P<minute>\d\d)(?::\d\d(?:\.\d{1,9})?)?(?P<zone>Z|[+-]\d\d:?\d\d)?"
_SINCE_WHEN = r"(?:\b(?:have|has)|'ve)\b(?! to\b)[^.;]{1,60}?\b(?P<core>for) (?:the (?:last|past) )?"
# What takes days or weeks is more often planned, "I have booked it for two weeks", than going on since then.
_SINCE_LATELY = (
    r"(?:\b(?:have|has)|'ve|'s) (?:\w{1,20} )?(?:been|had|felt|known|lived|worked)\b[^.;]{0,60}?\b(?P<core>for)"
    r" (?:the (?:last|past) )?"
)
_NO_HABIT = r"(?!s| (?:morning|afternoon|evening|night)s)"
# "On Friday, 20 March": the date says more than the weekday.
_ANY_DATE = re.sub(r"\?P<\w+>", "?:", rf"{_DAY_AND_MONTH}|{_MONTH_AND_DAY}")
_OTHER_WEEK = rf"(?! (?:of )?(?:last|this|next) week)(?!,? (?:{_ANY_DATE}))"
_VAGUE = r"(?:(?:early|mid|late|the (?:end|start|beginning|middle) of)[ -])?"
_NOT_COUNTED = (
    r"(?![-/.:]?\d)(?! (?:files|lines|places|cases|words|users|people|ways|steps|rows|tests|seconds|minutes|hours"
    r"|days|degrees|met(?:er|re)s|km|copies|pieces|dollars|euros)\b)"
)

RULES: tuple[Rule, ...] = tuple(
    (re.compile(pattern, re.IGNORECASE | re.ASCII), resolve)
    for pattern, resolve in [
        (rf"\bthe day before yesterday\b{_PART}", _days(-2)),
        (rf"\bthe day after tomorrow\b{_PART}", _days(2)),
        (rf"\byesterday{_PART}|\blast night\b", _days(-1)),
        (rf"\btomorrow{_PART}", _days(1)),
        (r"\b(?:(?:earlier|later) )?today\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b", _days(0)),
        (rf"(?<!\bhalf )\b{_COUNT} (?P<unit>minute|hour|day|week|fortnight|month|year)s? ago\b", _ago),
        (r"\bhalf an? (?P<unit>hour|year) ago\b", _half_ago),
        (rf"\b{_COUNT} {_WEEKDAY}s ago\b", _weekdays_ago),
        (rf"\bin {_COUNT} {_UNIT}\b'?(?: time)?(?! (?:of|old)\b)", _ahead_or_how_long),
        (rf"\b{_COUNT} {_UNIT} from (?:now|today)\b", _ahead),
        (rf"{_SINCE_WHEN}{_COUNT} (?P<unit>month|year)s?\b(?! (?:of|old)\b)", _ago),
        (rf"{_SINCE_LATELY}{_COUNT} (?P<unit>day|week)s?\b(?! (?:of|old)\b)", _ago),
        (rf"\b(?:this )?{_WHICH} weekend\b", _weekend),
        (rf"\b{_WHICH} (?P<unit>week|month|year)\b(?! (?:of|on {_WEEKDAY})\b)", _unit),
        (r"\bthe (?P<unit>week|month|year) (?P<side>before last|after next)\b", _beyond),
        (rf"\b(?:on )?{_WEEKDAY}{_PART} (?:of )?(?P<which>last|this|next) week\b", _weekday_of_week),
        (rf"\b(?P<which>last|this|next) week,? (?:on )?{_WEEKDAY}\b", _weekday_of_week),
        (rf"\b(?:this )?{_WHICH} {_WEEKDAY}{_PART}\b{_OTHER_WEEK}", _weekday),
        (rf"\b(?:on|since) {_WEEKDAY}\b{_OTHER_WEEK}{_PART}{_NO_HABIT}", _weekday_by_tense),
        (rf"\b{_BESIDE} {_DAY_AND_MONTH}(?:,? {_YEAR})?\b", _beside_date),
        (rf"\b{_BESIDE} {_MONTH_AND_DAY}(?:,? {_YEAR})?\b", _beside_date),
        (rf"(?<![\d-]){_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)[T ]{_ISO_CLOCK}(?!\w)", _iso_moment),
        (rf"(?<![\d-]){_YEAR}(?P<sign>[-/])(?P<month>\d\d?)(?P=sign)(?P<day>\d\d?)(?![\d-])", _iso),
        (rf"(?<![\d/])(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/{_YEAR}(?!/)", _slashed),
        (rf"\b{_DAY_AND_MONTH}(?:,? {_YEAR})?(?![\d:%]|[.,]\d)", _date),
        (rf"\b{_MONTH_AND_DAY}(?:,? {_YEAR})?(?![\d:%]|[.,]\d)", _date),
        (r"\bon the (?P<day>\d{1,2})(?:st|nd|rd|th)\b(?=\s*(?:[,.;:!)]|$|at\b|and\b|with\b))", _day_of_month),
        (rf"\b(?:{_IN} )?{_VAGUE}{_MONTH},? (?:of )?{_YEAR}\b", _month),
        (rf"\b{_IN} {_VAGUE}{_MONTH}(?P<year>)(?! \d)(?!\w)", _month),
        (rf"\b(?P<which>at) the (?:end|start|beginning) of {_MONTH}(?P<year>)(?! \d)(?!\w)", _month),
        (rf"\b(?P<which>last|this|next) {_SEASON}\b", _season),
        (rf"\b(?:(?:in|during|since) )?(?:the )?{_SEASON}(?: of)? {_YEAR}\b", _season),
        (rf"\b(?:in|since|back in|during) {_VAGUE}{_YEAR}(?!\w){_NOT_COUNTED}", _year),
        (rf"\bfrom {_YEAR} (?:to|until|till) (?:19|20)\d\d(?!\w){_NOT_COUNTED}", _year),
        (rf"\bbetween {_YEAR} and (?:19|20)\d\d(?!\w){_NOT_COUNTED}", _year),
    ]
)
