"""The inbox with real threads: a full one, a closed one, callers that wait, repeats under way, what is polluted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import pytest

from memoray.config import EngineConfig, MessageCount
from memoray.errors import BusyError, ExtractorUnavailableError, OutcomeUnknownError, StorageUnavailableError
from memoray.events import Receipt
from memoray.messages import Message
from memoray.operations import Add, Operation
from memoray.protocols import Extraction, ExtractionRequest
from memoray.requests import StatusRequest, SubmitRequest
from memoray.storage.memory_filesystem import MemoryFileSystem
from tests.support.faulty_filesystem import FaultyFileSystem
from tests.support.shards import ANA, BEN, START, ScriptedExtractor, ShardBench, each_turn

Build = Callable[..., ShardBench]
SECONDS_MAX = 20.0


class GatedExtractor(ScriptedExtractor):
    """Waits before each delta of ANA until it is let go; lists those that it has begun."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Semaphore(0)
        self.begun: list[str] = []

    def extract(self, request: ExtractionRequest) -> Extraction:
        self.begun.append(request.turns[0].text)
        assert request.user != ANA or self.gate.acquire(timeout=SECONDS_MAX), "nobody let the extractor go"
        return super().extract(request)

    def let_go(self, count: int = 1000) -> None:
        self.gate.release(count)


@pytest.fixture
def build() -> Iterator[Build]:
    """Builds shards; at the end each must hold every invariant, also after a reopening."""
    benches: list[ShardBench] = []

    def make(**parts: object) -> ShardBench:
        benches.append(ShardBench(**parts))  # type: ignore[arg-type]  # the parts of a ShardBench
        return benches[-1]

    yield make
    for bench in benches:
        if isinstance(bench.extractor, GatedExtractor):
            bench.extractor.let_go()
        bench.check()
        bench.shard.close(10.0)


@pytest.fixture
def callers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(32) as pool:
        yield pool


def small(user_jobs: int = 2, **bounds: object) -> EngineConfig:
    return EngineConfig(user_jobs_count_max=user_jobs, backoff_seconds=0.01, backoff_seconds_max=0.02, **bounds)  # type: ignore[arg-type]  # fields of an EngineConfig


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.002)


def turns_kept(bench: ShardBench, count: int) -> None:
    until(lambda: len(bench.shard.state().user(ANA).turns) == count, f"{count} turns are not durable")


def jobs_left(bench: ShardBench, count: int) -> None:
    until(lambda: len(bench.shard.state().user(ANA).jobs) == count, f"{count} jobs are not what is left")


def test_a_live_caller_of_a_full_inbox_is_answered_when_its_own_job_is_done(
    build: Build, callers: ThreadPoolExecutor
) -> None:
    extractor = GatedExtractor()
    bench = build(extractor=extractor, config=small(2))
    bench.submit("one")
    bench.submit("two")
    waiting = callers.submit(bench.submit, "three")
    turns_kept(bench, 3)  # durable before anybody is let go
    bench.submit("elsewhere", user=BEN)  # who does not wait for it
    for done in range(3):
        assert not waiting.done(), f"answered after {done} jobs"
        extractor.let_go(1)
        jobs_left(bench, 2 - done)
    receipt = waiting.result(SECONDS_MAX)
    assert (receipt.status, bench.shard.state().user(ANA).job(receipt.job_id or "")) == ("accepted", None)
    assert [text for text in extractor.begun if text != "elsewhere"] == ["one", "two", "three"]


def test_a_caller_of_a_full_inbox_is_answered_at_its_deadline_and_nothing_is_lost(build: Build) -> None:
    extractor = GatedExtractor()
    bench = build(extractor=extractor, config=small(1))
    bench.submit("one")
    deadline = bench.clock.now() + timedelta(seconds=3)  # the clock goes a second with each look
    messages = (Message("user", "two", timestamp=START),)
    receipt = bench.shard.submit(SubmitRequest(ANA, "s1", messages, bench.new_id(), deadline=deadline))
    assert receipt.status == "accepted"
    assert len(bench.shard.state().user(ANA).jobs) == 2
    passed = bench.shard.submit(SubmitRequest(ANA, "s1", messages[:0], bench.new_id(), deadline=deadline))
    assert passed.status == "skipped"
    extractor.let_go()
    bench.settle()
    assert bench.texts() == ["one", "two"]


