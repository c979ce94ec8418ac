"""Requests gather while a call is under way, and everybody gets the own answer, whatever fails."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoray.actors.coalescer import Coalescer, NoReplyError, Reply
from memoray.errors import BusyError, InternalError, InvalidRequestError

LONG = 20.0


class Call:
    """A call that is answered when told to; `passengers` is what it carries."""

    def __init__(self, passengers: list[bytes]) -> None:
        self.passengers = passengers
        self._outcome: Future[Sequence[Reply]] = Future()

    def replies(self, timeout: float) -> Sequence[Reply]:
        return self._outcome.result(timeout)

    def answer(self, replies: Sequence[Reply] | None = None) -> None:
        self._outcome.set_result([b"re:" + request for request in self.passengers] if replies is None else replies)

    def fail(self, error: Exception) -> None:
        self._outcome.set_exception(error)


class Wire:
    """Where calls go; remembers them."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.refusal: Exception | None = None

    def send(self, requests: list[bytes]) -> Call:
        if self.refusal is not None:
            raise self.refusal
        self.calls.append(Call(requests))
        return self.calls[-1]

    def next_call(self, number: int) -> Call:
        until(lambda: len(self.calls) > number)
        return self.calls[number]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not holds():
        assert time.monotonic() < deadline, "did not happen"
        time.sleep(0.001)


class Bench:
    """A coalescer with a wire, and threads that ask."""

    def __init__(self, *, count_max: int = 10, bytes_max: int = 1000, seconds_max: float = LONG) -> None:
        self.wire = Wire()
        self.coalescer = Coalescer(self.wire.send, count_max=count_max, bytes_max=bytes_max, seconds_max=seconds_max)
        self._pool = ThreadPoolExecutor(32)

    def ask(self, request: bytes, timeout: float = LONG) -> Future[bytes]:
        """Ask in a thread; returns once the request waits, so that the order of requests is known."""
        before = self.known()
        asked = self._pool.submit(self.coalescer.ask, request, timeout)
        until(lambda: self.known() > before or asked.done())
        return asked

    def known(self) -> int:
        """How many requests have been taken."""
        return self.coalescer.waiting_count + sum(len(call.passengers) for call in self.wire.calls)


def test_who_is_alone_does_not_wait() -> None:
    bench = Bench()
    for number in range(3):
        asked = bench.ask(b"%d" % number)
        call = bench.wire.next_call(number)
        assert call.passengers == [b"%d" % number]
        call.answer()
        assert asked.result(LONG) == b"re:%d" % number


def test_what_comes_while_a_call_is_under_way_shares_the_next_one_in_order() -> None:
    bench = Bench()
    first = bench.ask(b"a")
    bench.wire.next_call(0)
    others = [bench.ask(request) for request in (b"b", b"c", b"d")]
    assert len(bench.wire.calls) == 1
    bench.wire.calls[0].answer()
    assert first.result(LONG) == b"re:a"
    call = bench.wire.next_call(1)
    assert call.passengers == [b"b", b"c", b"d"]
    call.answer()
    assert [other.result(LONG) for other in others] == [b"re:b", b"re:c", b"re:d"]
    assert len(bench.wire.calls) == 2


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        ({"count_max": 2}, [[b"0" * 30, b"1" * 30], [b"2" * 30, b"3" * 30]]),
        ({"bytes_max": 90}, [[b"0" * 30, b"1" * 30, b"2" * 30], [b"3" * 30]]),
        ({"bytes_max": 10}, [[b"0" * 30], [b"1" * 30], [b"2" * 30], [b"3" * 30]]),
    ],
)
def test_a_call_is_bounded_but_carries_one_request_at_least(
    bounds: dict[str, int], expected: list[list[bytes]]
) -> None:
    bench = Bench(**bounds)
    bench.ask(b"first")
    bench.wire.next_call(0)
    others = [bench.ask(b"%d" % number * 30) for number in range(4)]
    for number in range(1 + len(expected)):
        bench.wire.next_call(number).answer()
    assert [other.result(LONG)[3:4] for other in others] == [b"0", b"1", b"2", b"3"]
    assert [call.passengers for call in bench.wire.calls[1:]] == expected


