from __future__ import annotations

from concurrent.futures import Future

import pytest

from memoray.actors import batch
from memoray.actors.batch import UnderWay, answer_each, await_each
from memoray.errors import InternalError, InvalidRequestError


def shout(request: bytes) -> bytes:
    if request == b"bad":
        raise InvalidRequestError("bad request")
    if request == b"bug":
        raise KeyError("oops")
    return request.upper()


def test_each_request_has_its_own_answer_or_error() -> None:
    replies = answer_each(shout, [b"a", b"bad", b"bug", b"b"])
    assert (replies[0], replies[3]) == (b"A", b"B")
    assert isinstance(replies[1], InvalidRequestError)
    assert isinstance(replies[2], InternalError)


def test_after_a_large_answer_the_others_are_left_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "REPLY_BYTES_MAX", 3)
    assert answer_each(shout, [b"ab", b"cd", b"ef", b"g"]) == [b"AB", b"CD", None, None]
    assert answer_each(shout, [b"abcdef", b"g"]) == [b"ABCDEF", None], "the first is always answered"


def test_after_a_slow_answer_the_others_are_left_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "HOLD_SECONDS", -1.0)
    assert answer_each(shout, [b"a", b"b"]) == [b"A", None]


def test_what_is_not_done_in_time_is_left_for_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "HOLD_SECONDS", 0.01)
    done, never, failed = Future[str](), Future[str](), Future[str]()
    done.set_result("done")
    failed.set_exception(InvalidRequestError("no"))
    refused = InvalidRequestError("not even begun")
    replies = await_each([never, done, failed, refused], [False, True, False, False])
    assert replies[:2] == [None, b'"done"']
    assert isinstance(replies[2], InvalidRequestError)
    assert replies[3] is refused


def test_what_is_asked_about_again_while_it_is_under_way_is_joined() -> None:
    under_way, begun = UnderWay[str](), list[Future[str]]()

    def start() -> Future[str]:
        begun.append(Future())
        return begun[-1]

    first = under_way.begin(b"a", start)
    assert under_way.begin(b"a", start) is first
    assert under_way.begin(b"b", start) is not first
    first.set_result("done")
    assert under_way.begin(b"a", start) is not first, "done is done; what it was is in the log"
    assert len(begun) == 3
