"""When a sentence says that something happened, counted from when it was said. Pure.

A small grammar of date expressions, English and Chinese; `dateutil.relativedelta` does the calendar arithmetic. General
date parsers were left alone on purpose: they take "may", "sun" and "12" for dates. The first expression in a sentence
counts. Times are in the zone of the message; weeks begin on Monday.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from dateutil.relativedelta import relativedelta

from memoray.entries import Precision

if TYPE_CHECKING:
    from collections.abc import Callable

SENTENCE_COUNT_MAX = 1000


class When(NamedTuple):
    """A resolved date expression.

    Attributes:
        time: start of the span that `precision` names; aware, UTC.
        precision: how long that span is.
        start: where the expression begins in the sentence.
        end: where it ends.
        is_absolute: it names its year itself.
        is_since: it says since when something holds, not when it happened.
        label: the date as people write it, in the zone of the message.
    """

    time: datetime
    precision: Precision
    start: int
    end: int
    is_absolute: bool
    is_since: bool
    label: str


_MONTHS = {
    name: number
    for number, names in enumerate(
        "january jan|february feb|march mar|april apr|may|june jun|july jul|august aug|september sept sep|october oct"
        "|november nov|december dec".split("|"),
        1,
    )
    for name in names.split()
}
_DAYS = {name: number for number, name in enumerate("monday tuesday wednesday thursday friday saturday sunday".split())}
_COUNTS = {
    word: number
    for number, words in enumerate(["", "a an one", "two couple", "three", "four", "five", "six", "seven", "eight"])
    for word in words.split()
} | {"nine": 9, "ten": 10, "eleven": 11, "twelve": 12}
_HAN_DIGITS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8, "九": 9, "十": 10}
_HAN_DAYS = {"一": 0, "二": 1, "三": 2, "四": 3, "五": 4, "六": 5, "日": 6, "天": 6}

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_DAY = r"(?P<weekday>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_COUNT = r"(?P<count>\d{1,3}|an?|one|two|a couple of|couple of|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_UNIT = r"(?P<unit>day|week|month|year)s?"


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _week(now: datetime) -> datetime:
    return _midnight(now) - timedelta(days=now.weekday())


def _count(text: str) -> int:
    word = text.removeprefix("a ").removesuffix(" of")
    return int(word) if word.isdigit() else _COUNTS[word]


Found = tuple[datetime, Precision]


def _days(offset: int) -> Callable[[re.Match[str], datetime], Found]:
    return lambda _match, now: (_midnight(now) + timedelta(days=offset), Precision.DAY)


def _shifted(count: int, unit: str, now: datetime) -> Found:
    if unit == "day":
        return _midnight(now) + relativedelta(days=count), Precision.DAY
    if unit == "week":
        return _week(now) + relativedelta(weeks=count), Precision.WEEK
    if unit == "month":
        return _midnight(now).replace(day=1) + relativedelta(months=count), Precision.MONTH
    return _midnight(now).replace(month=1, day=1) + relativedelta(years=count), Precision.YEAR


def _ago(match: re.Match[str], now: datetime) -> Found:
    return _shifted(-_count(match["count"].lower()), match["unit"].lower(), now)


def _ahead(match: re.Match[str], now: datetime) -> Found:
    return _shifted(_count(match["count"].lower()), match["unit"].lower(), now)


_SHIFT = {"last": -1, "past": -1, "previous": -1, "this": 0, "next": 1, "coming": 1}


def _relative_unit(match: re.Match[str], now: datetime) -> Found:
    return _shifted(_SHIFT[match["which"].lower()], match["unit"].lower(), now)


def _weekend(match: re.Match[str], now: datetime) -> Found:
    saturday = _week(now) + timedelta(days=5)
    which = _SHIFT[match["which"].lower()]
    if which < 0 and now.weekday() >= 5:  # noqa: PLR2004 - said on a weekend, the last one is the one before
        which = -1
    return saturday + timedelta(weeks=which), Precision.DAY


_FUTURE = re.compile(r"\b(?:will|going to|shall|plan(?:ning)? to|(?:i|we|he|she|they)(?:'|\u2019)ll)\b", re.IGNORECASE)


def _weekday(match: re.Match[str], now: datetime) -> Found:
    """Last ones lie before the message, next ones after it, one of this week in it; "on" goes by the tense."""
    day = _DAYS[match["weekday"].lower()]
    which = match["which"].lower()
    if which == "on" and _FUTURE.search(match.string):
        which = "next"
    today = _midnight(now)
    if which == "this":
        return _week(now) + timedelta(days=day), Precision.DAY
    if _SHIFT.get(which, -1) > 0:
        return today + timedelta(days=(day - now.weekday() - 1) % 7 + 1), Precision.DAY
    return today - timedelta(days=(now.weekday() - day - 1) % 7 + 1), Precision.DAY


def _nearest_year(month: int, day: int, now: datetime) -> datetime:
    """A date without a year: this year's, unless that is more than half a year ahead or behind."""
    best: datetime | None = None
    for year in (now.year - 1, now.year, now.year + 1):
        try:
            made = _midnight(now).replace(year=year, month=month, day=day)
        except ValueError:
            continue  # 29 February
        if best is None or abs(made - now) < abs(best - now):
            best = made
    if best is None:
        message = f"no year near {now.year} has day {day} in month {month}"
        raise ValueError(message)
    return best