def test_one_bad_request_harms_nobody_else() -> None:
    bench = Bench()
    bench.ask(b"first")
    bench.wire.next_call(0)
    good, bad, busy = bench.ask(b"good"), bench.ask(b"bad"), bench.ask(b"busy")
    bench.wire.calls[0].answer()
    refusals: list[Reply] = [b"fine", InvalidRequestError("no such thing"), BusyError("full", retry_after=3.0)]
    bench.wire.next_call(1).answer(refusals)
    assert good.result(LONG) == b"fine"
    with pytest.raises(InvalidRequestError, match="no such thing"):
        bad.result(LONG)
    with pytest.raises(BusyError) as raised:
        busy.result(LONG)
    assert raised.value.retry_after == 3.0


def test_a_call_that_fails_is_the_failure_of_those_in_it_alone() -> None:
    bench = Bench()
    first = bench.ask(b"first")
    bench.wire.next_call(0)
    later = bench.ask(b"later")
    bench.wire.calls[0].fail(ConnectionError("the actor died"))
    with pytest.raises(NoReplyError) as raised:
        first.result(LONG)
    assert raised.value.was_sent
    assert isinstance(raised.value.__cause__, ConnectionError)
    bench.wire.next_call(1).answer()
    assert later.result(LONG) == b"re:later"


def test_what_could_not_be_sent_was_not_sent() -> None:
    bench = Bench()
    bench.wire.refusal = ConnectionError("no such actor")
    with pytest.raises(NoReplyError) as raised:
        bench.coalescer.ask(b"a", LONG)
    assert not raised.value.was_sent
    assert isinstance(raised.value.__cause__, ConnectionError)
    bench.wire.refusal = None
    asked = bench.ask(b"b")
    bench.wire.next_call(0).answer()
    assert asked.result(LONG) == b"re:b"


def test_who_is_not_answered_this_time_is_asked_for_first_in_the_next_call() -> None:
    bench = Bench()
    bench.ask(b"first")
    bench.wire.next_call(0)
    slow, quick = bench.ask(b"slow"), bench.ask(b"quick")
    bench.wire.calls[0].answer()
    bench.wire.next_call(1)
    late = bench.ask(b"late")
    bench.wire.calls[1].answer([None, b"done"])
    assert quick.result(LONG) == b"done"
    call = bench.wire.next_call(2)
    assert call.passengers == [b"slow", b"late"]
    call.answer()
    assert slow.result(LONG) == b"re:slow"
    assert late.result(LONG) == b"re:late"


def test_whoever_gives_up_leaves_the_call_to_the_others() -> None:
    bench = Bench()
    hasty = bench.ask(b"hasty", timeout=0.2)  # leads
    bench.wire.next_call(0)
    patient = bench.ask(b"patient")
    with pytest.raises(NoReplyError) as raised:
        hasty.result(LONG)
    assert raised.value.was_sent
    assert len(bench.wire.calls) == 1
    bench.wire.calls[0].answer()
    call = bench.wire.next_call(1)
    assert call.passengers == [b"patient"]
    call.answer()
    assert patient.result(LONG) == b"re:patient"


def test_a_call_that_all_have_given_up_on_is_still_waited_for() -> None:
    bench = Bench()
    with pytest.raises(NoReplyError):
        bench.ask(b"hasty", timeout=0.05).result(LONG)
    with pytest.raises(NoReplyError) as raised:
        bench.ask(b"queued", timeout=0.05).result(LONG)
    assert not raised.value.was_sent
    asked = bench.ask(b"patient")
    assert len(bench.wire.calls) == 1
    bench.wire.calls[0].answer()
    bench.wire.next_call(1).answer()
    assert asked.result(LONG) == b"re:patient"


def test_a_call_that_takes_too_long_has_failed() -> None:
    bench = Bench(seconds_max=0.1)
    with pytest.raises(NoReplyError) as raised:
        bench.ask(b"a").result(LONG)
    assert raised.value.was_sent
    asked = bench.ask(b"b")
    bench.wire.next_call(1).answer()
    assert asked.result(LONG) == b"re:b"


