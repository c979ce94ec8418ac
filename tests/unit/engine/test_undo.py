"""What is undone is decided against the state of the moment, however old the reading of the log is."""

from __future__ import annotations

from typing import NoReturn

import pytest
from msgspec.structs import replace

from memoray.engine.change import check_change, decide_change
from memoray.engine.decide import Stamp
from memoray.engine.undo import UndoPlan, check_undo, decide_undo
from memoray.engine.undo_plan import plan_undo
from memoray.engine.undoing import begin_undo
from memoray.entries import EntryId
from memoray.errors import InvalidRequestError
from memoray.events import AnyEvent, EntriesEmbedded, EntryRestored, EntryUpdated, TurnsRestored
from memoray.operations import Add, Clear, Delete, Operation, Update
from memoray.requests import OperationsAnswer, OperationsRequest, UndoRequest
from tests.support.desk import ANA, Desk, user


class UndoDesk(Desk):
    """A desk for a caller's operations and undos."""

    def apply(self, *operations: Operation) -> OperationsAnswer:
        self.number += 1
        change = check_change(OperationsRequest(ANA, operations, f"r{self.number}"))
        vectors = [None if text is None else text.encode() for text in change.texts]
        events, answer = decide_change(self.state, change, vectors, self.stamp, {})
        self.take(*events)
        return answer

    @property
    def stamp(self) -> Stamp:
        return Stamp(self.state.last_seq + 1, self.now)

    def plan(self, seq: int) -> UndoPlan:
        return plan_undo(self.batches, UndoRequest(ANA, "plan", seq))

    def undo(self, plan: UndoPlan, request_id: str = "undo", seq: int = 1) -> tuple[list[AnyEvent], OperationsAnswer]:
        self.number += 1
        events, answer = decide_undo(self.state, check_undo(UndoRequest(ANA, request_id, seq)), plan, self.stamp, {})
        self.take(*events)
        return list(events), answer

    def known(self) -> dict[str, str]:
        return {key: entry.text for key, entry in self.state.user(ANA).entries.items()}


def key_of(answer: OperationsAnswer, place: int = 0) -> EntryId:
    key = answer.outcomes[place].entry_id
    assert key is not None
    return key


def test_what_changes_between_the_reading_and_the_decision_is_left_as_it_is() -> None:
    desk = UndoDesk()
    added = desk.apply(Add("a"), Add("b"), Add("c"))
    plan = desk.plan(added.seq)
    desk.apply(Update(key_of(added), text="A"), Delete(key_of(added, 1)))
    _, answer = desk.undo(plan)
    assert [outcome.reason for outcome in answer.outcomes] == [
        plan.reason,
        "the entry was changed since",
        "the entry was deleted since",
    ]
    assert list(desk.known().values()) == ["A"]


def test_what_comes_back_between_the_reading_and_the_decision_does_not_come_back_twice() -> None:
    desk = UndoDesk()
    key = key_of(desk.apply(Add("a")))
    plan = desk.plan(desk.apply(Delete(key)).seq)
    _, first = desk.undo(plan)
    assert [outcome.status for outcome in first.outcomes] == ["applied"]
    _, second = desk.undo(plan, "another")
    assert [outcome.reason for outcome in second.outcomes] == ["the entry was brought back since"]
    again = desk.apply(Delete(key))
    _, third = desk.undo(plan, "a third")  # the version that it would come back with is taken
    assert [outcome.reason for outcome in third.outcomes] == ["the entry was brought back since"]
    desk.undo(desk.plan(again.seq), "the last")
    assert desk.state.user(ANA).entries[key].version == 3


def test_a_clear_between_the_reading_and_the_decision_stands() -> None:
    desk = UndoDesk()
    key = key_of(desk.apply(Add("a")))
    plan = desk.plan(desk.apply(Update(key, text="b")).seq)
    desk.apply(Clear())
    _, answer = desk.undo(plan)
    assert [outcome.reason for outcome in answer.outcomes] == ["the entry was deleted since"]
    assert desk.known() == {}


def test_a_repeat_that_was_begun_before_the_first_was_done_gets_its_answer() -> None:
    desk = UndoDesk()
    added = desk.apply(Add("a"))
    plan = desk.plan(added.seq)
    _, first = desk.undo(plan)
    events, again = desk.undo(plan)
    assert (events, again) == ([], first)
    with pytest.raises(InvalidRequestError, match="another request"):
        desk.undo(plan, seq=2)


def test_the_vector_is_that_of_the_text_that_comes_back() -> None:
    desk = UndoDesk()
    key = key_of(desk.apply(Add("a")))
    desk.apply(Update(key, topics=("t",)))
    changed = desk.apply(Update(key, text="b"))
    desk.apply(Update(key, topics=()), Update(key, topics=("t",)))
    events, _ = desk.undo(desk.plan(changed.seq))
    (restored,) = (event for event in events if isinstance(event, EntryRestored))
    assert (restored.entry.text, restored.entry.topics, restored.vector) == ("a", ("t",), b"a")
    assert restored.entry.version == 6


def test_messages_that_left_again_between_the_reading_and_the_decision_stay_away() -> None:
    desk = UndoDesk()
    desk.submit(user("a"))
    plan = desk.plan(desk.apply(Clear()).seq)
    desk.undo(plan)
    assert not len(desk.state.user(ANA).withdrawn)
    desk.apply(Clear())
    events, answer = desk.undo(plan, "another")
    assert [outcome.reason for outcome in answer.outcomes] == ["nothing is left to undo"]
    assert not [event for event in events if isinstance(event, TurnsRestored)]
    assert len(desk.state.user(ANA).withdrawn) == 1


def test_a_vector_that_came_for_an_earlier_version_is_not_that_of_a_later_text() -> None:
    desk = UndoDesk()
    key = key_of(desk.apply(Add("a")))
    desk.take(EntryUpdated(ANA, replace(desk.state.user(ANA).entries[key], text="b", version=2)))
    desk.take(EntriesEmbedded(ANA, (key,), (1,), (b"of a",)))
    events, _ = desk.undo(desk.plan(desk.apply(Delete(key)).seq))
    (restored,) = (event for event in events if isinstance(event, EntryRestored))
    assert (restored.entry.text, restored.vector) == ("b", None)
    assert key in desk.state.user(ANA).entries_unembedded


def test_a_repeat_is_answered_without_reading_the_log_again() -> None:
    desk = UndoDesk()
    _, first = desk.undo(desk.plan(desk.apply(Add("a")).seq))

    def never(*_args: object, **_kwargs: object) -> NoReturn:
        raise AssertionError("asked for nothing")

    assert begin_undo(UndoRequest(ANA, "undo", 1), desk.state, never, never).result(0.0) == first
