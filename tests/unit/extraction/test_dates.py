"""Dates are counted from when a sentence was said, in the zone of who said it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoray.entries import Precision
from memoray.extraction.dates import find_when
from tests.unit.extraction.dated_sentences import KNOWN_LIMITS, ROWS, SAID, Row

NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)


def test_there_are_a_hundred_rows() -> None:
    assert len({row.sentence for row in ROWS}) == len(ROWS) >= 100


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.sentence)
def test_a_sentence_is_dated(row: Row) -> None:
    said_at = SAID[row.said]
    found = find_when(row.sentence, said_at)
    assert found is not None
    expected = datetime.fromisoformat(row.expected).replace(tzinfo=said_at.tzinfo)
    assert (found.time.astimezone(said_at.tzinfo), found.precision) == (expected, row.precision)
    assert found.time.tzinfo is UTC


@pytest.mark.parametrize(("said", "sentence", "given", "why"), KNOWN_LIMITS)
def test_a_known_limit_gives_what_is_written_down(said: str, sentence: str, given: str | None, why: str) -> None:
    found = find_when(sentence, SAID[said])
    assert (None if found is None else found.label) == given, why


@pytest.mark.parametrize(
    "sentence",
    [
        "I may go to the sun terrace.",
        "We march 5 km with 12 friends.",
        "I go there every Monday and each year in winter.",
        "I play chess on Sundays.",
        "I swim on Monday mornings.",
        "We processed in 2000 files what 1.2 could not.",
        "Rome wasn't built in a day.",
        "The ratio is 3/4 and the score 10:2.",
        "It happened on 31 February 2024.",
        "My room is on the 3rd floor.",
        "It costs 2024 euros.",
        "I have to take antibiotics for two weeks.",
        "I have to wear braces for 6 months.",
        "I have booked the flat for two weeks.",
        "A year and a half went by.",
        "每周三我都打球。",
        "我周末喜欢睡懒觉。",
    ],
)
def test_no_date_is_read_into_a_sentence(sentence: str) -> None:
    assert find_when(sentence, NOON) is None


def test_the_finest_expression_counts_and_since_comes_last() -> None:
    finest = find_when("This year I went to Rome on 3 February with friends.", NOON)
    assert finest is not None
    assert (finest.label, finest.precision) == ("3 February 2026", Precision.DAY)
    happened = find_when("Since last year I train more, and last month I won a race.", NOON)
    assert happened is not None
    assert (happened.label, happened.is_since) == ("February 2026", False)


@pytest.mark.parametrize(
    ("sentence", "label"),
    [
        ("Last weekend we sailed.", "weekend of 14 March 2026"),
        ("We sailed last week.", "week of 9 March 2026"),
        ("Last winter we skied.", "winter 2025/26"),
        ("I have cycled to work for 3 years.", "since 2023"),
        ("我上周三去了医院。", "2026年3月11日"),
        ("上周末我们去爬山了。", "2026年3月14日的周末"),
    ],
)
def test_labels_read_as_people_write(sentence: str, label: str) -> None:
    found = find_when(sentence, NOON)
    assert found is not None
    assert found.label == label


def test_a_time_of_day_belongs_to_the_nearest_day() -> None:
    for sentence in ("Yesterday they moved the call to next Monday at 3pm.", "昨天的会议改到了下周一下午3点。"):
        found = find_when(sentence, NOON)
        assert found is not None
        assert (found.precision, found.time.day) == (Precision.DAY, 17)


def test_a_stop_behind_a_month_belongs_to_the_sentence() -> None:
    sentence = "The deadline is 15 April."
    found = find_when(sentence, NOON)
    assert found is not None
    assert sentence[found.end :] == "."


def test_the_label_comes_after_a_possessive() -> None:
    found = find_when("Tomorrow's opening will be loud.", NOON)
    assert found is not None
    assert (found.start, found.end) == (0, len("Tomorrow's"))


@pytest.mark.parametrize("hours", [14, -11, -12, 5.75])
def test_a_day_word_means_the_speakers_day(hours: float) -> None:
    zone = timezone(timedelta(hours=hours))
    said_at = datetime(2025, 1, 1, 0, 30, tzinfo=zone)
    found = find_when("I fell asleep early yesterday.", said_at)
    assert found is not None
    assert found.time == datetime(2024, 12, 31, tzinfo=zone)


def test_the_two_hours_of_one_name_keep_their_order() -> None:
    first, second = (datetime(2026, 10, 25, 2, 30, tzinfo=timezone(timedelta(hours=hours))) for hours in (2, 1))
    one, other = (find_when("The backup failed today at 02:30.", said_at) for said_at in (first, second))
    assert one is not None
    assert other is not None
    assert other.time - one.time == timedelta(hours=1)


@pytest.mark.parametrize("year", [1, 9999])
def test_the_edges_of_the_calendar_have_no_neighbours(year: int) -> None:
    for said_at in (datetime(year, 1, 1, tzinfo=UTC), datetime(year, 12, 31, 23, tzinfo=UTC)):
        for row in ROWS:
            find_when(row.sentence, said_at)


def test_fullwidth_digits_and_curly_apostrophes_are_read() -> None:
    date = find_when("我女儿２０２４年５月３日出生。", NOON)
    since = find_when("I\u2019ve lived here for 4 years.", NOON)
    assert date is not None
    assert date.label == "2024年5月3日"
    assert since is not None
    assert since.is_since
