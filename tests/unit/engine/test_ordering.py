"""A client's requests of one session: which comes before which, and what a refusal does to those after it."""

from __future__ import annotations

import pytest

from memoray.engine.memory import Memory
from memoray.engine.ordering import PENDING_SECONDS_MAX, SessionOrder
from memoray.errors import BusyError, InvalidRequestError, MemorayError, OutcomeUnknownError
from memoray.events import Receipt
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.requests import SubmitRequest

HERE, ELSEWHERE = (UserKey("app", "ana"), "s1"), (UserKey("app", "ana"), "s2")


def test_each_request_comes_after_the_one_before_it_that_is_not_answered() -> None:
    order = SessionOrder()
    assert order.join(HERE, "a", 0) is None
    assert order.join(HERE, "b", 0) == "a"
    assert order.join(HERE, "c", 0) == "b"
    assert order.join(ELSEWHERE, "x", 0) is None
    order.leave(HERE, "b")
    assert order.join(HERE, "c", 1) == "a", "made again, it keeps its place"
    order.leave(HERE, "a")
    assert order.join(HERE, "c", 2) is None


def test_after_a_refusal_the_later_ones_are_refused_until_it_is_made_again() -> None:
    order = SessionOrder()
    order.join(HERE, "a", 0)
    order.refuse(HERE, "a")
    for later in ("b", "c", "b"):
        with pytest.raises(BusyError, match="repeat that one first"):
            order.join(HERE, later, 1)
    assert order.join(HERE, "a", 2) is None
    order.leave(HERE, "a")
    with pytest.raises(BusyError, match="request 'b'"):
        order.join(HERE, "c", 3)
    assert order.join(HERE, "b", 4) is None
    assert order.join(HERE, "c", 5) == "b", "under way again, so the shard is asked"
    assert order.join(ELSEWHERE, "x", 5) is None


def test_a_whole_session_comes_after_nothing_and_ends_every_wait_once_it_is_taken() -> None:
    order = SessionOrder()
    order.join(HERE, "a", 0)
    order.refuse(HERE, "a")
    assert order.join(HERE, "whole", 1, is_whole=True) is None
    assert order.join(HERE, "b", 1) == "whole"
    order.forget(HERE)
    assert order.join(HERE, "c", 2) is None


def test_what_is_not_made_again_for_long_counts_as_given_up() -> None:
    order = SessionOrder()
    order.join(HERE, "a", 0)
    order.refuse(HERE, "a")
    with pytest.raises(BusyError):
        order.join(HERE, "b", PENDING_SECONDS_MAX)
    assert order.join(HERE, "b", PENDING_SECONDS_MAX + 1) is None


def test_no_more_sessions_are_remembered_than_the_bound() -> None:
    order = SessionOrder(sessions_count_max=2)
    sessions = [(UserKey("app", "ana"), f"s{number}") for number in range(3)]
    for session in sessions:
        order.join(session, "a", 0)
    assert [order.join(session, "b", 0) for session in reversed(sessions)] == ["a", "a", None]


class FakeMemory(Memory):
    """A client whose shard does what it is told, request by request."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, str | None]] = []
        self.errors: dict[str, MemorayError] = {}

    def _submit(self, request: SubmitRequest) -> Receipt:
        self.sent.append((request.request_id, request.follows))
        if request.request_id in self.errors:
            raise self.errors.pop(request.request_id)
        return Receipt("accepted", request.session_id)

    _apply = _undo = _read = _history = _search = _preload = _status = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride] - not asked

    def say(self, request_id: str, *, is_whole: bool = False) -> Receipt:
        submit = self.submit_session if is_whole else self.submit
        return submit(UserKey("app", "ana"), "s1", [Message("user", request_id)], request_id=request_id)


def test_a_client_sends_nothing_after_a_refusal_before_the_refused_call_is_made_again() -> None:
    memory = FakeMemory()
    memory.errors["a"] = BusyError("full", retry_after=1.0)
    with pytest.raises(BusyError, match="full") as refused:
        memory.say("a")
    assert refused.value.request_id == "a"
    for later in ("b", "c"):
        with pytest.raises(BusyError, match=r"request '.' of session 's1' was refused"):
            memory.say(later)
    assert memory.sent == [("a", None)]
    for request_id in ("a", "b", "c"):
        memory.say(request_id)
    assert memory.sent == [("a", None), ("a", None), ("b", None), ("c", None)]


def test_after_an_unknown_outcome_the_shard_is_told_what_the_next_call_follows() -> None:
    memory = FakeMemory()
    memory.errors["a"] = OutcomeUnknownError("no answer", request_id="a")
    with pytest.raises(OutcomeUnknownError):
        memory.say("a")
    memory.say("b")
    memory.say("c")
    assert memory.sent == [("a", None), ("b", "a"), ("c", "a")]
    memory.say("a")
    memory.say("d")
    assert memory.sent[3:] == [("a", None), ("d", None)]


def test_a_call_that_is_wrong_and_a_whole_session_hold_nothing_up() -> None:
    memory = FakeMemory()
    memory.errors["a"] = InvalidRequestError("wrong")
    with pytest.raises(InvalidRequestError):
        memory.say("a")
    memory.errors["b"] = BusyError("full", retry_after=1.0)
    with pytest.raises(BusyError):
        memory.say("b")
    memory.say("whole", is_whole=True)
    memory.say("c")
    assert memory.sent == [("a", None), ("b", None), ("whole", None), ("c", None)]
