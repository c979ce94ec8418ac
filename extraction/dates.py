"""When a sentence says that something happened, counted from when it was said. Pure.

The grammars are small tables (`english_dates`, `han_dates`) over the calendar arithmetic of `spans`. A general date
parser was left alone on purpose: on plain prose dateparser takes "may", "sun" and "12" for dates, reads its language
tables from files as it goes, and is far slower than these patterns.

Of several expressions in a sentence the finest counts, of equally fine ones the first; since when something holds comes
last. Ends and habits ("until", "by", "every") are no times of an event. Times are in the zone of the message.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from memoray.entries import Precision
from memoray.extraction import english_dates, han_dates, spans

if TYPE_CHECKING:
    from memoray.extraction.spans import Span

SENTENCE_COUNT_MAX = 1000
"""Characters of a sentence that are looked at."""

CLOCK_DISTANCE_MAX = 40
"""Characters between a day and a time of day that belongs to it."""


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


_FINENESS = [Precision.INSTANT, Precision.DAY, Precision.WEEK, Precision.MONTH, Precision.YEAR]
_RULES = english_dates.RULES + han_dates.RULES
# Of one length, so that places in the sentence stay what they are.
_PLAIN_FORMS = str.maketrans(
    {0xFF10 + digit: str(digit) for digit in range(10)} | {0x2019: "'", 0xA0: " ", 0xFF1A: ":", 0x3000: " "}
)

_NO_EVENT = re.compile(r"(?:\b(?:every|each|until|till|by|before|after|than)(?: the)?|[每到])\s*$", re.IGNORECASE)
_SINCE_BEFORE = re.compile(r"\b(?:ever )?since(?: (?:about|around|the|early|late))?\s*$|[从自]$", re.IGNORECASE)
_SINCE = re.compile(r"^since\b|^for\b|以来$|开始$|起$|年了$", re.IGNORECASE)
_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_CLOCK = re.compile(
    r"(?<![\d.:])(?P<hour>\d{1,2})(?:[:.](?P<minute>\d\d))?\s?(?P<half>[ap])\.?m\b\.?"
    r"|(?:\b(?:at|around|from) |, ?)(?P<hour24>\d{1,2}):(?P<minute24>\d\d)\b"
    r"|(?<![\d:])(?P<part>凌晨|早上|上午|中午|下午|傍晚|晚上|午前|午後)?(?P<han_hour>\d{1,2}|[一二两三四五六七八九十]{1,2})[点時时]"
    r"(?!前|后|後|间|間)(?:(?P<han_minute>\d{1,2})分|(?P<han_half>半))?"
    r"|\bat (?P<noon>noon|midnight)\b",
    re.IGNORECASE | re.ASCII,
)
# A time of day in a zone that is named: not the speaker's, so the day is all that is known.
_ZONE = re.compile(r"\s?(?:UTC|GMT|Z\b|[A-Z]{1,4}T\b)")
_POSSESSIVE = re.compile("['\u2019]s\\b")


def find_when(sentence: str, said_at: datetime) -> When | None:
    """When a sentence speaks of; None where it does not say.

    Args:
        sentence: as it was said.
        said_at: when; aware, in the zone of the speaker.
    """
    text = sentence[:SENTENCE_COUNT_MAX].translate(_PLAIN_FORMS)
    found: list[When] = []
    refused: list[range] = []
    for pattern, resolve in _RULES:
        for match in pattern.finditer(text):
            if _NO_EVENT.search(text[max(0, match.start() - 16) : match.start()]):
                refused.append(range(*match.span()))
                continue
            try:
                found.append(_made(match, resolve(match, said_at), text))
            except (ValueError, OverflowError):  # 31 February, or before the first year
                refused.append(range(*match.span()))
    # "Until 30 June 2027" must not leave "June 2027".
    left = [when for when in found if not any(when.start in wider for wider in refused)]
    best = min(left, key=_rank, default=None)
    if best is None or best.precision is not Precision.DAY:
        return best
    return _at_clock(best, left, text) or best


def _rank(when: When) -> tuple[bool, int, int, int]:
    return when.is_since, _FINENESS.index(when.precision), when.start, -when.end


def _made(match: re.Match[str], span: Span, text: str) -> When:
    start, end = match.span()
    if "core" in match.re.groupindex:
        start = match.start("core")
    expression = text[start:end]
    is_since = bool(_SINCE.search(expression) or _SINCE_BEFORE.search(text[max(0, start - 24) : start]))
    possessive = _POSSESSIVE.match(text, end)
    return When(
        span.start.astimezone(UTC),
        span.precision,
        start,
        possessive.end() if possessive else end,
        bool(match.groupdict().get("year")),
        is_since,
        _label(span, is_han=bool(_HAN.search(expression)), is_since=is_since and expression.lower().startswith("for")),
    )


def _at_clock(day: When, others: list[When], text: str) -> When | None:
    """A day with the time of day beside it, unless that stands closer to another expression."""
    if day.label.startswith("weekend") or day.label.endswith("周末"):
        return None
    for match in _CLOCK.finditer(text, max(0, day.start - CLOCK_DISTANCE_MAX), day.end + CLOCK_DISTANCE_MAX):
        gap = _gap(day, match)
        if _ZONE.match(text, match.end()) or any(_gap(other, match) < gap for other in others):
            continue
        hour, minute = _hour_and_minute(match)
        if hour < 24 and minute < 60:  # noqa: PLR2004 - hours of a day, minutes of an hour
            return day._replace(time=day.time + timedelta(hours=hour, minutes=minute), precision=Precision.INSTANT)
    return None


def _gap(when: When, clock: re.Match[str]) -> int:
    return max(when.start - clock.end(), clock.start() - when.end)


def _hour_and_minute(match: re.Match[str]) -> tuple[int, int]:
    if match["noon"]:
        return (12 if match["noon"].lower() == "noon" else 24), 0
    if match["hour24"]:
        return int(match["hour24"]), int(match["minute24"])
    if match["hour"]:
        hour = int(match["hour"])
        is_afternoon = match["half"].lower() == "p"
        return (hour % 12 + 12 * is_afternoon if 1 <= hour <= 12 else 24), int(match["minute"] or 0)  # noqa: PLR2004
    hour = han_dates.number(match["han_hour"])
    part = match["part"] or ""
    if hour < 12 and (part in {"下午", "傍晚", "晚上", "午後"} or (part == "中午" and hour < 10)):  # noqa: PLR2004
        hour += 12
    elif hour == 12 and part in {"晚上", "凌晨"}:  # noqa: PLR2004 - midnight, of which day is not said
        hour = 24
    return hour, 30 if match["han_half"] else int(match["han_minute"] or 0)


def _label(span: Span, *, is_han: bool, is_since: bool) -> str:
    moment = span.start
    if is_han:
        month = f"{moment.year}年{moment.month}月"
        return (
            span.name
            or {
                Precision.INSTANT: f"{month}{moment.day}日{moment:%H:%M}",
                Precision.DAY: f"{month}{moment.day}日",
                Precision.WEEK: f"{month}{moment.day}日起一周",
                Precision.MONTH: month,
                Precision.YEAR: f"{moment.year}年",
            }[span.precision]
        )
    day = spans.shown_day(moment)
    shown = (
        span.name
        or {
            Precision.INSTANT: f"{day}, {moment:%H:%M}",
            Precision.DAY: day,
            Precision.WEEK: f"week of {day}",
            Precision.MONTH: spans.shown_month(moment),
            Precision.YEAR: f"{moment.year}",
        }[span.precision]
    )
    return f"since {shown}" if is_since else shown