def test_a_caller_without_a_deadline_waits_no_longer_than_the_bound(build: Build) -> None:
    bench = build(extractor=GatedExtractor(), config=small(1, submit_seconds_max=1.3))
    bench.submit("one")
    assert bench.submit("two").status == "accepted"
    assert len(bench.shard.state().user(ANA).jobs) == 2


def test_a_caller_of_a_full_inbox_is_answered_when_its_job_has_failed_once(build: Build) -> None:
    asked: list[str] = []
    answered = threading.Event()

    def propose(request: ExtractionRequest) -> Sequence[Operation]:
        asked.append(request.turns[-1].text)
        if asked == ["poison"]:
            raise ExtractorUnavailableError("the model is down")
        assert answered.wait(SECONDS_MAX), "the caller waits for the second attempt too"
        return each_turn(request)

    bench = build(extractor=ScriptedExtractor(propose), config=small(0, submit_seconds_max=600.0))
    receipt = bench.submit("poison")
    job = bench.shard.state().user(ANA).job(receipt.job_id or "")
    assert job is not None
    assert job.attempts == 1
    answered.set()
    bench.settle()
    assert bench.texts() == ["poison"]


def test_a_caller_of_a_full_inbox_is_answered_when_its_job_is_parked(build: Build) -> None:
    def propose(_request: ExtractionRequest) -> Sequence[Operation]:
        raise ExtractorUnavailableError("the model is down")

    bench = build(extractor=ScriptedExtractor(propose), config=small(0, submit_seconds_max=600.0, job_attempts_max=1))
    assert bench.submit("poison").status == "accepted"
    assert [job.state for job in bench.shard.status(StatusRequest(ANA)).jobs] == ["parked"]


def test_a_clear_ends_the_wait_for_the_job_that_it_takes_away(build: Build, callers: ThreadPoolExecutor) -> None:
    from memoray.operations import Clear  # noqa: PLC0415 - used once

    bench = build(extractor=GatedExtractor(), config=small(1))
    bench.submit("one")
    waiting = callers.submit(bench.submit, "two")
    turns_kept(bench, 2)
    bench.apply(Clear())
    assert waiting.result(SECONDS_MAX).status == "accepted"


def test_only_so_many_callers_wait_and_the_next_is_refused(build: Build, callers: ThreadPoolExecutor) -> None:
    bench = build(extractor=GatedExtractor(), config=small(1, submits_waiting_max=2))
    bench.submit("one")
    waiting = [callers.submit(bench.submit, text, request_id=text) for text in ("two", "three")]
    turns_kept(bench, 3)
    with pytest.raises(BusyError, match="2 callers wait"):
        bench.submit("four")
    assert len(bench.shard.state().user(ANA).turns) == 3
    # A repeat has nothing left to be refused: it is told what the first will be told.
    repeat = bench.submit("two", request_id="two")
    assert repeat.status == "accepted"
    bench.submit("elsewhere", user=BEN)
    gated(bench).let_go()
    assert repeat in [future.result(SECONDS_MAX) for future in waiting]
    bench.submit("four")


def gated(bench: ShardBench) -> GatedExtractor:
    assert isinstance(bench.extractor, GatedExtractor)
    return bench.extractor


def test_past_the_bound_of_the_shard_nobody_is_accepted_and_all_are_once_there_is_room(build: Build) -> None:
    bench = build(extractor=GatedExtractor(), config=small(100, jobs_count_max=3))
    for text in ("maple", "birch", "cedar"):
        bench.submit(text)
    with pytest.raises(BusyError) as refused:
        bench.submit("alder", request_id="again")
    assert refused.value.retry_after > 0
    with pytest.raises(BusyError):
        bench.submit("other", user=BEN)
    gated(bench).let_go()
    bench.settle()
    bench.submit("alder", request_id="again")
    bench.settle()
    assert bench.texts() == ["alder", "birch", "cedar", "maple"]


def test_without_workers_callers_run_their_own_jobs_in_order(build: Build, callers: ThreadPoolExecutor) -> None:
    running: list[str] = []

    def propose(request: ExtractionRequest) -> Sequence[Operation]:
        running.append(request.turns[-1].text)
        assert len(running) == 1, "two jobs of one user at a time"
        time.sleep(0.005)
        running.clear()
        return each_turn(request)

    extractor = ScriptedExtractor(propose)
    bench = build(extractor=extractor, config=small(10, extraction_workers_count=0))
    receipts: list[Future[Receipt]] = [callers.submit(bench.submit, f"note {number}") for number in range(8)]
    for future in receipts:
        receipt = future.result(SECONDS_MAX)
        assert bench.shard.state().user(ANA).job(receipt.job_id or "") is None
    state = bench.shard.state().user(ANA)
    said = [state.turns[state.sessions["s1"].turn_ids[position]].text for position in range(8)]
    assert [turn.text for request in extractor.requests for turn in request.turns] == said


