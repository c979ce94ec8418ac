"""Who, where and what about."""

from __future__ import annotations

import pytest

from memoray.extraction.names import people_in, place_in
from memoray.extraction.topics import topics_in


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("I went hiking in the Dolomites with my friend Lena last weekend.", ["Lena"]),
        ("I met Ana, Ben and Carla in New York.", ["Ana", "Ben", "Carla"]),
        ("My wife Maria and I adopted a dog named Rex.", ["Maria", "Rex"]),
        ("My sister Ines is an architect.", ["Ines"]),
        ("Lena and I went sailing.", ["Lena"]),
        ("I had lunch with Dr. Silva.", ["Dr. Silva"]),
        ("We stayed with Lena's parents.", ["Lena"]),
        ("I use PostgreSQL 16 with Redis and Kafka.", []),
        ("We deploy with Ubuntu 24.04.", []),
        ("I spoke with NASA and met on Monday.", []),
        ("我和王芳一起去了北京。", ["王芳"]),
        ("我跟小李吃饭。", ["小李"]),
    ],
)
def test_people_are_whom_someone_was_with(statement: str, expected: list[str]) -> None:
    assert people_in(statement) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("I went hiking in the Dolomites with my friend Lena.", "Dolomites"),
        ("I work at Acme Inc. in Porto.", "Porto"),
        ("I met Ana in New York yesterday.", "New York"),
        ("I flew to Rio de Janeiro.", "Rio de Janeiro"),
        ("I'm from Sweden.", "Sweden"),
        ("We volunteer in the Rotary community.", ""),
        ("I wrote it in Python last May.", ""),
        ("I talked to Lena.", ""),
        ("We slept at Lena's place.", ""),
        ("We met in March.", ""),
        ("我下周三要去上海出差。", "上海"),
        ("我住在苏州市。", "苏州"),
    ],
)
def test_a_place_is_where_something_was(statement: str, expected: str) -> None:
    assert place_in(statement) == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("We upgraded production from Go 1.23 to Go 1.24.", ["Go 1.23", "Go 1.24", "production"]),
        ("Python 3.12 is our minimum.", ["Python 3.12", "minimum"]),
        ("I switched to green tea.", ["green tea"]),
        ("I started a really nice dance studio in New York.", ["New York", "dance studio"]),
        ("I don't like it.", []),
        ("See https://example.org/Some/Path for my notes.", ["notes"]),
        ("我对花生过敏。", ["花生过敏"]),
    ],
)
def test_topics_are_names_terms_and_noun_phrases(statement: str, expected: list[str]) -> None:
    assert topics_in(statement, ()) == expected


def test_topics_leave_out_the_speakers_and_are_few() -> None:
    assert topics_in("I told Lena about my boat.", ["Lena"]) == ["boat"]
    assert len(topics_in("I like Ash, Birch, Cedar, Damson, Elm, Fir, Gean and Hazel.", ())) == 6