def _date(match: re.Match[str], now: datetime) -> Found:
    month = _MONTHS[match["month"].lower()]
    day = int(match["day"])
    if match["year"]:
        return _midnight(now).replace(year=int(match["year"]), month=month, day=day), Precision.DAY
    return _nearest_year(month, day, now), Precision.DAY


def _iso(match: re.Match[str], now: datetime) -> Found:
    made = _midnight(now).replace(year=int(match["year"]), month=int(match["month"]), day=int(match["day"]))
    return made, Precision.DAY


def _month(match: re.Match[str], now: datetime) -> Found:
    month = _MONTHS[match["month"].lower()]
    first = _midnight(now).replace(day=1, month=month)
    if match["year"]:
        return first.replace(year=int(match["year"])), Precision.MONTH
    which = (match["which"] or "").lower()
    if which == "next":
        return first if first > now else first + relativedelta(years=1), Precision.MONTH
    # The last one that has begun; said in March, "last March" is another.
    is_past = first > now or (which == "last" and first.month == now.month)
    return first - relativedelta(years=1) if is_past else first, Precision.MONTH


def _year(match: re.Match[str], now: datetime) -> Found:
    return _midnight(now).replace(year=int(match["year"]), month=1, day=1), Precision.YEAR


def _han_count(text: str) -> int:
    return int(text) if text.isdigit() else _HAN_DIGITS[text]


_HAN_UNITS = {"天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week", "月": "month", "年": "year"}
_HAN_SHIFT = {"上": -1, "这": 0, "本": 0, "下": 1}


def _han_offset(match: re.Match[str], now: datetime) -> Found:
    sign = -1 if match["side"] == "前" else 1
    return _shifted(sign * _han_count(match["count"]), _HAN_UNITS[match["unit"]], now)


def _han_weekday(match: re.Match[str], now: datetime) -> Found:
    day = _week(now) + timedelta(weeks=_HAN_SHIFT[match["which"]], days=_HAN_DAYS[match["weekday"]])
    return day, Precision.DAY


def _han_unit(match: re.Match[str], now: datetime) -> Found:
    return _shifted(_HAN_SHIFT[match["which"]], _HAN_UNITS[match["unit"]], now)


def _han_date(match: re.Match[str], now: datetime) -> Found:
    month, day = int(match["month"]), int(match["day"])
    if match["year"]:
        return _midnight(now).replace(year=int(match["year"]), month=month, day=day), Precision.DAY
    return _nearest_year(month, day, now), Precision.DAY


def _han_month(match: re.Match[str], now: datetime) -> Found:
    return _midnight(now).replace(year=int(match["year"]), month=int(match["month"]), day=1), Precision.MONTH


_YEAR4 = r"(?P<year>(?:19|20)\d\d)"
_RULES: list[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Found]]] = [
    (re.compile(pattern, re.IGNORECASE), resolve)
    for pattern, resolve in [
        (r"\bthe day before yesterday\b", _days(-2)),
        (r"\bthe day after tomorrow\b", _days(2)),
        (r"\byesterday\b|\blast night\b", _days(-1)),
        (r"\btomorrow\b", _days(1)),
        (r"\btoday\b|\btonight\b|\bthis (?:morning|afternoon|evening)\b", _days(0)),
        (rf"\b{_COUNT} {_UNIT} ago\b", _ago),
        (rf"\bin {_COUNT} {_UNIT}\b(?! (?:of|old|time in))", _ahead),
        (r"\b(?P<which>last|past|this|next|coming) weekend\b", _weekend),
        (r"\b(?P<which>last|this|next|previous) (?P<unit>week|month|year)\b", _relative_unit),
        (rf"\b(?P<which>last|past|this|next|coming) {_DAY}\b", _weekday),
        (rf"\b{_YEAR4}-(?P<month>\d\d)-(?P<day>\d\d)\b", _iso),
        (rf"\b(?:the )?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR4})?\b", _date),
        (rf"\b{_MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,? {_YEAR4})?\b(?!\d|[.:]\d)", _date),
        (rf"\b(?:(?P<which>last|next|this|in|since|during|back in|by|until) )?{_MONTH},? (?:of )?{_YEAR4}\b", _month),
        (rf"\b(?P<which>last|next|in|since|during|back in) {_MONTH}(?P<year>)(?! \d)\b", _month),
        (r"\b(?:in|since|back in|during) (?P<year>(?:19|20)\d\d)\b(?![-/.]\d)", _year),
        (rf"\b(?P<which>on) {_DAY}\b(?!s)", _weekday),
        (r"前天|前日", _days(-2)),
        (r"后天", _days(2)),
        (r"昨天|昨日|昨晚", _days(-1)),
        (r"明天|明日|明早|明晚", _days(1)),
        (r"今天|今日|今早|今晚", _days(0)),
        (
            r"(?P<count>\d{1,3}|[一二两三四五六七八九十])个?(?P<unit>天|日|周|星期|礼拜|月|年)(?:之|以)?(?P<side>前|后)",
            _han_offset,
        ),
        (r"(?P<which>上|这|本|下)(?:个|一)?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天])", _han_weekday),
        (r"(?P<which>上|这|本|下)(?:个|一)?(?P<unit>周|星期|礼拜|月)", _han_unit),
        (r"(?:(?P<year>(?:19|20)\d\d)年)?(?P<month>\d{1,2})月(?P<day>\d{1,2})[日号]", _han_date),
        (r"(?P<year>(?:19|20)\d\d)年(?P<month>\d{1,2})月", _han_month),
        (r"去年", lambda _match, now: _shifted(-1, "year", now)),
        (r"明年", lambda _match, now: _shifted(1, "year", now)),
        (r"今年", lambda _match, now: _shifted(0, "year", now)),
    ]
]

