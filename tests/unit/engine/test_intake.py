"""Whether an accepted delta gets a job, and in what order one caller's requests are taken."""

from __future__ import annotations

from datetime import timedelta

import pytest

from memoray.config import EngineConfig, Interval
from memoray.engine.decide import POLLUTED
from memoray.engine.ids import request_hash
from memoray.engine.submit import CHECKER_SAID_NO, NO_EXTRACTOR, Intake
from memoray.errors import BusyError, CheckerFailedError, InvalidRequestError
from memoray.extraction.checkers import checker_of
from memoray.protocols import Check
from tests.support.desk import ANA, NOON, Desk, user


def test_what_the_checker_says_no_to_stays_pending_and_the_next_yes_covers_it() -> None:
    shown: list[list[str]] = []

    def third(check: Check) -> bool:
        shown.append([turn.text for turn in check.turns])
        return len(check.turns) > 2

    desk = Desk(checker=third)
    first, second = desk.submit(user("one")), desk.submit(user("two"))
    assert (first.status, first.job_id, first.reason) == ("accepted", None, CHECKER_SAID_NO)
    assert second.seq is not None
    assert desk.state.jobs_count == 0
    third_receipt = desk.submit(user("three"))
    assert (third_receipt.reason, shown) == ("", [["one"], ["one", "two"], ["one", "two", "three"]])
    state = desk.state.user(ANA)
    assert [turn.text for turn in state.delta_of(state.jobs[0])] == ["one", "two", "three"]
    assert desk.state.inbox_bytes == len("onetwothree")
    desk.submit(user("four"))
    assert shown[-1] == ["four"], "what is in a job is not counted again"


def test_the_checker_sees_when_the_session_was_extracted_and_what_time_it_is() -> None:
    seen: list[Check] = []

    def see(check: Check) -> bool:
        seen.append(check)
        return True

    desk = Desk(checker=see)
    desk.submit(user("one"))
    desk.extract()
    desk.submit(user("two"))
    desk.submit(user("other"), session="s2")
    assert [check.extracted_at for check in seen] == [None, NOON + timedelta(seconds=2), None]
    assert seen[1].now == NOON + timedelta(seconds=3)
    assert (seen[1].user, seen[2].session_id) == (ANA, "s2")


def test_an_interval_counts_from_the_last_extraction_by_recorded_time() -> None:
    desk = Desk(EngineConfig(checker=None), checker=checker_of(Interval(2)))
    assert desk.submit(user("one")).job_id is not None  # never extracted
    desk.extract()  # second 2
    assert desk.submit(user("two")).job_id is None  # second 3
    assert desk.submit(user("three")).job_id is None  # second 4: two seconds, not more
    assert desk.submit(user("four")).job_id is not None
    job = desk.state.user(ANA).jobs[0]
    assert [turn.text for turn in desk.state.user(ANA).delta_of(job)] == ["two", "three", "four"]


def test_a_checker_that_raises_accepts_nothing() -> None:
    def broken(check: Check) -> bool:
        raise KeyError(check.session_id)

    desk = Desk(checker=broken)
    with pytest.raises(CheckerFailedError, match="nothing was accepted"):
        desk.submit(user("one"))
    assert desk.state.last_seq == 0


def test_pending_messages_get_their_job_when_nothing_new_comes_but_the_checker_says_yes() -> None:
    answers = iter([False, False, True])
    desk = Desk(checker=lambda _: next(answers))
    desk.submit(user("one", id="a"))
    assert desk.submit(user("one", id="a")).job_id is None
    receipt = desk.submit(user("one", id="a"))
    assert (receipt.status, receipt.turn_ids, receipt.job_id) == ("nothing_new", (), desk.state.user(ANA).jobs[0].id)
    assert desk.submit(user("one", id="a")).job_id is None, "it is in a job now, so nobody is asked"


def never_asked(check: Check) -> bool:
    raise AssertionError(check)


