"""Chinese date expressions, and Japanese ones that are written alike: patterns and the rules for them. Pure.

A weekday without a week goes by the verbs around it, as in English, and is left alone where they don't say.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoray.extraction import spans

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from memoray.extraction.spans import Span

_DIGITS = {char: value for value, char in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_WEEKDAYS = {
    "一": 0,
    "二": 1,
    "三": 2,
    "四": 3,
    "五": 4,
    "六": 5,
    "日": 6,
    "天": 6,
    "月": 0,
    "火": 1,
    "水": 2,
    "木": 3,
    "金": 4,
    "土": 5,
}
_UNITS = {"分钟": "minute", "小时": "hour", "天": "day", "日": "day", "周": "week", "星期": "week", "礼拜": "week"} | {
    "週間": "week",
    "月": "month",
    "か月": "month",
    "ヶ月": "month",
    "年": "year",
}
_WEEKS = {"上上": -2, "上": -1, "先": -1, "这": 0, "本": 0, "今": 0, "下": 1, "来": 1, "下下": 2}
_YEARS = {"前年": -2, "去年": -1, "昨年": -1, "今年": 0, "明年": 1, "来年": 1, "后年": 2}

_NUMBER = "[零一二两三四五六七八九十]{1,3}"
_COUNT = rf"(?P<count>\d{{1,3}}|{_NUMBER})"
_MONTH = rf"(?P<month>\d{{1,2}}|{_NUMBER})月"
_DAY = rf"(?P<day>\d{{1,2}}|{_NUMBER})[日号號]"
_YEAR = r"(?P<year>(?:19|20)\d\d)年"
_NAMED_YEAR = "(?P<year>)(?P<which>" + "|".join(_YEARS) + ")"
_WEEK = "(?:周|星期|礼拜)"
_WHICH_WEEK = "(?P<which>上上|上|这|本|下下|下)(?:个|一)?"

_TO_COME = re.compile("[要将會会]|打算|准备|計劃|计划|预定|約定|约了|予定|つもり")
_PAST = re.compile("[了过]|ました|でした")


def number(text: str) -> int:
    """A number up to 99, in digits or in words.

    Raises:
        ValueError: the words make no number.
    """
    if text.isdecimal():
        return int(text)
    tens, ten, ones = text.partition("十")
    if len(tens) > 1 or len(ones) > 1 or not ten + tens:
        message = f"{text} is no number"
        raise ValueError(message)
    if not ten:
        return _DIGITS[tens]
    return (_DIGITS[tens] if tens else 1) * 10 + (_DIGITS[ones] if ones else 0)


def _days(offset: int) -> Callable[[re.Match[str], datetime], Span]:
    return lambda _match, now: spans.day(now, offset)


def _offset(match: re.Match[str], now: datetime) -> Span:
    sign = 1 if match["side"] in {"后", "後"} else -1
    return spans.shifted(sign * number(match["count"]), _UNITS[match["unit"]], now)


def _for_years(match: re.Match[str], now: datetime) -> Span:
    return spans.shifted(-number(match["count"]), "year", now)


def _weekday_of_week(match: re.Match[str], now: datetime) -> Span:
    return spans.weekday_of_week(now, _WEEKDAYS[match["weekday"]], _WEEKS[match["which"]])


def _weekday_by_tense(match: re.Match[str], now: datetime) -> Span:
    if _PAST.search(match.string):
        return spans.weekday_before(now, _WEEKDAYS[match["weekday"]])
    if _TO_COME.search(match.string):
        return spans.weekday_after(now, _WEEKDAYS[match["weekday"]])
    message = "neither past nor to come"
    raise ValueError(message)


def _weekend(match: re.Match[str], now: datetime) -> Span:
    found = spans.weekend(now, _WEEKS[match["which"]])
    return found._replace(name=f"{found.start.year}年{found.start.month}月{found.start.day}日的周末")


def _unit(match: re.Match[str], now: datetime) -> Span:
    which = match["which"] or match.groupdict().get("japanese") or ""
    return spans.shifted(_WEEKS[which], "month" if "月" in match.group() else "week", now)


def _year_of(match: re.Match[str], now: datetime) -> int:
    return int(match["year"]) if match["year"] else now.year + _YEARS[match["which"]]


def _full_date(match: re.Match[str], now: datetime) -> Span:
    return spans.date(now, _year_of(match, now), number(match["month"]), number(match["day"]))


def _date(match: re.Match[str], now: datetime) -> Span:
    side = 1 if _TO_COME.search(match.string) else -1 if _PAST.search(match.string) else 0
    return spans.date_near(now, number(match["month"]), number(match["day"]), side=side)


def _day_of_month(match: re.Match[str], now: datetime) -> Span:
    month = _unit(match, now).start
    return spans.date(now, month.year, month.month, number(match["day"]))


def _month(match: re.Match[str], now: datetime) -> Span:
    return spans.month_of(now, _year_of(match, now), number(match["month"]))


def _year(match: re.Match[str], now: datetime) -> Span:
    return spans.year_of(now, _year_of(match, now))


RULES: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Span]], ...] = tuple(
    (re.compile(pattern, re.ASCII), resolve)
    for pattern, resolve in [
        ("大前天", _days(-3)),
        ("(?<!大)前天|一昨日", _days(-2)),
        ("昨[天晚夜]|(?<!一)昨日", _days(-1)),
        ("今[天早晚]|今日|今朝|今夜", _days(0)),
        ("明[天早晚]|明日(?!香)", _days(1)),
        ("(?<!大)后天|明後日", _days(2)),
        ("大后天", _days(3)),
        (
            rf"{_COUNT}个?(?P<unit>分钟|小时|天|日|周|星期|礼拜|週間|月|か月|ヶ月|年)(?:之|以)?(?P<side>前|后|後)",
            _offset,
        ),
        (rf"了{_COUNT}年了", _for_years),
        (rf"{_WHICH_WEEK}{_WEEK}(?P<weekday>[一二三四五六日天])", _weekday_of_week),
        (rf"(?<![每上下这本个一]){_WEEK}(?P<weekday>[一二三四五六日天])", _weekday_by_tense),
        ("(?P<which>[先今来])週の?(?P<weekday>[月火水木金土日])(?:曜日?)", _weekday_of_week),
        (rf"{_WHICH_WEEK}周末", _weekend),
        (rf"{_WHICH_WEEK}{_WEEK}(?![一二三四五六日天末])|(?P<japanese>[先今来])週", _unit),
        (rf"(?P<which>上|这|本|下)(?:个|一)?月(?:份|的)?{_DAY}", _day_of_month),
        (r"(?P<which>上|这|本|下)(?:个|一)?月(?!\d)|(?P<japanese>[先今来])月", _unit),
        (rf"(?:{_YEAR}){_MONTH}{_DAY}", _full_date),
        (rf"{_NAMED_YEAR}{_MONTH}{_DAY}", _full_date),
        (rf"(?<!年)(?<!\d){_MONTH}{_DAY}", _date),
        (rf"{_YEAR}{_MONTH}份?", _month),
        (rf"{_NAMED_YEAR}{_MONTH}份?", _month),
        (rf"(?:从|自)?{_YEAR}(?![代级度])(?:以来|开始|起)?", _year),
        (rf"{_NAMED_YEAR}(?!代)", _year),
    ]
)
