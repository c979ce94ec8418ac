"""What went wrong in public in other memory systems, as small cases with the right answer; numbered as catalogued."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from memoray.config import EngineConfig
from memoray.engine.vector_bytes import to_bytes
from memoray.entries import EntryId, Kind
from memoray.errors import ExtractorUnavailableError, InvalidRequestError
from memoray.events import OperationDecided
from memoray.extraction.offline import OfflineExtractor
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.operations import Add, Clear, Delete, Operation, Update
from memoray.protocols import ExtractionRequest
from memoray.requests import (
    Filters,
    HistoryRequest,
    ReadRequest,
    SearchRequest,
    StatusRequest,
    SubmitRequest,
)
from memoray.retrieval.preload import place, render
from memoray.retrieval.search import answer
from tests.support.shards import ANA, BEN, START, ManualClock, ScriptedExtractor, ShardBench, each_turn


@pytest.fixture
def bench() -> Iterator[ShardBench]:
    made = ShardBench(extractor=ScriptedExtractor())
    yield made
    made.check()
    made.shard.close(10.0)


def texts(bench: ShardBench, query: str, user: UserKey = ANA, **options: object) -> list[str]:
    request = SearchRequest(user, query, **options)  # type: ignore[arg-type]  # options of a SearchRequest
    vector = to_bytes(bench.embedder.embed([query], is_query=True)[0])
    return [hit.text for hit in answer(request, bench.shard.find(request, vector)).hits]


def test_f01_the_same_fact_twice_at_once_is_one_memory(bench: ShardBench) -> None:
    text = "My desk is on floor 4."
    with ThreadPoolExecutor(3) as callers:
        receipts = [
            callers.submit(bench.submit, text, session=session, request_id=request_id)
            for session, request_id in (("s1", "r1"), ("s2", "r2"), ("s1", "r1"))  # the last one after a time-out
        ]
    bench.settle()
    assert bench.texts() == [text]
    assert receipts[2].result() == receipts[0].result()
    events = [event for batch in bench.batches() for event in batch.events]
    statuses = [event.outcome.status for event in events if isinstance(event, OperationDecided)]
    assert statuses == ["applied", "duplicate"]
    assert len(next(iter(bench.shard.state().user(ANA).entries.values())).sources) == 2


def test_f03_only_what_the_user_said_is_remembered_however_often_it_is_recalled() -> None:
    bench = ShardBench(extractor=OfflineExtractor())
    for number in range(10):
        entries = bench.shard.read(ReadRequest(ANA)).entries
        said = [{"role": "user", "content": "I moved to the Lyon office."}]
        prompt = place(said, render(entries) if entries else "", "user")
        messages = (
            Message("system", "You are John Doe's assistant. The user is called John Doe."),
            Message("user", str(prompt[0]["content"]), id=f"m{number}"),
            Message("assistant", "", tool_calls=("search",)),
            Message("tool", "The user lives in Berlin. " * 500, tool_call_id="c1"),
            Message("user", "ok thanks", id=f"t{number}"),
        )
        receipt = bench.shard.submit(SubmitRequest(ANA, "s", messages, bench.new_id()))
        assert receipt.left_out == {"system": 1, "tool call": 1, "tool result": 1}
        bench.settle()
    assert len(bench.texts()) == 1
    assert "Lyon office" in bench.texts()[0]
    assert {turn.text for turn in bench.shard.state().user(ANA).turns.values()} == {
        *("I moved to the Lyon office.", "ok thanks")
    }
    bench.check()
    bench.shard.close(10.0)


def test_f04_a_merged_memory_is_recalled_once_and_as_it_was_before_as_of_then() -> None:
    def propose(request: ExtractionRequest) -> list[Operation]:
        turn = request.turns[-1]
        if request.known:
            return [Update(request.known[0].id, text="Drinks tea, never coffee", sources=(turn.id,))]
        return [Add(turn.text, sources=(turn.id,))]

    bench = ShardBench(extractor=ScriptedExtractor(propose))
    bench.submit("I drink tea, not coffee.")
    bench.settle()
    before = bench.shard.state().last_seq
    bench.submit("Tea is my drink; coffee never.")
    bench.settle()
    query = "what does the user drink: tea or coffee"
    assert texts(bench, query, turns=False) == ["Drinks tea, never coffee"]
    for hybrid, weights in ((False, None), (True, {"entry_vector": 0.0})):
        now = texts(bench, query, turns=False, hybrid=hybrid, weights=weights)
        then = texts(bench, query, turns=False, hybrid=hybrid, weights=weights, as_of=before)
        assert (now, then) == (["Drinks tea, never coffee"], ["I drink tea, not coffee."])
    (key,) = bench.shard.state().user(ANA).entries
    told = bench.shard.history(HistoryRequest(ANA, key)).changes
    assert [change.entry.text for change in told] == ["I drink tea, not coffee.", "Drinks tea, never coffee"]
    bench.check()
    bench.shard.close(10.0)


@pytest.mark.parametrize(
    ("first", "second", "query"),
    [
        ("I like coffee", "I like coffee not any more, tea now", "What do I like to drink now?"),
        ("Production runs Go 1.23", "Production runs Go 1.24", "What does production run?"),
    ],
)
def test_f05_of_a_contradiction_the_present_has_one_side_and_the_past_the_other(
    first: str, second: str, query: str
) -> None:
    def propose(request: ExtractionRequest) -> list[Operation]:
        turn = request.turns[-1]
        if request.known and "tea" in turn.text:
            return [Update(request.known[0].id, text="I like tea", sources=(turn.id,))]
        return [Add(turn.text, sources=(turn.id,))]

    clock = ManualClock(START)
    bench = ShardBench(clock=clock, extractor=ScriptedExtractor(propose))
    bench.submit(first)
    bench.settle()
    clock.time = START + timedelta(days=1)
    bench.submit(second, session="s2")
    bench.settle()
    now = texts(bench, query, turns=False)
    assert len(now) == 1
    assert first not in now
    assert texts(bench, query, turns=False, as_of=START + timedelta(hours=12)) == [first]
    assert texts(bench, query, turns=False, as_of=START - timedelta(days=1)) == []
    bench.check()
    bench.shard.close(10.0)


def test_f09_renderings_of_one_instant_are_one_time_and_bounds_are_start_inclusive(bench: ShardBench) -> None:
    renderings = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00+00:00", "2026-01-01T05:00:00.000000+05:00")
    for number, written in enumerate(renderings):
        moment = datetime.fromisoformat(written)
        bench.apply(Add(f"boat {number} rendering", kind=Kind.EPISODE, event_time=moment))
        said = (Message("user", f"boat {number} said", timestamp=moment),)
        bench.shard.submit(SubmitRequest(ANA, "s", said, bench.new_id()))
    bench.settle()
    instant = datetime(2026, 1, 1, tzinfo=UTC)
    state = bench.shard.state().user(ANA)
    assert {turn.timestamp for turn in state.turns.values()} == {instant}
    day = timedelta(days=1)
    for after, before, count in ((instant, instant + day, 3), (instant - day, instant, 0), (instant + day, None, 0)):
        bounds = Filters(event_after=after, event_before=before, dated_only=True)
        found = texts(bench, "boat rendering", limit=20, filters=bounds, turns=False, dedupe=False)
        assert len([text for text in found if text.endswith("rendering")]) == count
    again = (Message("user", "boat 0 said", timestamp=datetime.fromisoformat(renderings[2])),)
    assert bench.shard.submit(SubmitRequest(ANA, "s", again, bench.new_id())).status == "nothing_new"


def test_f10_three_messages_in_the_same_tick_and_an_older_one_are_each_offered_once(bench: ShardBench) -> None:
    def say(text: str, moment: datetime) -> None:
        bench.shard.submit(SubmitRequest(ANA, "s", (Message("user", text, timestamp=moment),), bench.new_id()))

    say("first in the tick", START)
    say("second in the tick", START)
    bench.settle()
    say("third in the tick", START)
    say("from five seconds before", START - timedelta(seconds=5))
    bench.settle()
    extractor = bench.extractor
    assert isinstance(extractor, ScriptedExtractor)
    offered = [turn.text for request in extractor.requests for turn in request.turns]
    assert sorted(offered) == [
        "first in the tick",
        "from five seconds before",
        "second in the tick",
        "third in the tick",
    ]


def test_f11_a_clock_that_steps_back_moves_no_recorded_time_back() -> None:
    clock = ManualClock()
    bench = ShardBench(clock=clock)
    for step in (0, -3600, 3601):
        clock.time += timedelta(seconds=step)
        bench.apply(Add(f"at {step}"))
        bench.reopen()
    batches = bench.batches()
    assert [batch.recorded_at for batch in batches] == sorted(batch.recorded_at for batch in batches)
    assert batches[1].clock is not None
    assert batches[1].clock < batches[1].recorded_at
    bench.check()
    bench.shard.close(10.0)


@pytest.mark.parametrize(
    ("stored", "query"),
    [
        ("把機器推論洗成權威事實", "權威事實"),
        ("把機器推論洗成權威事實", "機器推論"),
        ("hello你好 world", "你好"),
        ("私は東京に住んでいます", "東京"),
        ("저는 서울에 살아요", "서울"),
        ("ฉันชอบดื่มกาแฟ", "กาแฟ"),
        ("cafe\u0301 au lait", "caf\u00e9"),
        ("ＡＢＣ１２３", "abc123"),
        ("أحب القهوة", "القهوة"),
        ("אני גר בחיפה", "\u200fבחיפה\u200f"),
        ("İstanbul", "istanbul"),
        ("the parser is in C++", "C++"),
    ],
)
def test_f12_f13_text_of_any_script_is_found_by_its_words(bench: ShardBench, stored: str, query: str) -> None:
    bench.apply(Add(stored), Add("something quite different"))
    request = SearchRequest(ANA, query)
    found = [hit.text for hit in answer(request, bench.shard.find(request, None)).hits]
    assert found == [stored]


def test_f14_nul_gets_the_same_answer_on_both_paths_and_is_refused_in_ids(bench: ShardBench) -> None:
    bench.submit("hello \0 world")
    bench.settle()
    bench.apply(Add("good \0day", topics=("a\0b",), participants=("A\0na",), location="Os\0lo"))
    assert bench.texts() == ["good day", "hello  world"]
    entry = next(entry for entry in bench.shard.state().user(ANA).entries.values() if entry.text == "good day")
    assert (entry.topics, entry.participants, entry.location) == (("ab",), ("Ana",), "Oslo")
    with pytest.raises(InvalidRequestError, match="contains NUL"):
        bench.submit("x", user=UserKey("app", "a\0"))
    with pytest.raises(InvalidRequestError, match="contains NUL"):
        bench.apply(Add("x"), user=UserKey("a\0", "u"))
    assert texts(bench, "hello world", turns=False)[0] == "hello  world"


@pytest.mark.parametrize("content", ["", "   ", "\u200b", "\0\n\t"])
def test_f15_blank_content_is_kept_nowhere(bench: ShardBench, content: str) -> None:
    receipt = bench.submit(content)
    assert (receipt.status, receipt.left_out, receipt.job_id) == ("nothing_new", {"blank": 1}, None)
    assert bench.apply(Add(content)).outcomes[0].status == "refused"
    assert not bench.shard.state().user(ANA).turns


@pytest.mark.parametrize("query", ["", "   ", "\u200b", "\u200e \u2060"])
def test_f15_a_blank_query_finds_nothing_rather_than_everything(bench: ShardBench, query: str) -> None:
    bench.apply(Add("one"), Add("another"))
    assert texts(bench, query) == []


HOSTILE = [
    *("https://x.org", "following:", "-lead", ">>>", 'adapter""', "{0}", "y+(y+25)", "AND", "OR NOT", "title:secret"),
    *('"unclosed', "[a TO z]", "*", "a^b~2", "\\", "+ 2", "C++", "(" * 5000, "\x1f1", "1\x1fsecret", "?"),
]


@pytest.mark.parametrize("query", HOSTILE, ids=lambda query: repr(query[:12]))
def test_f17_user_text_is_not_query_syntax(bench: ShardBench, query: str) -> None:
    bench.apply(Add("the secret of another user"), user=BEN)
    bench.apply(Add("nothing to see"))
    assert "the secret of another user" not in texts(bench, query)


IDS = ["f2c59d63-a7a7-b5e6-8000-000000000000", "main", "_", "a b", "O'Neil\"", "用户", "../x", "x" * 512, " ", "*"]


@pytest.mark.parametrize("user_id", IDS, ids=lambda user_id: repr(user_id[:12]))
def test_f18_every_id_round_trips(bench: ShardBench, user_id: str) -> None:
    user = UserKey("app", user_id)
    key = bench.apply(Add("mine alone"), user=user).outcomes[0].entry_id
    bench.apply(Add("theirs alone"), user=BEN)
    assert texts(bench, "alone", user) == ["mine alone"]
    assert bench.apply(Delete(EntryId(key or "")), user=user).outcomes[0].status == "applied"
    assert texts(bench, "alone", user) == []
    assert texts(bench, "alone", BEN) == ["theirs alone"]


def test_f23_what_was_accepted_has_a_state_until_it_is_applied_and_later_deltas_do_not_overtake_it() -> None:
    def propose(request: ExtractionRequest) -> list[Operation]:
        if is_down.is_set() and any(turn.text == "birch" for turn in request.turns):
            raise ExtractorUnavailableError("the model is down")
        return each_turn(request)

    is_down = threading.Event()
    is_down.set()
    extractor = ScriptedExtractor(propose)
    config = EngineConfig(backoff_seconds=30.0, backoff_seconds_max=60.0)
    bench = ShardBench(extractor=extractor, config=config)
    receipts = [bench.submit(text) for text in ("maple", "birch", "cedar")]
    deadline = time.monotonic() + 20
    while not any(job.state == "retrying" for job in bench.shard.status(StatusRequest(ANA)).jobs):
        assert time.monotonic() < deadline, "the second delta has no state that says what is wrong"
        time.sleep(0.005)
    jobs = bench.shard.status(StatusRequest(ANA)).jobs
    assert [(job.job_id, job.state, job.attempts) for job in jobs] == [
        (receipts[1].job_id, "retrying", 1),
        (receipts[2].job_id, "waiting", 0),
    ]
    assert "the model is down" in jobs[0].error
    assert jobs[0].retry_at is not None
    is_down.clear()
    bench.config = EngineConfig(backoff_seconds=0.01)
    assert isinstance(bench.clock, ManualClock)
    bench.clock.time += timedelta(hours=1)
    bench.reopen()
    bench.settle()
    assert [request.turns[0].text for request in extractor.requests[-2:]] == ["birch", "cedar"]
    assert bench.texts() == ["birch", "cedar", "maple"]
    bench.check()
    bench.shard.close(10.0)


@pytest.mark.parametrize("change", ["delete", "clear", "update"])
def test_f30_what_changes_while_the_extractor_thinks_is_not_written_over(change: str) -> None:
    asked, go = threading.Event(), threading.Event()

    def propose(request: ExtractionRequest) -> list[Operation]:
        asked.set()
        assert go.wait(20)
        return [Update(key, text="works in Lyon") for key in [entry.id for entry in request.known]]

    bench = ShardBench()
    key = EntryId(bench.apply(Add("works in Paris")).outcomes[0].entry_id or "")
    bench.extractor = ScriptedExtractor(propose)
    bench.reopen()
    bench.submit("She works in Lyon now")
    assert asked.wait(20)
    changes: dict[str, Operation] = {
        "delete": Delete(key),
        "clear": Clear(),
        "update": Update(key, text="works in Oslo, with a view of the fjord"),
    }
    bench.apply(changes[change])
    go.set()
    bench.settle()
    expected = {"delete": [], "clear": [], "update": ["works in Lyon", "works in Oslo, with a view of the fjord"]}
    assert bench.texts() == expected[change]
    bench.check()
    bench.shard.close(10.0)


PAIRS = [
    (("a:b", "c"), ("a", "b:c")),
    (("a/b", "c"), ("a", "b/c")),
    (("a|b", "c"), ("a", "b|c")),
    (("A", "u"), ("a", "u")),
    (("caf\u00e9", "u"), ("cafe\u0301", "u")),  # ids are compared byte for byte, whatever they look like
]


@pytest.mark.parametrize(("one", "other"), [*PAIRS, (("a", "u"), ("a", "u ")), (("a:", "u"), ("a\uff1a", "u"))])
def test_f24_keys_that_joined_strings_would_confuse_stay_apart(
    bench: ShardBench, one: tuple[str, str], other: tuple[str, str]
) -> None:
    bench.apply(Add("only the first one's"), user=UserKey(*one), request_id="same")
    bench.apply(Add("only the second one's"), user=UserKey(*other), request_id="same")
    assert bench.texts(UserKey(*one)) == ["only the first one's"]
    assert bench.texts(UserKey(*other)) == ["only the second one's"]


def test_f26_clearing_one_user_takes_all_of_theirs_and_nothing_of_others(bench: ShardBench) -> None:
    bench.apply(*(Add(f"note number {number}") for number in range(250)))
    bench.apply(*(Add(f"note {word}") for word in ("one", "two", "three")), user=BEN)
    assert bench.apply(Clear()).outcomes[0].count == 250
    assert (len(bench.texts(ANA)), len(bench.texts(BEN))) == (0, 3)
    for user_id in ("", "\0"):
        with pytest.raises(InvalidRequestError):
            bench.apply(Clear(), user=UserKey("app", user_id))


def test_f28_deleted_memories_are_never_found_and_use_no_slot(bench: ShardBench) -> None:
    outcomes = bench.apply(
        *(Add(f"recipe for soup {word}") for word in ("leek", "pea", "beet", "corn", "kale"))
    ).outcomes
    bench.apply(*(Delete(EntryId(outcome.entry_id or "")) for outcome in outcomes[:3]))
    live = ["recipe for soup corn", "recipe for soup kale"]
    by_words = SearchRequest(ANA, "soup recipe", limit=5)
    for _ in range(2):
        for limit in (5, 2):
            for hybrid in (True, False):
                assert sorted(texts(bench, "soup recipe", limit=limit, hybrid=hybrid)) == live
        assert sorted(hit.text for hit in answer(by_words, bench.shard.find(by_words, None)).hits) == live
        bench.reopen()


def test_f31_a_filter_does_not_starve_what_ranks_lower(bench: ShardBench) -> None:
    day = datetime(2026, 1, 1, tzinfo=UTC)
    bench.apply(
        *(Add(f"red kite flight {n}", kind=Kind.EPISODE, event_time=day + timedelta(days=n)) for n in range(15))
    )
    bench.apply(*(Add(f"kite rule {word}") for word in ("alpha", "bravo", "carol", "delta", "edgar")))
    facts = texts(bench, "red kite flight", limit=5, filters=Filters(kind=Kind.FACT), kind_fallback=False)
    assert len(facts) == 5
    assert all(text.startswith("kite rule") for text in facts)
    assert len(texts(bench, "kite", limit=50)) == 20