def test_a_wrong_number_of_replies_is_told_to_all() -> None:
    bench = Bench()
    asked = bench.ask(b"a")
    bench.wire.next_call(0).answer([b"x", b"y"])
    with pytest.raises(NoReplyError) as raised:
        asked.result(LONG)
    assert isinstance(raised.value.__cause__, InternalError)


def test_an_interrupt_of_the_leader_harms_nobody_else() -> None:
    bench = Bench()
    bench.wire.refusal = None

    class Interrupted(Call):
        def replies(self, timeout: float) -> Sequence[Reply]:
            if threading.current_thread() is not leader:
                return super().replies(timeout)
            until(lambda: bench.known() > 1)
            raise KeyboardInterrupt

    def send(requests: list[bytes]) -> Call:
        bench.wire.calls.append(Interrupted(requests) if not bench.wire.calls else Call(requests))
        return bench.wire.calls[-1]

    bench.coalescer = Coalescer(send, count_max=10, bytes_max=1000, seconds_max=LONG)
    raised: list[BaseException] = []

    def lead() -> None:
        try:
            bench.coalescer.ask(b"leader", LONG)
        except KeyboardInterrupt as error:
            raised.append(error)

    leader = threading.Thread(target=lead)
    leader.start()
    bench.wire.next_call(0)
    other = bench.ask(b"other")
    leader.join(LONG)
    assert len(raised) == 1
    bench.wire.calls[0].answer()
    bench.wire.next_call(1).answer()
    assert other.result(LONG) == b"re:other"


# What becomes of the requests of one call, in order; used up, all goes well.
FATES = st.lists(st.sampled_from(["well", "refused", "later", "send fails", "call fails", "too few"]), max_size=40)


class FatefulWire:
    """Answers at once, as its fates say, and sees to it that calls do not overlap."""

    def __init__(self, fates: list[str]) -> None:
        self._fates = iter(fates)
        self._under_way = 0
        self.served: list[bytes] = []

    def send(self, requests: list[bytes]) -> FatefulWire:
        assert self._under_way == 0, "two calls at once"
        fate = next(self._fates, "well")
        if fate == "send fails":
            raise ConnectionError(fate)
        self._under_way += 1
        self._requests, self._fate = requests, fate
        return self

    def replies(self, timeout: float) -> Sequence[Reply]:
        assert timeout >= 0
        self._under_way -= 1
        if self._fate == "call fails":
            raise ConnectionError(self._fate)
        replies = [self._reply(at, request) for at, request in enumerate(self._requests)]
        return replies[1:] if self._fate == "too few" else replies

    def _reply(self, at: int, request: bytes) -> Reply:
        if self._fate == "refused" and at % 2 == 0:
            return InvalidRequestError(f"refused:{request.decode()}")
        if self._fate == "later" and at % 2 == 0:
            return None
        self.served.append(request)
        return b"re:" + request


@settings(max_examples=60)
@given(fates=FATES, threads_count=st.integers(1, 6), count_max=st.integers(1, 4))
def test_everybody_gets_the_own_answer_whatever_fails(fates: list[str], threads_count: int, count_max: int) -> None:
    wire = FatefulWire(fates)
    coalescer = Coalescer(wire.send, count_max=count_max, bytes_max=30, seconds_max=LONG)

    def ask(request: bytes) -> str:
        for _ in range(60):
            try:
                answer = coalescer.ask(request, LONG)
            except InvalidRequestError as error:
                return str(error)
            except NoReplyError as error:
                assert isinstance(error.__cause__, ConnectionError | InternalError)  # noqa: PT017 - each try may fail
            else:
                assert request in wire.served
                return answer.decode()
        raise AssertionError(request)

    def work(worker: int) -> list[tuple[str, str]]:
        names = [f"{worker}-{number}" for number in range(6)]
        return [(name, ask(name.encode())) for name in names]

    with ThreadPoolExecutor(threads_count) as pool:
        told = [pair for pairs in pool.map(work, range(threads_count)) for pair in pairs]
    assert len(told) == 6 * threads_count
    assert all(answer in {f"re:{name}", f"refused:{name}"} for name, answer in told)