def test_without_an_extractor_messages_are_kept_and_no_job_is_made() -> None:
    desk = Desk(extracts=False, checker=never_asked)
    receipt = desk.submit(user("one"))
    assert (receipt.status, receipt.job_id, receipt.reason) == ("accepted", None, NO_EXTRACTOR)
    assert (desk.texts(), desk.state.jobs_count) == (["one"], 0)
    desk.intake = Intake(EngineConfig())
    desk.submit(user("two"))
    state = desk.state.user(ANA)
    assert [turn.text for turn in state.delta_of(state.jobs[0])] == ["one", "two"]


def test_nothing_pending_is_refused_for_want_of_room() -> None:
    desk = Desk(EngineConfig(jobs_count_max=1), checker=lambda check: check.turns[-1].text != "no")
    desk.submit(user("one"))
    assert desk.submit(user("no")).status == "accepted"
    with pytest.raises(BusyError):
        desk.submit(user("two"))


def test_a_polluted_session_is_kept_and_not_extracted_from_then_on() -> None:
    desk = Desk(EngineConfig(skips_polluted=True))
    assert desk.submit(user("clean")).job_id is not None
    marked = desk.submit(user("from a web page"), is_polluted=True)
    assert (marked.status, marked.job_id, marked.reason) == ("accepted", None, POLLUTED)
    assert desk.submit(user("later")).job_id is None, "the mark stays"
    assert desk.submit(user("elsewhere"), session="s2").job_id is not None
    assert desk.texts() == ["clean", "from a web page", "later"]


def test_a_session_can_be_marked_with_nothing_new_and_the_mark_waits_for_its_guard() -> None:
    desk = Desk()
    desk.submit(user("one", id="a"))
    marked = desk.submit(user("one", id="a"), is_polluted=True)
    assert (marked.status, marked.seq is None) == ("nothing_new", False)
    assert desk.state.user(ANA).sessions["s1"].is_polluted
    assert desk.submit(user("two")).job_id is not None, "the guard is off"
    desk.intake = Intake(EngineConfig(skips_polluted=True))
    assert desk.submit(user("three")).job_id is None


def test_what_follows_a_refused_request_is_refused_until_that_one_is_accepted() -> None:
    desk = Desk(EngineConfig(jobs_count_max=1))
    desk.submit(user("one"), request_id="a")
    with pytest.raises(BusyError):
        desk.submit(user("two"), request_id="b", follows="a")
    desk.extract()  # there is room again
    for request, before in (("d", "c"), ("c", "b")):
        with pytest.raises(BusyError, match=f"request '{before}' comes before this one"):
            desk.submit(user(request), request_id=request, follows=before)
    desk.submit(user("two"), request_id="b", follows="a")
    desk.extract()
    desk.submit(user("three"), request_id="c", follows="b")
    assert desk.texts() == ["one", "two", "three"]


def test_a_repeat_is_answered_whatever_it_follows() -> None:
    desk = Desk()
    first = desk.submit(user("one"), request_id="a")
    assert desk.submit(user("one"), request_id="a", follows="never made") == first


def test_what_follows_a_request_that_left_nothing_to_accept_passes() -> None:
    desk = Desk()
    desk.submit(user("one", id="x"), request_id="a")
    assert desk.submit(user("one", id="x"), request_id="b").status == "nothing_new"
    with pytest.raises(BusyError):
        desk.submit(user("two"), request_id="c", follows="b")
    desk.settled.add(request_hash(ANA, "b"))
    desk.submit(user("two"), request_id="c", follows="b")
    assert desk.texts() == ["one", "two"]


def test_a_whole_session_follows_nothing_and_nothing_follows_itself() -> None:
    desk = Desk()
    desk.submit(user("one"), user("two"), whole=True, follows="never made")
    assert desk.texts() == ["one", "two"]
    with pytest.raises(InvalidRequestError, match="follow itself"):
        desk.submit(user("three"), request_id="a", follows="a")
