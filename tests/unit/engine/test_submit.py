"""What a submit becomes: turns, repeats, whole transcripts, bounds."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from memoray.config import EngineConfig
from memoray.engine.decide import Stamp
from memoray.engine.fold import fold
from memoray.engine.state import ShardState, empty_state
from memoray.engine.submit import Intake, check_submit, decide_submit
from memoray.errors import BusyError, InvalidRequestError
from memoray.events import Batch, DeltaAccepted, Receipt
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.requests import SubmitRequest

ANA = UserKey("app", "ana")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Desk:
    """Decides and folds, as the writer does."""

    def __init__(self, config: EngineConfig | None = None, **rules: object) -> None:
        self.intake = Intake(config or EngineConfig(), **rules)  # type: ignore[arg-type]  # the rules of an Intake
        self.state: ShardState = empty_state("log", requests_count_max=1000, requests_age_seconds_max=3600)
        self.number = 0

    def submit(
        self,
        *messages: Message,
        session: str = "s1",
        request_id: str | None = None,
        whole: bool = False,
        deadline: datetime | None = None,
        user: UserKey = ANA,
    ) -> Receipt:
        self.number += 1
        request = SubmitRequest(user, session, messages, request_id or f"r{self.number}", whole, deadline)
        stamp = Stamp(self.state.last_seq + 1, NOON + timedelta(seconds=self.number))
        events, receipt = decide_submit(self.state, check_submit(request), stamp, self.intake)
        if events:
            self.state = fold(self.state, Batch(1, stamp.seq, stamp.recorded_at, tuple(events)))
        return receipt

    def texts(self, session: str = "s1") -> list[str]:
        user = self.state.user(ANA)
        kept = user.sessions[session]
        return [user.turns[kept.turn_ids[position]].text for position in range(kept.length)]


def user(text: str, **fields: object) -> Message:
    return Message("user", text, **fields)  # type: ignore[arg-type]  # the fields of a Message


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


def test_a_whole_transcript_adds_what_is_beyond_the_known_beginning() -> None:
    desk = Desk()
    desk.submit(user("one"), Message("assistant", "two"))
    receipt = desk.submit(user("one"), Message("assistant", "two"), user("one"), whole=True)
    assert (receipt.known, desk.texts()) == (2, ["one", "two", "one"])
    assert desk.submit(user("one"), whole=True).status == "nothing_new"


def test_a_transcript_that_diverges_is_refused_with_the_position() -> None:
    desk = Desk()
    desk.submit(user("one"), user("two"))
    with pytest.raises(InvalidRequestError, match="at kept message 1: known user 'two', given user 'three'"):
        desk.submit(user("one"), user("three"), whole=True)
    assert desk.texts() == ["one", "two"]


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
