"""When a caller asks again, when it gives up, and what it says then; the wire is scripted, Ray is not running."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from ray.exceptions import ActorDiedError, ActorUnavailableError

from memoray.actors import calls
from memoray.actors.calls import Caller
from memoray.actors.coalescer import Reply
from memoray.actors.handles import Handles, NoActorError
from memoray.errors import (
    BusyError,
    FencedError,
    InternalError,
    InvalidRequestError,
    MemorayError,
    OutcomeUnknownError,
    OwnedElsewhereError,
    ShardUnavailableError,
    UnavailableError,
)


class Script:
    """What becomes of each call: replies, or an error, raised when it is sent or when it is waited for."""

    def __init__(self, *steps: Reply | Exception, when_used_up: Reply | Exception = b"done") -> None:
        self._steps = iter(steps)
        self._last = when_used_up
        self.sent: list[list[bytes]] = []
        self.forgotten: list[str] = []

    def call(self, _handles: Handles, name: str, method: str, requests: list[bytes]) -> _Scripted:
        assert (name, method) == ("shard-0", "submit")
        step = next(self._steps, self._last)
        if isinstance(step, NoActorError):
            raise step
        self.sent.append(requests)
        return _Scripted(step, len(requests))


class _Scripted:
    def __init__(self, step: Reply | Exception, count: int) -> None:
        self._step = step
        self._count = count

    def replies(self, timeout: float) -> Sequence[Reply]:
        assert timeout >= 0
        if isinstance(self._step, Exception) and not isinstance(self._step, MemorayError):
            raise self._step
        return [self._step] * self._count


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "WAIT_SECONDS", 0.001)


def ask(
    monkeypatch: pytest.MonkeyPatch, script: Script, *, seconds_max: float = 5.0, request_id: str | None = "r1"
) -> bytes:
    monkeypatch.setattr(calls, "RayCall", script.call)

    def forget(_handles: Handles, name: str) -> None:
        script.forgotten.append(name)

    monkeypatch.setattr(Handles, "forget", forget)
    return Caller("nowhere").ask("shard-0", "submit", b"same", seconds_max=seconds_max, request_id=request_id)


def gone(*, was_there: bool) -> NoActorError:
    return NoActorError("no actor 'shard-0'", was_there=was_there)


def fenced() -> FencedError:
    return FencedError("epoch 2 has been claimed", epoch=1, newer_epoch=2)


def test_the_same_bytes_are_sent_until_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(
        ActorUnavailableError("restarting", None),
        BusyError("full", retry_after=0.001),
        OwnedElsewhereError("a command has the store"),
        ActorDiedError(),
        gone(was_there=True),
        OutcomeUnknownError("the log failed", request_id="r1"),
    )
    assert ask(monkeypatch, script) == b"done"
    assert script.sent == [[b"same"]] * 6
    assert script.forgotten == ["shard-0"], "the next owner is looked up by name"


@pytest.mark.parametrize("error", [InvalidRequestError("wrong"), UnavailableError("too late; nothing was done")])
def test_what_the_shard_has_decided_is_told_at_once(monkeypatch: pytest.MonkeyPatch, error: MemorayError) -> None:
    script = Script(ActorUnavailableError("restarting", None), error)
    with pytest.raises(type(error)) as raised:
        ask(monkeypatch, script)
    assert raised.value is error
    assert len(script.sent) == 2


@pytest.mark.parametrize("error", [BusyError("full", retry_after=0.01), OwnedElsewhereError("a command has it")])
def test_a_refusal_that_does_not_pass_is_told_as_it_is(monkeypatch: pytest.MonkeyPatch, error: MemorayError) -> None:
    with pytest.raises(type(error)) as raised:
        ask(monkeypatch, Script(when_used_up=error), seconds_max=0.05)
    assert raised.value is error


def test_a_refusal_says_nothing_about_an_earlier_try(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(ActorUnavailableError("died", None), when_used_up=BusyError("full", retry_after=0.01))
    with pytest.raises(OutcomeUnknownError, match="'r1'") as raised:
        ask(monkeypatch, script, seconds_max=0.05)
    assert raised.value.request_id == "r1"


def test_an_unknown_outcome_is_asked_about_before_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "WAIT_SECONDS", 0.04)
    script = Script(ActorUnavailableError("died", None))
    # The first wait already ends too late, so only the extra time leaves room for a second try.
    assert ask(monkeypatch, script, seconds_max=0.039) == b"done"
    assert len(script.sent) == 2


def test_a_read_that_is_not_answered_has_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(when_used_up=ActorUnavailableError("restarting", None))
    with pytest.raises(ShardUnavailableError, match=r"shard-0.submit was not answered") as raised:
        ask(monkeypatch, script, seconds_max=0.03, request_id=None)
    assert not isinstance(raised.value, OutcomeUnknownError)


def test_who_never_was_there_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(gone(was_there=False))
    with pytest.raises(ShardUnavailableError, match="no actor"):
        ask(monkeypatch, script)
    assert script.sent == []


def test_who_has_left_for_a_newer_owner_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ShardUnavailableError, match="nothing was done, as the store has another owner now: epoch 2"):
        ask(monkeypatch, Script(fenced(), when_used_up=gone(was_there=True)))


def test_a_write_under_way_when_the_owner_left_has_an_unknown_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(OutcomeUnknownError("fenced", request_id="r1"), fenced(), when_used_up=gone(was_there=True))
    with pytest.raises(OutcomeUnknownError, match="epoch 2"):
        ask(monkeypatch, script)


def test_a_bug_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    script = Script(when_used_up=KeyError("oops"))
    with pytest.raises(InternalError, match="oops"):
        ask(monkeypatch, script)
    assert len(script.sent) == 1
