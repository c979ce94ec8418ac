"""What a submit becomes: turns, repeats, whole transcripts, bounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoray.config import EngineConfig
from memoray.entries import Entry, EntryId
from memoray.errors import BusyError, InvalidRequestError
from memoray.events import DeltaAccepted
from memoray.keys import UserKey
from memoray.marks import BLOCK_BEGINS, PLAYBOOK
from memoray.messages import Message
from memoray.retrieval.preload import place, render
from tests.support.desk import ANA, NOON, Desk, user


def test_user_and_assistant_text_is_kept_and_the_rest_counted() -> None:
    desk = Desk()
    receipt = desk.submit(
        user("hi"),
        Message("assistant", "", tool_calls=("search",)),
        Message("tool", "12 KB of results", tool_call_id="c1"),
        Message("assistant", "I looked it up.", tool_calls=("search",)),
        Message("system", "You are helpful."),
        Message("developer", "Be brief."),
        user("  \u200b "),
    )
    assert desk.texts() == ["hi", "I looked it up."]
    assert receipt.status == "accepted"
    assert receipt.left_out == {"tool call": 1, "tool result": 1, "system": 1, "other role": 1, "blank": 1}


def test_our_own_injected_block_is_not_taken_for_something_said() -> None:
    desk = Desk()
    block = "PRELOADED_USER_MEMORIES BEGINS\n- [m1] likes tea\nPRELOADED_USER_MEMORIES ENDS"
    receipt = desk.submit(user(block), user(f"{block}\n\nI moved to Lyon."))
    assert desk.texts() == ["I moved to Lyon."]
    assert receipt.left_out == {"preloaded memories": 1}


def test_the_prompt_as_preload_placed_it_gives_back_what_the_user_said() -> None:
    rendered = render([Entry(EntryId("m1"), "likes tea", NOON, NOON, 1)])
    prompt = place([{"role": "user", "content": "I moved to Lyon.\nIt rains."}], rendered, "user")
    desk = Desk()
    receipt = desk.submit(user(str(prompt[0]["content"])), user(rendered), user(f"{BLOCK_BEGINS}\nnever closed"))
    assert desk.texts() == ["I moved to Lyon.\nIt rains."]
    assert receipt.left_out == {"preloaded memories": 2}
    assert desk.submit(user(PLAYBOOK)).status == "accepted", "without a block it was said by somebody"


def test_a_repeat_with_the_same_request_id_gets_the_first_receipt() -> None:
    desk = Desk()
    first = desk.submit(user("one"), request_id="r")
    desk.submit(user("two"))
    assert desk.submit(user("one"), request_id="r") == first
    assert desk.texts() == ["one", "two"]


def test_a_request_id_used_for_something_else_is_refused() -> None:
    desk = Desk()
    desk.submit(user("one"), request_id="r")
    with pytest.raises(InvalidRequestError, match="another request"):
        desk.submit(user("two"), request_id="r")


def test_a_known_message_id_is_not_offered_twice() -> None:
    desk = Desk()
    desk.submit(user("one", id="a"))
    receipt = desk.submit(user("one", id="a"), user("two", id="b"))
    assert (receipt.known, desk.texts()) == (1, ["one", "two"])
    assert desk.submit(user("one", id="a")).status == "nothing_new"


def test_equal_messages_without_ids_are_told_apart_by_time_and_ordinal() -> None:
    desk = Desk()
    desk.submit(user("yes", timestamp=NOON), user("yes", timestamp=NOON))
    assert desk.submit(user("yes", timestamp=NOON)).status == "nothing_new"
    assert desk.submit(user("yes", timestamp=NOON + timedelta(microseconds=1))).status == "accepted"
    assert len(desk.texts()) == 3


def test_saying_the_same_again_without_id_or_time_is_new() -> None:
    desk = Desk()
    desk.submit(user("yes"))
    desk.submit(user("yes"), user("yes"))
    assert desk.texts() == ["yes", "yes", "yes"]


def test_the_same_id_in_another_session_or_of_another_user_is_another_message() -> None:
    desk = Desk()
    first = desk.submit(user("one", id="a"))
    second = desk.submit(user("one", id="a"), session="s2")
    third = desk.submit(user("one", id="a"), user=UserKey("app", "ben"))
    assert len({*first.turn_ids, *second.turn_ids, *third.turn_ids}) == 3


def test_a_passed_deadline_accepts_nothing() -> None:
    desk = Desk()
    receipt = desk.submit(user("one"), deadline=NOON - timedelta(days=1))
    assert receipt.status == "skipped"
    assert desk.state.last_seq == 0


def test_a_full_inbox_is_refused_with_a_time_to_come_back() -> None:
    desk = Desk(EngineConfig(jobs_count_max=2))
    desk.submit(user("one"))
    desk.submit(user("two"))
    with pytest.raises(BusyError) as refused:
        desk.submit(user("three"))
    assert refused.value.retry_after > 0
    assert desk.texts() == ["one", "two"]


def test_an_inbox_full_of_bytes_is_refused_but_one_large_delta_is_not() -> None:
    desk = Desk(EngineConfig(inbox_bytes_max=10))
    desk.submit(user("longer than ten bytes"))
    with pytest.raises(BusyError):
        desk.submit(user("x"))


def test_times_are_kept_in_utc_with_the_zone_beside_them() -> None:
    desk = Desk()
    kiritimati = timezone(timedelta(hours=14))
    desk.submit(user("early", timestamp=datetime(2026, 3, 29, 0, 30, tzinfo=kiritimati)))
    desk.submit(user("naive", timestamp=datetime(2026, 3, 29, 0, 30)))  # noqa: DTZ001 - the case
    turns = sorted(desk.state.user(ANA).turns.values(), key=lambda turn: turn.position)
    assert turns[0].timestamp == datetime(2026, 3, 28, 10, 30, tzinfo=UTC)
    assert turns[0].local_time.isoformat() == "2026-03-29T00:30:00+14:00"
    assert turns[1].timestamp == datetime(2026, 3, 29, 0, 30, tzinfo=UTC)


def test_nul_and_lone_surrogates_are_cleaned_from_text_and_refused_in_ids() -> None:
    desk = Desk()
    desk.submit(user("a\0b\ud800c"))
    assert desk.texts() == ["ab\ufffdc"]
    for bad in ("a\0", "\ud800", "", "x" * 513):
        with pytest.raises(InvalidRequestError):
            desk.submit(user("one"), session=bad)


def test_messages_over_a_mebibyte_are_refused_by_position() -> None:
    with pytest.raises(InvalidRequestError, match="message 1 has"):
        Desk().submit(user("ok"), user("x" * (1024 * 1024 + 1)))


def test_the_job_covers_the_delta() -> None:
    desk = Desk()
    receipt = desk.submit(user("one"), user("two"))
    state = desk.state.user(ANA)
    job = state.jobs[0]
    assert (job.id, job.until) == (receipt.job_id, 2)
    assert [turn.text for turn in state.delta_of(job)] == ["one", "two"]
    assert isinstance(receipt.seq, int)
    assert DeltaAccepted.__struct_config__.tag == "DeltaAccepted"