def test_without_workers_too_a_caller_is_answered_at_its_deadline_and_its_job_goes_on(build: Build) -> None:
    # The clock goes a second with each look, so a third of a second is left.
    bench = build(extractor=GatedExtractor(), config=small(10, extraction_workers_count=0, submit_seconds_max=1.3))
    assert bench.submit("one").status == "accepted"
    assert gated(bench).begun == ["one"]
    assert bench.texts() == []
    gated(bench).let_go()
    until(lambda: bench.texts() == ["one"], "the job did not go on")


def test_without_workers_the_jobs_from_before_come_first(build: Build) -> None:
    bench = build(extractor=GatedExtractor(), config=small(10))
    bench.submit("one")
    bench.submit("two", session="s2")
    until(lambda: gated(bench).begun == ["one"], "the first job does not begin")
    bench.config = small(10, extraction_workers_count=0)
    extractor = ScriptedExtractor()
    first = gated(bench)
    bench.extractor = extractor
    closing = threading.Thread(target=bench.shard.close, args=(10.0,))
    closing.start()
    first.let_go(1)  # the one under way ends, the other waits for the next opening
    closing.join()
    bench.open()
    bench.submit("three", session="s3")
    assert [request.turns[0].text for request in extractor.requests] == ["two", "three"]
    assert bench.texts() == ["one", "three", "two"]


def test_who_waits_is_answered_when_the_shard_closes_and_the_job_goes_on_at_the_next_opening(
    build: Build, callers: ThreadPoolExecutor
) -> None:
    bench = build(extractor=GatedExtractor(), config=small(1))
    bench.submit("one")
    waiting = callers.submit(bench.submit, "two")
    turns_kept(bench, 2)
    until(lambda: gated(bench).begun == ["one"], "the first job does not begin")
    closing = callers.submit(bench.shard.close, 10.0)
    assert waiting.result(SECONDS_MAX).status == "accepted"
    assert not closing.done(), "the job under way was not waited for"
    gated(bench).let_go()
    assert closing.result(SECONDS_MAX)
    assert gated(bench).begun == ["one"]
    bench.open()
    bench.settle()
    assert bench.texts() == ["one", "two"]


# --- repeats under way ---


def stalled(failure: OSError | None) -> tuple[FaultyFileSystem, threading.Event, threading.Event, ShardBench]:
    """A shard whose next sync stands still until it is let go, and then fails if told so."""
    reached, go = threading.Event(), threading.Event()

    def stall() -> None:
        if is_armed.is_set() and not reached.is_set():
            reached.set()
            assert go.wait(SECONDS_MAX)
            if failure is not None:
                raise failure

    is_armed = threading.Event()
    fs = StallingFileSystem(stall)
    bench = ShardBench(fs, extractor=ScriptedExtractor())
    is_armed.set()
    return fs, reached, go, bench


class StallingFileSystem(FaultyFileSystem):
    """Calls a function before each sync of a file."""

    def __init__(self, stall: Callable[[], None]) -> None:
        super().__init__(MemoryFileSystem())
        self._stall = stall

    def run(self, operation: str, effect: Callable[[], object], late_effect: object = None) -> object:  # type: ignore[override]
        if operation == "sync":
            self._stall()
        return effect()


def test_a_repeat_under_way_waits_for_the_first_and_gets_its_answer(callers: ThreadPoolExecutor) -> None:
    _, reached, go, bench = stalled(None)
    first = callers.submit(bench.submit, "one", request_id="r")
    assert reached.wait(SECONDS_MAX)
    repeats = [callers.submit(bench.submit, "one", request_id="r") for _ in range(3)]
    time.sleep(0.05)
    assert not any(repeat.done() for repeat in repeats)
    go.set()
    assert {repeat.result(SECONDS_MAX).turn_ids for repeat in (first, *repeats)} == {first.result().turn_ids}
    bench.settle()
    assert bench.texts() == ["one"]
    bench.check()
    bench.shard.close(10.0)


