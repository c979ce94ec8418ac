"""Searches of a shard: the reference's keyword vectors, what stands beside a hit, pages, several queries, filters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from memoray.engine.searcher import Searcher
from memoray.entries import EntryId, Kind
from memoray.errors import InvalidRequestError
from memoray.messages import Message
from memoray.operations import Add, Delete, Operation, Update
from memoray.protocols import ExtractionRequest
from memoray.requests import Filters, Hit, PreloadRequest, SearchAnswer, SearchRequest, SubmitRequest
from memoray.retrieval.search import answer
from tests.support.fake_embedder import FakeEmbedder
from tests.support.searching import searcher_of, vector_of
from tests.support.shards import ANA, BEN, ScriptedExtractor, ShardBench

Search = Callable[..., SearchAnswer]
DAY = datetime(2026, 1, 1, tzinfo=UTC)


class Counting(FakeEmbedder):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[list[str]] = []

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        self.calls.append(list(texts))
        return super().embed(texts, is_query=is_query)


@pytest.fixture
def bench() -> Iterator[ShardBench]:
    made = ShardBench(extractor=ScriptedExtractor())
    yield made
    made.check()
    made.shard.close(10.0)


@pytest.fixture
def search(bench: ShardBench) -> Search:
    def run(query: str, **options: object) -> SearchAnswer:
        return searcher_of(bench).search(SearchRequest(ANA, query, **options))  # type: ignore[arg-type]  # its fields

    return run


def by_words(bench: ShardBench, query: str, **options: object) -> list[str]:
    request = SearchRequest(ANA, query, **{"dedupe": False, **options})  # type: ignore[arg-type]  # its fields
    return [hit.text for hit in answer(request, bench.shard.find(request, None)).hits]


# --- the reference's vectors of the keyword search, by their order; its scores are another formula's ---


def test_both_words_come_before_one_and_one_before_a_topic(bench: ShardBench) -> None:
    bench.apply(
        Add("User likes coffee"),
        Add("User likes coffee and tea"),
        Add("User likes hiking", topics=("tea",)),
        Add("User likes running"),
    )
    found = by_words(bench, "coffee tea")
    assert found[0] == "User likes coffee and tea"
    assert set(found[1:]) == {"User likes coffee", "User likes hiking"}


def test_of_twelve_equal_ones_the_ten_newest_come_newest_first(bench: ShardBench) -> None:
    days = [DAY + timedelta(days=day) for day in range(12)]
    for day in days:
        bench.apply(Add("coffee", kind=Kind.EPISODE, event_time=day))
    request = SearchRequest(ANA, "coffee", limit=10)
    for vector in (None, vector_of(bench.embedder, "coffee")):
        hits = answer(request, bench.shard.find(request, vector)).hits
        assert [hit.event_time for hit in hits] == days[:1:-1]


def test_one_episode_is_filled_up_by_newer_facts_of_the_same_text_newest_first(
    bench: ShardBench, search: Search
) -> None:
    bench.apply(Add("red kite", kind=Kind.EPISODE))
    for number in range(1, 4):
        bench.apply(Add("red kite", event_time=DAY + timedelta(days=number)))
    hits = search("red kite", filters=Filters(kind=Kind.EPISODE), kind_fallback=True).hits
    assert [hit.event_time and hit.event_time.day for hit in hits] == [None, 4, 3, 2]


def test_a_rare_word_outweighs_a_common_one(bench: ShardBench) -> None:
    bench.apply(*(Add(f"Caroline likes {what}") for what in ("tea", "maps", "jazz")))
    bench.apply(Add("Career planning includes counseling"))
    assert by_words(bench, "Caroline career")[0] == "Career planning includes counseling"
    assert len(by_words(bench, "Caroline career")) == 4


@pytest.mark.parametrize(
    ("stored", "query", "is_found"),
    [
        (Add("We migrated the parser to C++ last week"), "C++", True),
        (Add("We concatenate strings"), "cat", False),
        (Add("concat dogma"), "cat dog", False),  # there: found, as a part of the text
        (Add("anything!"), "!", False),
        (Add("something", topics=("special!topic",)), "special!", True),
        (Add("Some content", topics=("preferences", "hobbies")), "preferences xyz", True),
        (Add("她在北京工作"), "北京", True),
    ],
)
def test_words_are_found_as_words(bench: ShardBench, stored: Add, query: str, *, is_found: bool) -> None:
    bench.apply(stored)
    assert by_words(bench, query) == ([stored.text] if is_found else [])


@pytest.mark.parametrize("query", ["harbour", "sailing", "Zoë", "zoe\u0308", "Oslo"])
def test_f12_whatever_is_indexed_of_a_memory_is_asked_for(bench: ShardBench, query: str) -> None:
    bench.apply(Add("Met at the harbour", topics=("Sailing",), participants=("Zoë",), location="Oslo"), Add("else"))
    assert by_words(bench, query) == ["Met at the harbour"]


@pytest.mark.parametrize("query", ["harbour", "Zoë", "March", "2026", "1 March 2026"])
def test_f12_whatever_is_indexed_of_a_message_is_asked_for(bench: ShardBench, query: str) -> None:
    bench.extractor = None
    shard = bench.reopen()
    messages = [Message("user", "Met at the harbour", name="Zoë", timestamp=datetime(2026, 3, 1, tzinfo=UTC))]
    messages.append(Message("user", "Something else", name="Ben", timestamp=datetime(2025, 7, 9, tzinfo=UTC)))
    for session, message in zip(("s1", "s2"), messages, strict=True):
        shard.submit(SubmitRequest(ANA, session, (message,), bench.new_id()))
    assert by_words(bench, query)[0] == "Met at the harbour"


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_differs_a_limit_says_how_many(search: Search, limit: int) -> None:
    with pytest.raises(InvalidRequestError, match="give 1 to 1000"):  # there 0 is a default, or no limit
        search("tea", limit=limit)


def test_differs_the_end_of_a_time_range_is_outside_of_it(bench: ShardBench, search: Search) -> None:
    bench.apply(Add("red kite", event_time=DAY), Add("red boat"))
    found = [hit.text for hit in search("red", filters=Filters(event_before=DAY)).hits]
    assert found == ["red boat"]  # undated ones pass, as there


# --- blank queries, bad vectors ---


@pytest.mark.parametrize("queries", [("",), ("   ", "\u200b"), ("\0", "\u2060\n")])
def test_f15_a_blank_query_asks_no_embedder_and_finds_nothing(bench: ShardBench, queries: tuple[str, ...]) -> None:
    bench.apply(Add("one"), Add("another"))
    counting = Counting()
    searcher = searcher_of(bench, counting)
    got = searcher.search(SearchRequest(ANA, queries[0], queries=queries[1:]))
    assert (got.hits, got.keyword_only, got.seq) == ((), False, bench.shard.state().last_seq)
    assert searcher.preload(PreloadRequest(ANA, queries[0], limit=1)).how == "recent"
    assert counting.calls == []


BAD = {
    "zero": np.zeros(64, "<f4").tobytes(),
    "NaN": np.full(64, np.nan, "<f4").tobytes(),
    "infinite": np.full(64, np.inf, "<f4").tobytes(),
    "too long": np.ones(65, "<f4").tobytes(),
    "not a number of floats": b"xyz",
    "empty": b"",
}


@pytest.mark.parametrize("vector", BAD.values(), ids=BAD)
@pytest.mark.parametrize("hybrid", [True, False])
def test_f31_a_bad_query_vector_leaves_the_words(bench: ShardBench, vector: bytes, *, hybrid: bool) -> None:
    bench.apply(Add("red boat"), Add("blue kite"))
    request = SearchRequest(ANA, "boat", hybrid=hybrid)
    got = answer(request, bench.shard.find(request, vector))
    assert ([hit.text for hit in got.hits], got.keyword_only) == (["red boat"], True)


def test_f31_more_are_asked_for_than_there_are_and_there_are_none(bench: ShardBench, search: Search) -> None:
    assert search("anything", limit=50).hits == ()
    bench.apply(*(Add(f"boat {name}") for name in ("Gull", "Heron", "Ibis")))
    assert len(search("boat", limit=50).hits) == 3


def test_f31_a_session_is_not_starved_by_what_others_say_better(bench: ShardBench) -> None:
    bench.extractor = None
    shard = bench.reopen()
    bench.submit(*(f"red kite flight {number}" for number in range(700)), session="loud")
    bench.submit("the kite is blue", "so it is", session="quiet")
    request = SearchRequest(ANA, "red kite flight", filters=Filters(sessions=("quiet",)), entries=False)
    for vector in (None, vector_of(bench.embedder, request.query)):
        hits = answer(request, shard.find(request, vector)).hits
        assert {hit.text for hit in hits} == {"the kite is blue", "so it is"}


def test_f28_what_is_deleted_takes_no_slot_from_what_lives(bench: ShardBench) -> None:
    near = bench.apply(*(Add(f"soup recipe {number}") for number in range(120))).outcomes
    bench.apply(*(Add(f"recipe for soup with {word}") for word in ("leek", "pea", "beet", "corn", "kale")))
    bench.apply(*(Delete(EntryId(outcome.entry_id or "")) for outcome in near[:-2]))
    for _ in range(2):
        for vector, hybrid in ((vector_of(bench.embedder, "soup recipe"), True), (None, True)):
            request = SearchRequest(ANA, "soup recipe", limit=5, hybrid=hybrid)
            texts = [hit.text for hit in answer(request, bench.shard.find(request, vector)).hits]
            assert len(texts) == 5
            assert set(texts) <= {
                *("soup recipe 118", "soup recipe 119"),
                *(f"recipe for soup with {word}" for word in ("leek", "pea", "beet", "corn", "kale")),
            }
        bench.reopen()


# --- time, in whatever way it is written ---

SAME = [
    "2026-01-01T00:00:00+00:00",
    "2026-01-01T05:00:00+05:00",
    "2025-12-31T16:00:00.000000-08:00",
    "2026-01-01T00:00",
]


def test_f09_one_instant_is_one_instant_however_it_is_written(bench: ShardBench, search: Search) -> None:
    for number, written in enumerate(SAME):
        bench.apply(Add(f"kite {number}", event_time=datetime.fromisoformat(written)))
    bench.apply(Add("kite before", event_time=DAY - timedelta(microseconds=1)))
    bench.apply(Add("kite at the end", event_time=DAY + timedelta(days=1)))
    for start in SAME:
        after = datetime.fromisoformat(start)
        bounds = Filters(event_after=after, event_before=after + timedelta(days=1))
        assert {hit.text for hit in search("kite", filters=bounds).hits} == {f"kite {n}" for n in range(len(SAME))}
        none = Filters(event_after=after, event_before=after)
        assert search("kite", filters=none).hits == ()


# --- hits, their neighbours and their sources ---


def of_turns(found: SearchAnswer) -> dict[str, Hit]:
    return {hit.text: hit for hit in found.hits if hit.type == "turn"}


def test_a_message_comes_with_the_ones_beside_it_but_not_with_deleted_ones(bench: ShardBench, search: Search) -> None:
    bench.submit("Did the ferry run?", "Yes, last week!", "Good to know")
    bench.settle()
    hit = of_turns(search("last week", dedupe=False))["Yes, last week!"]
    assert hit.before is not None
    assert hit.after is not None
    assert (hit.before.text, hit.after.text) == ("Did the ferry run?", "Good to know")
    asked = next(entry for entry in bench.shard.state().user(ANA).entries.values() if "ferry" in entry.text)
    bench.apply(Delete(asked.id))
    hit = of_turns(search("last week", dedupe=False))["Yes, last week!"]
    assert (hit.before, hit.after and hit.after.text) == (None, "Good to know")


def test_a_message_is_superseded_once_everything_drawn_from_it_says_something_else() -> None:
    def propose(request: ExtractionRequest) -> list[Operation]:
        return [Add(part, sources=(turn.id,)) for turn in request.turns for part in turn.text.split("; ")]

    bench = ShardBench(extractor=ScriptedExtractor(propose))
    bench.submit("Production runs Go 1.23; The gate code is 17")
    bench.settle()

    def is_superseded() -> bool:
        (first, *_) = (
            hit
            for hit in searcher_of(bench).search(SearchRequest(ANA, "Production Go gate code", dedupe=False)).hits
            if hit.text.startswith("Production runs Go 1.23;")
        )
        return first.is_superseded

    assert not is_superseded()
    bench.submit("Production runs Go 1.24", session="s2")
    bench.settle()
    assert not is_superseded()
    bench.submit("The gate code is 18", session="s3")
    bench.settle()
    assert is_superseded()
    bench.reopen()
    assert is_superseded()
    bench.check()
    bench.shard.close(10.0)


def test_a_memory_is_found_by_the_words_of_its_message_where_memories_alone_are_asked_for() -> None:
    kept = {"My boat Gull is moored in Oslo": "Owns a vessel", "I like tea": "Drinks tea", "Bees, seven hives": "Bees"}

    def propose(request: ExtractionRequest) -> list[Operation]:
        return [Add(kept[turn.text], sources=(turn.id,)) for turn in request.turns]

    bench = ShardBench(extractor=ScriptedExtractor(propose))
    bench.submit(*kept)
    bench.settle()
    searcher = searcher_of(bench)
    hits = searcher.search(SearchRequest(ANA, "Where is Gull moored?", turns=False, explain=True)).hits
    assert (hits[0].text, {hit.type for hit in hits}) == ("Owns a vessel", {"entry"})
    assert "turn_keyword" in {share.leg for share in hits[0].shares}
    preloaded = searcher.preload(PreloadRequest(ANA, "Where is Gull moored?", limit=1))
    assert [entry.text for entry in preloaded.entries] == ["Owns a vessel"]
    bench.shard.close(10.0)


def test_ten_hits_are_ten_things(bench: ShardBench, search: Search) -> None:
    bench.submit(*(f"I sailed to island number {number}" for number in range(12)))
    bench.settle()
    hits = search("Which island did you sail to?").hits
    assert [hit.type for hit in hits] == ["entry"] * 10
    assert len({source.turn_id for hit in hits for source in hit.sources}) == 10
    assert len(search("Which island did you sail to?", limit=100, dedupe=False).hits) == 24


# --- several queries, pages ---


def test_several_queries_ask_the_embedder_and_the_shard_once(bench: ShardBench) -> None:
    bench.apply(Add("Lives in Lyon"), Add("Travels by train"), Add("Keeps bees"))
    counting, calls = Counting(), list[SearchRequest]()

    def find(request: SearchRequest, vectors: bytes | None) -> object:
        calls.append(request)
        return bench.shard.find(request, vectors)

    searcher = Searcher(counting, find, bench.shard.read)  # type: ignore[arg-type]  # `Found`
    request = SearchRequest(ANA, "Lyon", queries=("train", "", "Lyon"), limit=2, explain=True)
    hits = searcher.search(request).hits
    assert {hit.text for hit in hits} == {"Lives in Lyon", "Travels by train"}
    assert {part.query for hit in hits for part in hit.shares} == {0, 1}
    assert (len(calls), counting.calls) == (1, [["Lyon", "train"]])
    searcher.search(replace(request, queries=("train", "bees")))
    assert counting.calls[1:] == [["bees"]]


def test_too_many_queries_are_refused(search: Search) -> None:
    search("0", queries=tuple("1234567"))
    with pytest.raises(InvalidRequestError, match="9 queries in one search; at most 8"):
        search("0", queries=tuple("12345678"))


def test_pages_hold_over_other_users_writes_and_a_reopening_but_not_over_a_change(
    bench: ShardBench, search: Search
) -> None:
    outcomes = bench.apply(*(Add(f"boat {number} in the harbour") for number in range(9))).outcomes
    whole = [hit.id for hit in search("harbour boat", limit=9).hits]
    first = search("harbour boat", limit=4)
    bench.apply(Add("boat in the harbour of another"), user=BEN)
    second = search("harbour boat", limit=4, page=first.next_page)
    bench.reopen()
    third = search("harbour boat", limit=4, page=second.next_page)
    assert [hit.id for page in (first, second, third) for hit in page.hits] == whole
    assert third.next_page == ""
    bench.apply(Update(EntryId(outcomes[0].entry_id or ""), topics=("sea",)))
    with pytest.raises(InvalidRequestError, match="search again from the first page"):
        search("harbour boat", limit=4, page=first.next_page)
