"""Transcripts in every form, and errors that name the place."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from memoray.errors import InvalidRequestError
from memoray.messages import Message
from memoray.serving.transcripts import Session, parse_transcript

USER = {"role": "user", "content": "hi"}


def parse(text: str, form: str = "auto") -> list[Session]:
    return parse_transcript(text, "file", form, "default")


def test_a_list_of_messages_is_one_session() -> None:
    sessions = parse(json.dumps([USER, {"role": "assistant", "content": "hello", "id": 7, "name": "Bo"}]))
    assert sessions == [Session("default", (Message("user", "hi"), Message("assistant", "hello", id="7", name="Bo")))]


def test_a_session_and_sessions_are_named() -> None:
    one = {"session_id": "s1", "messages": [USER]}
    assert [session.session_id for session in parse(json.dumps(one))] == ["s1"]
    assert [session.session_id for session in parse(json.dumps({"sessions": [one, {"messages": [USER]}]}))] == [
        "s1",
        "default",
    ]


def test_lines_are_grouped_by_session_in_order() -> None:
    lines = [{**USER, "session_id": "b"}, {**USER, "session_id": "a"}, {**USER, "session_id": "b"}, USER]
    sessions = parse("\n".join(json.dumps(line) for line in lines) + "\n\n")
    assert [(session.session_id, len(session.messages)) for session in sessions] == [("b", 2), ("a", 1), ("default", 1)]


def test_other_line_ends_of_unicode_stay_inside_a_line() -> None:
    text = json.dumps({**USER, "content": "a\u2028b\x85c"}, ensure_ascii=False) + "\r\n" + json.dumps(USER)
    assert [message.text for message in parse(text)[0].messages] == ["a\u2028b\x85c", "hi"]


def test_one_message_on_one_line_is_a_transcript() -> None:
    assert parse(json.dumps(USER) + "\n") == [Session("default", (Message("user", "hi"),))]


def test_a_call_is_known_by_the_name_of_its_tool() -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}, "clock"]
    sessions = parse(json.dumps([{"role": "assistant", "content": None, "tool_calls": calls}]))
    assert sessions[0].messages[0].tool_calls == ("weather", "clock")


def test_parts_that_are_strings_are_kept() -> None:
    sessions = parse(json.dumps([{"role": "user", "content": ["see", {"type": "text", "text": "this"}]}]))
    assert sessions[0].messages[0].text == "see\nthis"


def test_content_parts_are_joined_and_pictures_left_out() -> None:
    parts = [{"type": "text", "text": "see"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "this"}]
    sessions = parse(json.dumps([{"role": "user", "content": parts}, {"role": "assistant", "content": None}]))
    assert [message.text for message in sessions[0].messages] == ["see\nthis", ""]


def test_times_keep_their_zone() -> None:
    sessions = parse(json.dumps([{**USER, "timestamp": "2026-03-02T09:30:00+01:00"}]))
    moment = sessions[0].messages[0].timestamp
    assert moment is not None
    assert moment.isoformat() == "2026-03-02T09:30:00+01:00"
    assert moment == datetime(2026, 3, 2, 8, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "form", "says"),
    [
        ("{", "auto", "file, line 1: not JSON"),
        ('{"role": "user"}\n{"role"', "auto", "file, line 2: not JSON"),
        ("[]", "auto", "file: no messages"),
        ("3", "json", "file: messages: int '3' where a list should be"),
        ('[{"content": "x"}]', "json", "file: message 0: role None"),
        ('[{"role": "user", "content": 3}]', "json", "file: message 0: content: int '3'"),
        ('[{"role": "user", "timestamp": "yesterday"}]', "json", "timestamp 'yesterday'"),
        ('[{"role": "user", "timestamp": 1690000000}]', "json", "timestamp 1690000000"),
        ('[{"role": "user", "id": [1]}]', "json", "message 0: id: .1.; give a string"),
        ('[{"role": "user", "content": ["a", 3]}]', "json", "message 0: content part 1: int '3'"),
        ('[{"role": "user", "content": [{"text": 3}]}]', "json", "content part 0: text '3'; give a string"),
        ('[{"role": "user", "session_id": {"a": 1}}]', "json", "message 0: session_id: .*; give a string"),
        ("[" * 200_000, "auto", "file, line 1: JSON that cannot be read"),
        ('[{"role": "user", "id": ' + "1" * 5000 + "}]", "json", "file, line 1: JSON that cannot be read"),
        ('{"a": 1}', "locomo", "not a LoCoMo conversation"),
        ('{"speaker_a": "A"}', "locomo", "file: no session_N with turns"),
        ('[{"conversation": [1]}]', "auto", "conversation '.1.'; give an object"),
        ('{"speaker_a": "A", "session_1": null}', "locomo", "session_1 'None'; give a list of turns"),
        (
            '{"speaker_a": "A", "session_1": [{"text": "x"}], "session_1_date_time": "1:56 pm on 8 May, 2023"}',
            "locomo",
            "session_1, turn 0: no dia_id",
        ),
        ('{"speaker_a": "A", "session_1": [], "session_1_date_time": "May"}', "locomo", "session_1_date_time: 'May'"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, form: str, says: str) -> None:
    with pytest.raises(InvalidRequestError, match=says):
        parse(text, form)


def locomo() -> dict[str, Any]:
    return {
        "speaker_a": "Kim",
        "speaker_b": "Lou",
        "session_2_date_time": "9:05 am on 3 July, 2023",
        "session_2": [{"speaker": "Lou", "dia_id": "D2:1", "text": "", "blip_caption": "a red kite"}],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Kim", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a boat"},
            {"speaker": "Lou", "dia_id": "D1:2", "clean_text": "Nice."},
        ],
        "qa": [],
    }


def test_locomo_turns_keep_speaker_id_day_order_and_caption() -> None:
    first, second = parse(json.dumps(locomo()))
    assert (first.session_id, second.session_id) == ("session_1", "session_2")
    assert [(m.role, m.name, m.id, m.text) for m in first.messages] == [
        ("user", "Kim", "D1:1", "Look! [image: a boat]"),
        ("assistant", "Lou", "D1:2", "Nice."),
    ]
    assert second.messages[0].text == "[image: a red kite]"
    times = [message.timestamp for message in first.messages if message.timestamp]
    assert times[0] == datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    assert times == sorted(times)


def test_the_newer_locomo_form_is_a_list() -> None:
    conversation = {key: value for key, value in locomo().items() if key != "qa"}
    items = [{"sample_id": f"conv-{n}", "conversation": conversation, "qa": []} for n in (1, 2)]
    names = [session.session_id for session in parse(json.dumps(items))]
    assert names == ["conv-1/session_1", "conv-1/session_2", "conv-2/session_1", "conv-2/session_2"]
    assert [session.session_id for session in parse(json.dumps(items[:1]))] == ["session_1", "session_2"]
