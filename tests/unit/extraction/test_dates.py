"""Date expressions, counted from when they were said. Weeks begin on Monday; times are local to the message."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoray.extraction.dates import find_when

WEDNESDAY = datetime(2026, 3, 18, 10, 0, tzinfo=UTC)

ENGLISH = [
    ("I called her today.", "2026-03-18", "day"),
    ("We are eating out tonight.", "2026-03-18", "day"),
    ("I woke up late this morning.", "2026-03-18", "day"),
    ("The server crashed yesterday.", "2026-03-17", "day"),
    ("We watched a film last night.", "2026-03-17", "day"),
    ("He left the day before yesterday.", "2026-03-16", "day"),
    ("I fly to Rome tomorrow.", "2026-03-19", "day"),
    ("The release is planned for the day after tomorrow.", "2026-03-20", "day"),
    ("I sold the car three days ago.", "2026-03-15", "day"),
    ("I started a day ago.", "2026-03-17", "day"),
    ("It broke 10 days ago.", "2026-03-08", "day"),
    ("The exam is in 3 days.", "2026-03-21", "day"),
    ("I moved two weeks ago.", "2026-03-02", "week"),
    ("It began a week ago.", "2026-03-09", "week"),
    ("We met last week.", "2026-03-09", "week"),
    ("I am on leave this week.", "2026-03-16", "week"),
    ("The audit is next week.", "2026-03-23", "week"),
    ("I finished the course a couple of months ago.", "2026-01-01", "month"),
    ("We bought it six months ago.", "2025-09-01", "month"),
    ("I changed jobs last month.", "2026-02-01", "month"),
    ("The lease ends next month.", "2026-04-01", "month"),
    ("She retires in two months.", "2026-05-01", "month"),
    ("They married five years ago.", "2021-01-01", "year"),
    ("We moved here last year.", "2025-01-01", "year"),
    ("The bridge opens next year.", "2027-01-01", "year"),
    ("I saw him last Thursday.", "2026-03-12", "day"),
    ("I saw him last Wednesday.", "2026-03-11", "day"),
    ("The meeting is next Monday.", "2026-03-23", "day"),
    ("We meet this Friday.", "2026-03-20", "day"),
    ("On Friday we went to the market.", "2026-03-13", "day"),
    ("On Friday we will go to the market.", "2026-03-20", "day"),
    ("I went camping last weekend.", "2026-03-14", "day"),
    ("We will paint the fence next weekend.", "2026-03-28", "day"),
    ("It was rotated on 12 March 2026.", "2026-03-12", "day"),
    ("It was signed on the 7th of May, 2024.", "2024-05-07", "day"),
    ("It was signed on May 7, 2024.", "2024-05-07", "day"),
    ("He was born on 2019-02-28.", "2019-02-28", "day"),
    ("Her birthday is on June 3rd.", "2026-06-03", "day"),
    ("The fair was on 20 December.", "2025-12-20", "day"),
    ("We opened in May 2024.", "2024-05-01", "month"),
    ("I was in Kyoto in February.", "2026-02-01", "month"),
    ("I was in Kyoto in November.", "2025-11-01", "month"),
    ("I ran the race last March.", "2025-03-01", "month"),
    ("The house was built in 1987.", "1987-01-01", "year"),
    ("I have worked here since 2019.", "2019-01-01", "year"),
    ("The call is tomorrow at 4pm.", "2026-03-19T16:00", "instant"),
    ("The call was yesterday at 16:30.", "2026-03-17T16:30", "instant"),
    ("We left on 3 March 2026 at 6:15 am.", "2026-03-03T06:15", "instant"),
]
CHINESE = [
    ("我今天很忙。", "2026-03-18", "day"),
    ("我昨天去了医院。", "2026-03-17", "day"),
    ("我前天到的。", "2026-03-16", "day"),
    ("我明天去北京。", "2026-03-19", "day"),
    ("后天开会。", "2026-03-20", "day"),
    ("三天前我换了工作。", "2026-03-15", "day"),
    ("我们两周前搬家了。", "2026-03-02", "week"),
    ("上周三我见了他。", "2026-03-11", "day"),
    ("我下周三要去上海出差。", "2026-03-25", "day"),
    ("上周很冷。", "2026-03-09", "week"),
    ("上个月我买了车。", "2026-02-01", "month"),
    ("去年我们结婚了。", "2025-01-01", "year"),
    ("他2024年5月3日出生。", "2024-05-03", "day"),
    ("会议在5月3日。", "2026-05-03", "day"),
    ("我们2023年8月开张。", "2023-08-01", "month"),
    ("明天下午3点见面。", "2026-03-19T15:00", "instant"),
    ("昨天上午9点半出发。", "2026-03-17T09:30", "instant"),
]
NO_DATES = [
    "I may go there.",
    "Every Monday I swim.",
    "Finish it by Friday.",
    "I run 5 km in 30 minutes.",
    "Version 2024.1 is out.",
    "She marched on.",
    "In a couple of words: no.",
    "My sister is 31 years old.",
    "31 Foo 2024",
    "",
]


@pytest.mark.parametrize(("sentence", "time", "precision"), [*ENGLISH, *CHINESE])
def test_an_expression_is_counted_from_when_it_was_said(sentence: str, time: str, precision: str) -> None:
    when = find_when(sentence, WEDNESDAY)
    assert when is not None
    assert (when.time, when.precision.value) == (datetime.fromisoformat(time).replace(tzinfo=UTC), precision)


@pytest.mark.parametrize("sentence", NO_DATES)
def test_what_is_no_date_is_left_alone(sentence: str) -> None:
    assert find_when(sentence, WEDNESDAY) is None


def test_the_processing_time_plays_no_part_and_last_week_is_the_week_before_the_message() -> None:
    when = find_when("I went to Paris last week", datetime(2023, 5, 24, 10, 0, tzinfo=UTC))
    assert when is not None
    assert (when.time, when.precision.value, when.label) == (
        datetime(2023, 5, 15, tzinfo=UTC),
        "week",
        "week of 15 May 2023",
    )


@pytest.mark.parametrize(
    ("hours", "expected"), [(14, "2026-03-27T10:00"), (-11, "2026-03-28T11:00"), (0, "2026-03-28T00:00")]
)
def test_day_words_are_of_the_speakers_zone(hours: int, expected: str) -> None:
    said = datetime(2026, 3, 29, 0, 30, tzinfo=timezone(timedelta(hours=hours)))
    when = find_when("I slept badly last night.", said)
    assert when is not None
    assert when.time == datetime.fromisoformat(expected).replace(tzinfo=UTC)
    assert when.label == "28 March 2026"


def test_the_turn_of_the_year_and_the_leap_day() -> None:
    new_year = datetime(2026, 1, 1, 9, 0, tzinfo=UTC)
    assert [find_when(text, new_year).time.date().isoformat() for text in ("yesterday", "last month", "last week")] == [  # type: ignore[union-attr]  # each has one
        "2025-12-31",
        "2025-12-01",
        "2025-12-22",
    ]
    leap = find_when("It was on 29 February.", datetime(2024, 3, 5, tzinfo=UTC))
    assert leap is not None
    assert leap.time == datetime(2024, 2, 29, tzinfo=UTC)


def test_the_first_expression_counts() -> None:
    when = find_when("Last year I bought it, and yesterday it broke.", WEDNESDAY)
    assert when is not None
    assert when.label == "2025"
