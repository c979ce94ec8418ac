"""One shard without Ray: real threads, real indexes, files in memory; every invariant is checked after each test."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta

import pytest

from memoray.config import EngineConfig
from memoray.engine.vector_bytes import to_bytes
from memoray.entries import EntryId, Kind
from memoray.errors import ExtractorUnavailableError, FencedError, InvalidRequestError, NotFoundError
from memoray.events import EntryUpdated, JobFailed, OperationDecided
from memoray.keys import UserKey
from memoray.operations import Add, Clear, Delete, OutcomeStatus, Update
from memoray.protocols import Extraction, ExtractionRequest
from memoray.requests import Filters, HistoryRequest, ReadRequest, SearchRequest, StatusRequest
from memoray.retrieval.filters import admits_entry, admits_turn
from memoray.retrieval.search import answer
from tests.support.moody import MoodyEmbedder
from tests.support.shards import ANA, BEN, START, ScriptedExtractor, ShardBench, each_turn

Build = Callable[..., ShardBench]


@pytest.fixture
def build() -> Iterator[Build]:
    """Builds shards; at the end each must hold every invariant, also after a reopening."""
    benches: list[ShardBench] = []

    def make(**parts: object) -> ShardBench:
        parts.setdefault("extractor", ScriptedExtractor())
        benches.append(ShardBench(**parts))  # type: ignore[arg-type]  # the parts of a ShardBench
        return benches[-1]

    yield make
    for bench in benches:
        bench.check()
        bench.shard.close(10.0)


def search(bench: ShardBench, query: str, user: UserKey = ANA, **options: object) -> list[str]:
    """Texts of the hits."""
    request = SearchRequest(user, query, **options)  # type: ignore[arg-type]  # options of a SearchRequest
    vector = to_bytes(bench.embedder.embed([query], is_query=True)[0]) if query.strip() else None
    return [hit.text for hit in answer(request, bench.shard.find(request, vector)).hits]


def test_a_submitted_message_becomes_a_turn_and_a_memory_with_its_source(build: Build) -> None:
    bench = build()
    receipt = bench.submit("The build server is called Orion.")
    assert search(bench, "Orion", entries=False) == ["The build server is called Orion."]
    bench.settle()
    entry = next(iter(bench.shard.read(ReadRequest(ANA)).entries))
    assert (entry.text, entry.sources, entry.version) == ("The build server is called Orion.", receipt.turn_ids, 1)
    assert search(bench, "Orion", turns=False) == ["The build server is called Orion."]


def test_what_was_accepted_survives_reopening(build: Build) -> None:
    bench = build()
    first = bench.submit("Lives in Lyon.", request_id="r1")
    bench.settle()
    bench.reopen()
    assert bench.submit("Lives in Lyon.", request_id="r1") == first
    assert bench.texts() == ["Lives in Lyon."]


def test_saying_the_same_again_is_a_duplicate_that_cites_both_messages(build: Build) -> None:
    bench = build()
    one, two = bench.submit("The build server is called Orion."), bench.submit("Something else entirely", session="s2")
    bench.settle()
    again = bench.shard.state().user(ANA)
    assert len(again.entries) == 2
    three = bench.submit("The build server is called Orion.", session="s3")
    bench.settle()
    entries = bench.shard.state().user(ANA).entries.values()
    orion = next(entry for entry in entries if "Orion" in entry.text)
    assert orion.sources == (*one.turn_ids, *three.turn_ids)
    assert (orion.version, len(bench.texts())) == (1, 2)
    assert two.turn_ids[0] not in orion.sources


def test_a_changed_value_replaces_and_history_keeps_the_old_one(build: Build) -> None:
    bench = build()
    bench.submit("The user's production environment runs Go 1.23")
    bench.settle()
    bench.submit("The user's production environment runs Go 1.24")
    bench.settle()
    assert bench.texts() == ["The user's production environment runs Go 1.24"]
    history = [event.entry for batch in bench.batches() for event in batch.events if isinstance(event, EntryUpdated)]
    assert [(entry.version, entry.text[-7:]) for entry in history] == [(2, "Go 1.24")]
    assert search(bench, "Go 1.23", turns=False) == ["The user's production environment runs Go 1.24"]


def test_a_memory_says_why_it_is_what_it_is(build: Build) -> None:
    bench = build()
    first = bench.submit("The team has 4 members")
    bench.settle()
    bench.submit("The team has 4 members", session="s2")
    bench.settle()
    last = bench.submit("The team has 5 members", session="s3")
    bench.settle()
    key = next(iter(bench.shard.state().user(ANA).entries))
    bench.apply(Delete(key))
    told = bench.shard.history(HistoryRequest(ANA, key))
    assert [(change.what, change.entry.version, change.model) for change in told.changes] == [
        ("added", 1, "scripted"),
        ("cited", 1, "scripted"),
        ("updated", 2, "scripted"),
        ("deleted", 2, ""),
    ]
    assert [change.entry.text[-9:-8] for change in told.changes] == ["4", "4", "5", "5"]
    assert told.changes[2].reason == "a new value of the same statement"
    assert told.changes[3].job_id is None
    assert {*first.turn_ids, *last.turn_ids} <= set(told.sources)
    with pytest.raises(NotFoundError, match="never had"):
        bench.shard.history(HistoryRequest(BEN, key))
    bench.apply(Add("again"), Clear())
    cleared = next(entry_id for entry_id in bench.shard.state().user(ANA).retired if entry_id != key)
    assert [change.what for change in bench.shard.history(HistoryRequest(ANA, cleared)).changes] == ["added", "cleared"]
    assert len(bench.shard.history(HistoryRequest(ANA, key)).changes) == 4


def test_values_said_in_one_breath_are_two_statements_and_said_later_a_change(build: Build) -> None:
    bench = build()
    bench.submit("Room 101 has a projector", "Room 102 has a projector")
    bench.settle()
    assert bench.texts() == ["Room 101 has a projector", "Room 102 has a projector"]
    bench.submit("The team has 4 members")
    bench.settle()
    bench.submit("The team has 5 members")
    bench.settle()
    assert bench.texts()[-1] == "The team has 5 members"
    assert len(bench.texts()) == 3


def test_operations_of_one_job_see_each_other(build: Build) -> None:
    bench = build(
        extractor=ScriptedExtractor(lambda _: [Add("Likes tea"), Add("Likes tea"), Add("Likes tea in the morning")])
    )
    bench.submit("family")
    bench.settle()
    assert bench.texts() == ["Likes tea in the morning"]
    decided = [
        event.outcome for batch in bench.batches() for event in batch.events if isinstance(event, OperationDecided)
    ]
    assert [(outcome.status, outcome.action) for outcome in decided] == [
        (OutcomeStatus.APPLIED, "add"),
        (OutcomeStatus.DUPLICATE, None),
        (OutcomeStatus.APPLIED, "update"),
    ]


def test_two_users_never_meet(build: Build) -> None:
    bench = build()
    bench.submit("My badge number is 4711.")
    bench.submit("My badge number is 4711.", user=BEN)
    bench.settle()
    mine, theirs = (set(bench.shard.state().user(user).entries) for user in (ANA, BEN))
    assert mine and theirs and not mine & theirs
    outcome = bench.apply(Delete(next(iter(theirs)))).outcomes[0]
    assert (outcome.status, outcome.reason.split(":")[0]) == (OutcomeStatus.REFUSED, "not_found")
    bench.apply(Clear())
    assert search(bench, "badge number 4711") == []
    assert search(bench, "badge number 4711", BEN, turns=False) == ["My badge number is 4711."]


def test_a_callers_operations_are_applied_in_order_in_one_batch(build: Build) -> None:
    bench = build()
    added = bench.apply(Add("likes tea", topics=("drink",)), Add("likes tea", topics=("tea",)), Add("  ")).outcomes
    assert [outcome.status for outcome in added] == ["applied", "duplicate", "refused"]
    key = added[0].entry_id
    assert key is not None
    changed = bench.apply(
        Update(key, text="likes green tea", seen_version=1), Update(key, text="x", seen_version=1)
    ).outcomes
    assert [(outcome.status, outcome.version) for outcome in changed] == [("applied", 2), ("refused", None)]
    gone = bench.apply(Delete(key), Delete(key), Update(key, text="again")).outcomes
    assert [outcome.reason for outcome in gone][1:] == ["target deleted", "target deleted"]
    assert bench.texts() == []
    assert len(bench.batches()) == 3


def test_an_added_entry_is_found_at_once_and_a_deleted_one_never(build: Build) -> None:
    bench = build()
    outcomes = bench.apply(*(Add(f"note about {word}") for word in ("maple", "birch", "cedar"))).outcomes
    assert search(bench, "birch")[0] == "note about birch"
    bench.apply(Delete(EntryId(outcomes[1].entry_id or "")))
    assert "note about birch" not in search(bench, "birch", limit=10)
    bench.reopen()
    assert "note about birch" not in search(bench, "birch", limit=10)


def test_deleting_a_memory_withdraws_the_message_that_supports_no_other(build: Build) -> None:
    bench = build(
        extractor=ScriptedExtractor(
            lambda r: [Add(x, sources=(r.turns[0].id,)) for x in ("Likes birds", "Chose it in May")]
        )
    )
    bench.submit("the code word is heron")
    bench.settle()
    first, second = bench.shard.state().user(ANA).entries
    bench.apply(Delete(first))
    assert search(bench, "heron", entries=False) == ["the code word is heron"]
    bench.apply(Delete(second))
    assert search(bench, "heron", entries=False) == []


def test_a_clear_is_a_barrier_for_the_job_under_way(build: Build) -> None:
    asked, go = threading.Event(), threading.Event()

    def propose(request: ExtractionRequest) -> Sequence[Add]:
        asked.set()
        assert go.wait(10)
        return [Add(turn.text) for turn in request.turns]

    bench = build(extractor=ScriptedExtractor(propose))
    bench.submit("from before")
    assert asked.wait(10)
    cleared = bench.apply(Clear()).outcomes[0]
    go.set()
    bench.submit("from after")
    bench.settle()
    assert cleared.status == "applied"
    assert bench.texts() == ["from after"]
    assert search(bench, "before", entries=False) == ["from after"]


def test_delete_while_the_extractor_thinks_refuses_its_update(build: Build) -> None:
    bench = build(extractor=None)
    key = bench.apply(Add("works in Paris")).outcomes[0].entry_id
    assert key is not None
    asked, go = threading.Event(), threading.Event()

    def propose(_request: ExtractionRequest) -> Sequence[Update]:
        asked.set()
        assert go.wait(10)
        return [Update(key, text="works in Lyon")]

    bench.extractor = ScriptedExtractor(propose)
    bench.reopen()
    bench.submit("I work in Lyon now")
    assert asked.wait(10)
    bench.apply(Delete(key))
    go.set()
    bench.settle()
    assert bench.texts() == []
    last = [
        event.outcome for batch in bench.batches() for event in batch.events if isinstance(event, OperationDecided)
    ][-1]
    assert (last.status, last.reason) == ("refused", "target deleted")


class FlakyExtractor(ScriptedExtractor):
    """Fails a number of times."""

    def __init__(self, failures: int) -> None:
        super().__init__()
        self.failures = failures

    def extract(self, request: ExtractionRequest) -> Extraction:
        if self.failures:
            self.failures -= 1
            message = "the model is down"
            raise ExtractorUnavailableError(message)
        return super().extract(request)


def test_a_failed_extraction_is_logged_and_retried(build: Build) -> None:
    bench = build(extractor=FlakyExtractor(2))
    bench.submit("remember me")
    bench.settle()
    failed = [event for batch in bench.batches() for event in batch.events if isinstance(event, JobFailed)]
    assert [event.attempt for event in failed] == [1, 2]
    assert bench.texts() == ["remember me"]


def test_a_parked_job_is_visible_and_the_next_delta_takes_its_messages_along(build: Build) -> None:
    config = EngineConfig(job_attempts_max=2, backoff_seconds=0.001, backoff_seconds_max=0.001)
    bench = build(extractor=FlakyExtractor(2), config=config)
    bench.submit("one")
    bench.settle()
    status = bench.shard.status(StatusRequest(ANA))
    assert [(job.state, job.attempts) for job in status.jobs] == [("parked", 2)]
    assert "the model is down" in status.jobs[0].error
    assert status.sessions[0].extracted == 0
    bench.submit("two")
    bench.settle()
    assert bench.texts() == ["one", "two"]
    assert bench.shard.status(StatusRequest(ANA)).jobs == ()


def test_jobs_of_one_user_run_one_at_a_time_and_in_order(build: Build) -> None:
    running, most, order = set[UserKey](), list[int](), list[str]()
    lock = threading.Lock()

    def propose(request: ExtractionRequest) -> Sequence[Add]:
        with lock:
            assert request.user not in running
            running.add(request.user)
            most.append(len(running))
            order.extend(turn.text for turn in request.turns if request.user == ANA)
        threading.Event().wait(0.01)
        with lock:
            running.discard(request.user)
        return []

    bench = build(extractor=ScriptedExtractor(propose), config=EngineConfig(extraction_workers_count=3))
    for number in range(8):
        bench.submit(f"a{number}", session=f"s{number % 2}")
        bench.submit(f"b{number}", user=BEN)
    bench.settle()
    assert order == [f"a{number}" for number in range(8)]
    assert max(most) == 2


def test_a_bug_in_an_extractor_fails_its_job_and_nothing_else(build: Build) -> None:
    def propose(request: ExtractionRequest) -> Sequence[Add]:
        if request.user == ANA:
            raise RuntimeError("boom")
        return each_turn(request)  # type: ignore[return-value]  # adds only

    config = EngineConfig(job_attempts_max=2, backoff_seconds=0.001, backoff_seconds_max=0.001)
    bench = build(extractor=ScriptedExtractor(propose), config=config)
    bench.submit("poison")
    bench.submit("fine", user=BEN)
    bench.settle()
    assert bench.texts(BEN) == ["fine"]
    assert "boom" in bench.shard.status(StatusRequest(ANA)).jobs[0].error


@pytest.mark.parametrize("mood", ["down", "bad"])
def test_without_vectors_entries_are_found_by_keyword_and_embedded_later(build: Build, mood: str) -> None:
    embedder = MoodyEmbedder()
    bench = build(embedder=embedder)
    embedder.mood = mood
    bench.submit("the gate code is 9931")
    bench.settle()
    assert bench.shard.status(StatusRequest(ANA)).unembedded_count == 2
    request = SearchRequest(ANA, "gate code", dedupe=False)
    found = answer(request, bench.shard.find(request, None))
    assert found.keyword_only
    assert {hit.type for hit in found.hits} == {"entry", "turn"}
    embedder.mood = "well"
    bench.submit("something new")
    bench.settle()
    assert bench.shard.status(StatusRequest(ANA)).unembedded_count == 0


def test_what_lacks_a_vector_is_tried_again_without_anybody_asking(build: Build) -> None:
    embedder = MoodyEmbedder()
    embedder.mood = "down"
    bench = build(embedder=embedder, config=EngineConfig(mend_seconds=0.02), extractor=None)
    bench.apply(Add("the gate code is 9931"))
    assert bench.shard.status(StatusRequest(ANA)).unembedded_count == 1
    time.sleep(0.1)
    embedder.mood = "well"
    deadline = time.monotonic() + 20
    while bench.shard.status(StatusRequest(ANA)).unembedded_count:
        assert time.monotonic() < deadline, "nothing was tried again"
        time.sleep(0.01)
    assert search(bench, "gate code", hybrid=False) == ["the gate code is 9931"]


def test_a_fenced_owner_acknowledges_nothing(build: Build) -> None:
    bench = build()
    bench.submit("one")
    bench.settle()
    older = bench.shard
    newer = bench.open()
    assert newer is not older
    bench.submit("two")
    bench.shard = older
    with pytest.raises(FencedError):
        try:
            bench.apply(Add("lost"))
        except Exception as error:
            raise (older.failure or error) from error
    with pytest.raises(FencedError):
        bench.apply(Add("lost again"))
    bench.shard = newer
    bench.settle()
    assert bench.texts() == ["one", "two"]


def test_filters_work_inside_the_search(build: Build) -> None:
    bench = build()
    near = [Add(f"the red boat number {n}", kind=Kind.EPISODE, event_time=START + timedelta(days=n)) for n in range(15)]
    far = [Add(f"the red harbour {name}") for name in ("alba", "bora", "ciro", "dana", "elba")]
    bench.apply(*near, *far)
    facts = search(bench, "red boat", filters=Filters(kind=Kind.FACT), limit=5, kind_fallback=False)
    assert sorted(facts) == sorted(add.text for add in far)
    bounds = Filters(event_after=START + timedelta(days=3), event_before=START + timedelta(days=5), dated_only=True)
    assert sorted(search(bench, "red boat", filters=bounds)) == ["the red boat number 3", "the red boat number 4"]


def test_filters_equal_a_look_at_everything(build: Build) -> None:
    bench = build(extractor=ScriptedExtractor(lambda r: [Add(f"{t.text} noted", sources=(t.id,)) for t in r.turns]))
    people, places, labels = ("Ana", "Ben", "Cleo"), ("Oslo", "Rome", ""), ("sea", "hill")
    bench.apply(
        *(
            Add(f"trip {n}", participants=people[: n % 3 + 1], location=places[n % 3], topics=(labels[n % 2],))
            for n in range(30)
        )
    )
    for session in ("s1", "s2"):
        bench.submit(f"trip talk in {session}", session=session)
    bench.settle()
    state = bench.shard.state().user(ANA)
    for filters in (
        Filters(participants=("ben",)),
        Filters(location="rome", topics=("sea",)),
        Filters(topics=("hill", "none")),
        Filters(sessions=("s2",)),
        Filters(sessions=("s1",), participants=("user",)),
    ):
        expected = {
            entry.text
            for entry in state.entries.values()
            if admits_entry(entry, filters, [state.turns[key].session_id for key in entry.sources])
        } | {turn.text for turn in state.turns.values() if admits_turn(turn, filters)}
        assert expected
        assert set(search(bench, "trip", filters=filters, limit=100, dedupe=False)) == expected


def test_a_short_answer_is_found_by_the_question_before_it(build: Build) -> None:
    bench = build(extractor=None)
    bench.submit("Did the ferry to Heligoland run?", "Yes, last week!", "Something else")
    bench.submit("Nothing to do with it", session="s2")
    request = SearchRequest(ANA, "ferry Heligoland")
    found = [hit.text for hit in answer(request, bench.shard.find(request, None)).hits]
    assert found == ["Did the ferry to Heligoland run?", "Yes, last week!"]


def test_a_message_whose_value_was_replaced_stands_behind_the_new_value(build: Build) -> None:
    bench = build()
    bench.submit("Our production environment runs Go 1.23")
    bench.settle()
    assert search(bench, "which Go does our production environment run")[0].endswith("1.23")
    bench.submit("Our production environment runs Go 1.24", session="s2")
    bench.settle()
    found = search(bench, "our production environment runs Go 1.23")
    assert found.index("Our production environment runs Go 1.24") < found.index(
        "Our production environment runs Go 1.23"
    )
    bench.submit("Our production environment runs Go 1.24", session="s3")  # says it again: cited, not replaced
    bench.settle()
    entry = next(iter(bench.shard.state().user(ANA).entries.values()))
    assert (len(entry.sources), entry.current_from) == (3, 1)


def test_a_message_that_says_something_else_too_is_not_held_back_for_that(build: Build) -> None:
    bench = build(
        extractor=ScriptedExtractor(
            lambda r: [Add(part, sources=(t.id,)) for t in r.turns for part in t.text.split("; ")]
        )
    )
    bench.submit("The boat is called Gull; Production runs Go 1.23")
    bench.settle()
    bench.submit("Production runs Go 1.24", session="s2")
    bench.settle()
    assert search(bench, "what is the boat called", dedupe=False)[:2] == [
        "The boat is called Gull",
        "The boat is called Gull; Production runs Go 1.23",
    ]
    found = search(bench, "production runs Go", dedupe=False)
    assert found.index("Production runs Go 1.24") < found.index("The boat is called Gull; Production runs Go 1.23")


def test_a_blank_query_finds_nothing(build: Build) -> None:
    bench = build()
    bench.apply(Add("something"))
    for query in ("", "   ", "\u200b"):
        assert search(bench, query) == []


def test_another_shards_user_is_refused_with_the_right_number(build: Build) -> None:
    bench = build()
    assert bench.manifest.shards_count == 1
    with pytest.raises(InvalidRequestError, match="app name required"):
        bench.shard.read(ReadRequest(UserKey("", "x")))


def test_concurrent_writers_share_syncs(build: Build) -> None:
    bench = build(extractor=None)
    syncs = count_syncs(bench)
    threads = [
        threading.Thread(target=bench.apply, args=(Add(f"note {n} {'x' * n}"),), kwargs={"request_id": f"q{n}"})
        for n in range(64)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bench.texts()) == 64
    assert len(syncs) < 64


def count_syncs(bench: ShardBench) -> list[int]:
    """Slow every commit of the open log a little, and count them."""
    log = bench.shard._log  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - the test counts syncs
    commit, calls = log.commit, list[int]()

    def counted() -> int:
        threading.Event().wait(0.005)
        calls.append(1)
        return commit()

    log.commit = counted  # type: ignore[method-assign]  # counted
    return calls