def test_a_repeat_under_way_is_not_told_that_nothing_happened_when_the_first_fails(callers: ThreadPoolExecutor) -> None:
    fs, reached, go, bench = stalled(OSError("the disk is gone"))
    first = callers.submit(bench.submit, "one", request_id="r")
    assert reached.wait(SECONDS_MAX)
    repeat = callers.submit(bench.submit, "one", request_id="r")
    other = callers.submit(bench.submit, "two", request_id="other")
    time.sleep(0.05)
    go.set()
    for asked in (first, repeat):
        with pytest.raises(OutcomeUnknownError) as unknown:
            asked.result(SECONDS_MAX)
        assert unknown.value.request_id == "r"
    with pytest.raises(OutcomeUnknownError):
        bench.submit("one", request_id="r")
    with pytest.raises(StorageUnavailableError):  # whose request never came to the log
        other.result(SECONDS_MAX)
    del fs
    bench.open()
    assert bench.submit("one", request_id="r").status == "accepted"
    bench.settle()
    assert bench.texts() == ["one"]
    bench.check()
    bench.shard.close(10.0)


def test_remembered_requests_are_hashes_only_and_survive_a_restart(build: Build) -> None:
    bench = build(extractor=None)
    first = bench.submit("something", session="a-session", request_id="a-telling-request-id")
    bench.apply(Add("by hand"), request_id="another-telling-id")
    log = b"".join(
        bench.fs.read(f"{bench.root}/shards/0000/{name}") for name in bench.fs.list(f"{bench.root}/shards/0000")
    )
    assert b"something" in log
    assert b"telling" not in log
    assert b"telling" not in repr(bench.shard.state().window).encode()
    bench.reopen()
    assert bench.submit("something", session="a-session", request_id="a-telling-request-id") == first


# --- pending, parked and polluted ---


def test_pending_sessions_are_said_in_the_status_and_their_messages_are_found_by_vector(build: Build) -> None:
    bench = build(extractor=None)
    bench.submit("the ferry leaves at nine", "bring the tickets")
    bench.settle()
    status = bench.shard.status(StatusRequest(ANA))
    assert status.jobs == ()
    assert [(session.pending, session.extracted, session.cursor_seq) for session in status.sessions] == [(2, 0, 0)]
    assert status.unembedded_count == 0


def test_what_is_pending_is_still_pending_after_a_restart_and_is_extracted_once(build: Build) -> None:
    extractor = ScriptedExtractor()
    bench = build(extractor=extractor, config=EngineConfig(checker=MessageCount(2)))
    assert [bench.submit(text).job_id for text in ("maple", "birch")] == [None, None]
    bench.reopen()
    assert bench.submit("cedar").job_id is not None
    bench.settle()
    bench.reopen()
    assert bench.submit("alder").job_id is None
    assert [[turn.text for turn in request.turns] for request in extractor.requests] == [["maple", "birch", "cedar"]]


def test_a_session_polluted_while_its_job_waits_is_not_extracted(build: Build) -> None:
    bench = build(extractor=GatedExtractor(), config=small(10, skips_polluted=True))
    bench.submit("under way", session="s0")
    until(lambda: gated(bench).begun == ["under way"], "the first job does not begin")
    bench.submit("clean")
    messages = (Message("user", "from a web page", timestamp=START),)
    bench.shard.submit(SubmitRequest(ANA, "s1", messages, bench.new_id(), is_polluted=True))
    gated(bench).let_go()
    bench.settle()
    status = bench.shard.status(StatusRequest(ANA))
    assert gated(bench).begun == ["under way"]
    assert [(job.state, job.error) for job in status.jobs] == [
        ("parked", "the session is marked as polluted by outside content")
    ]
    polluted = next(session for session in status.sessions if session.session_id == "s1")
    assert (polluted.is_polluted, polluted.extracted, polluted.pending) == (True, 0, 1)
    bench.config = small(10)
    bench.reopen()
    bench.submit("the guard is off")
    bench.settle()
    assert bench.texts() == ["clean", "from a web page", "the guard is off", "under way"]


def test_a_caller_that_is_gone_cancels_nothing(build: Build) -> None:
    bench = build(extractor=GatedExtractor(), config=small(0))
    messages = (Message("user", "still here", timestamp=START),)
    answer = bench.shard.begin_submit(SubmitRequest(ANA, "s1", messages, "r"))
    turns_kept(bench, 1)
    answer.cancel()
    del answer
    gated(bench).let_go()
    bench.settle()
    assert bench.texts() == ["still here"]