_HABIT = re.compile(r"\b(?:every|each|until|by|before|after|than|from)\s*$", re.IGNORECASE)
_SINCE = re.compile(r"\bsince\b(?:\s+\w+){0,2}\s*$|^since\b", re.IGNORECASE)
_CLOCK = re.compile(
    r"\bat (?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>a\.?m\b|p\.?m\b)"
    r"|\bat (?P<hour24>\d{1,2}):(?P<minute24>\d\d)\b"
    r"|(?P<part>上午|早上|下午|晚上|中午)?(?P<hanhour>\d{1,2})点(?:(?P<hanminute>\d{1,2})分|(?P<hanhalf>半))?",
    re.IGNORECASE,
)


def find_when(sentence: str, said_at: datetime) -> When | None:
    """The first date expression of a sentence, resolved; None if there is none.

    Args:
        sentence: as it was said.
        said_at: when; aware, in the zone of the speaker.
    """
    text = sentence[:SENTENCE_COUNT_MAX]
    best: When | None = None
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            if best is not None and match.start() >= best.start:
                break
            if _HABIT.search(text[max(0, match.start() - 12) : match.start()]):
                continue
            try:
                time, precision = resolve(match, said_at)
            except (ValueError, OverflowError):
                continue  # 31 February: not a date
            best = _made(match, time, precision, text)
            break
    return best


def _made(match: re.Match[str], time: datetime, precision: Precision, text: str) -> When:
    if precision is Precision.DAY:
        moment = _clock(text)
        if moment is not None:
            time, precision = time.replace(hour=moment[0], minute=moment[1]), Precision.INSTANT
    is_since = bool(_SINCE.search(text[: match.start()] + " ")) or match.group().lower().startswith("since")
    groups = match.groupdict()
    is_han = bool(re.search("[\u4e00-\u9fff]", match.group()))
    return When(
        time.astimezone(UTC),
        precision,
        match.start(),
        match.end(),
        bool(groups.get("year")),
        is_since,
        _label(time, precision, is_han=is_han),
    )


def _clock(text: str) -> tuple[int, int] | None:
    match = _CLOCK.search(text)
    if match is None:
        return None
    if match["hour24"]:
        hour, minute = int(match["hour24"]), int(match["minute24"])
    elif match["hour"]:
        hour = int(match["hour"]) % 12 + (12 if match["half"].lower().startswith("p") else 0)
        minute = int(match["minute"] or 0)
    else:
        hour = int(match["hanhour"])
        if match["part"] in {"下午", "晚上"} and hour < 12:  # noqa: PLR2004 - hours of half a day
            hour += 12
        minute = 30 if match["hanhalf"] else int(match["hanminute"] or 0)
    is_time = hour < 24 and minute < 60  # noqa: PLR2004 - hours of a day, minutes of an hour
    return (hour, minute) if is_time else None


def _label(time: datetime, precision: Precision, *, is_han: bool) -> str:
    if is_han:
        forms = {Precision.YEAR: "%Y年", Precision.MONTH: "%Y年%m月", Precision.WEEK: "%Y-%m-%d起一周"}
        return time.strftime(forms.get(precision, "%Y-%m-%d" if precision is Precision.DAY else "%Y-%m-%d %H:%M"))
    day = f"{time.day} {time:%B %Y}"
    return {
        Precision.INSTANT: f"{day}, {time:%H:%M}",
        Precision.DAY: day,
        Precision.WEEK: f"week of {day}",
        Precision.MONTH: f"{time:%B %Y}",
        Precision.YEAR: f"{time:%Y}",
    }[precision]
