"""Searches: filters against a look at everything; one user beside others, rebuilt and resharded; any query at all."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from memoray.config import EngineConfig
from memoray.engine.searcher import Searcher
from memoray.entries import Kind
from memoray.errors import InvalidRequestError
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.operations import Add, Clear, Delete, Operation, Update
from memoray.protocols import ExtractionRequest
from memoray.requests import Filters, SearchRequest, SubmitRequest
from memoray.retrieval.search import answer, leg_depth
from memoray.storage.filesystem import LocalFileSystem
from memoray.validation import TEXT_BYTES_MAX
from tests.support.searching import Alone, naive_legs, searcher_of, vector_of
from tests.support.shards import ANA, BEN, START, ManualClock, ScriptedExtractor, ShardBench

WORDS = "red blue boat kite harbour Oslo 1.23 not".split()
CLEO = UserKey("app:ana", "cleo")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join)
days = st.integers(0, 4).map(lambda day: EPOCH + timedelta(days=day))
people = st.lists(st.sampled_from(["Ana", "BEN", "ben ", "Zoë"]), max_size=2, unique=True).map(tuple)
topics = st.lists(st.sampled_from(["sea", "Hill", "hill"]), max_size=2, unique=True).map(tuple)
sessions = st.sampled_from(["s1", "s2", "s3"])
places = st.sampled_from(["", "Oslo", "oslo ", "Rome"])
adds = st.builds(
    Add,
    texts,
    kind=st.sampled_from(Kind),
    topics=topics,
    event_time=st.none() | days,
    participants=people,
    location=places,
)
recorded = st.none() | st.integers(0, 40).map(lambda seconds: START + timedelta(seconds=seconds))
filters = st.builds(
    Filters,
    kind=st.none() | st.sampled_from(Kind),
    event_after=st.none() | days,
    event_before=st.none() | days,
    dated_only=st.booleans(),
    recorded_after=recorded,
    recorded_before=recorded,
    participants=st.just(()) | people,
    location=st.just("") | places,
    topics=st.just(()) | topics,
    sessions=st.just(()) | st.lists(sessions, max_size=2, unique=True).map(tuple),
)
said = st.lists(st.tuples(sessions, st.sampled_from(["", "Ana", "Zoë"]), adds, st.booleans()), max_size=14)


class Teller:
    """An extractor that proposes for each turn what was given for its text, or nothing."""

    def __init__(self) -> None:
        self.proposals: dict[str, Add] = {}

    def __call__(self, request: ExtractionRequest) -> list[Operation]:
        return [
            Add(**{**fields(self.proposals[turn.text]), "sources": (turn.id,)})  # type: ignore[arg-type]
            for turn in request.turns
            if turn.text in self.proposals
        ]


def fields(add: Add) -> dict[str, object]:
    return {name: getattr(add, name) for name in add.__struct_fields__}


def fill(bench: ShardBench, teller: Teller, told: Sequence[tuple[str, str, Add, bool]], user: UserKey) -> None:
    for number, (session, name, add, is_extracted) in enumerate(told):
        text = f"{add.text} said {number}"
        if is_extracted:
            teller.proposals[text] = add
        moment = add.event_time or EPOCH
        message = Message("user", text, name=name or None, timestamp=moment)
        bench.shard.submit(SubmitRequest(user, session, (message,), bench.new_id()))
    bench.settle()


@given(said, st.lists(adds, max_size=6), st.lists(filters, min_size=1, max_size=4), texts, st.integers(0, 3))
@settings(max_examples=80)
def test_filters_inside_the_search_equal_a_look_at_everything(
    told: list[tuple[str, str, Add, bool]], by_hand: list[Add], asked: list[Filters], query: str, deleted: int
) -> None:
    teller = Teller()
    bench = ShardBench(extractor=ScriptedExtractor(teller))
    fill(bench, teller, told, ANA)
    bench.apply(*by_hand)
    ids = sorted(bench.shard.state().user(ANA).entries)
    bench.apply(*(Delete(key) for key in ids[:deleted]))
    known = bench.shard.state().user(ANA)
    for one in [Filters(), *asked]:
        request = SearchRequest(ANA, query, filters=one, limit=5, kind_fallback=False)
        found = bench.shard.find(request, vector_of(bench.embedder, query))
        expected = naive_legs(known, bench.embedder, query, one, leg_depth(request.limit))
        got = {leg.name: list(zip(leg.scores, leg.ids, strict=True)) for leg in found.legs}
        assert all(not leg for name, leg in expected.items() if name not in got)
        for name, leg in got.items():
            assert {key for _, key in leg} == {key for _, key in expected[name]}, name
            assert [score for score, _ in leg] == pytest.approx([score for score, _ in expected[name]], abs=1e-5), name
        listed = {hit.id for hit in answer(request, found).hits}
        assert listed <= {key for leg in expected.values() for _, key in leg}
    bench.shard.close(10.0)


changes = st.lists(st.tuples(st.sampled_from([ANA, BEN, CLEO]), adds, st.sampled_from("aaaudc")), max_size=12)


@given(said, changes, said, st.lists(texts, min_size=1, max_size=3), filters, st.integers(1, 30))
@settings(max_examples=40, deadline=None)
def test_a_ranking_depends_on_nothing_but_the_user(
    told: list[tuple[str, str, Add, bool]],
    changed: list[tuple[UserKey, Add, str]],
    others: list[tuple[str, str, Add, bool]],
    queries: list[str],
    one: Filters,
    rows_min: int,
) -> None:
    """Alone or among others, live, sealed or rebuilt, on one shard or another: the same to the last bit."""
    with tempfile.TemporaryDirectory() as folder:
        teller = Teller()
        config = EngineConfig(seal_rows_min=rows_min)
        bench = ShardBench(LocalFileSystem(), root=folder, extractor=ScriptedExtractor(teller), config=config)
        fill(bench, teller, told, ANA)
        fill(bench, teller, others, BEN)
        change(bench, changed)
        compare(bench, queries, one)
        bench.shard.close(10.0)


def change(bench: ShardBench, changed: list[tuple[UserKey, Add, str]]) -> None:
    for user, add, what in changed:
        ids = sorted(bench.shard.state().user(user).entries)
        match what:
            case "u" if ids:
                bench.apply(Update(ids[0], text=add.text), user=user)
            case "d" if ids:
                bench.apply(Delete(ids[-1]), user=user)
            case "c" if user != ANA:
                bench.apply(Clear(), user=user)
            case _:
                bench.apply(add, user=user)
    bench.settle()


def compare(bench: ShardBench, queries: list[str], one: Filters) -> None:
    vectors = vector_of(bench.embedder, *dict.fromkeys(queries))
    requests = [
        SearchRequest(ANA, queries[0], queries=tuple(queries[1:]), filters=chosen, limit=limit, explain=True)
        for chosen in (Filters(), one)
        for limit in (2, 50)
    ]
    live = [bench.shard.find(request, vectors) for request in requests]
    batches, dimension = bench.batches(), bench.embedder.dimension
    homes = [Alone(batches, users, dimension).find for users in ([ANA], [ANA, CLEO], [BEN, ANA], [ANA, BEN, CLEO])]
    assert bench.shard.seal(20.0)
    homes.append(bench.shard.find)
    for find in (*homes, bench.reopen().find):
        for request, before in zip(requests, live, strict=True):
            again = find(request, vectors)
            assert again.legs == before.legs
            assert again.fallback_legs == before.fallback_legs
            assert answer(request, again).hits == answer(request, before).hits


SECRETS = ("Quetzalcoatlus", "ᚠᛇᚻ", "秘密基地", "9f8e7d6c", "tresorkode")


@pytest.fixture(scope="module")
def searcher() -> Iterator[Searcher]:
    """ANA has three memories, BEN has secrets; both are told them by hand and in a session of the same name."""
    bench = ShardBench(extractor=ScriptedExtractor(), clock=ManualClock())
    bench.apply(Add("red boat"), Add("blue kite"), Add("a harbour in Oslo"))
    bench.apply(*(Add(f"{word} is kept by the harbour master") for word in SECRETS), user=BEN)
    bench.submit("nothing to see")
    bench.submit(*(f"my code is {word}" for word in SECRETS), user=BEN)
    bench.settle()
    yield searcher_of(bench)
    bench.shard.close(10.0)


syntax = st.sampled_from(
    ["AND", "OR", "NOT", "+", "-", '"', "*", "?", "^2", "~", "[a TO z]", "{", ":", "\\", "/", "(", ")"]
)
anything = (
    st.text(st.characters(exclude_categories=()), max_size=40)
    | st.lists(
        syntax | st.sampled_from([*SECRETS, "term:", "1:", "2:", "\x1f", "\0", "\ud800", "harbour"]), max_size=8
    ).map(" ".join)
    | st.binary(max_size=40).map(lambda data: data.decode("utf-8", "surrogateescape"))
)


@given(anything, st.lists(anything, max_size=3), st.booleans(), filters)
@example("\0", [], True, Filters())
@example("\ud83d", ["\udc4d"], False, Filters())
@example("(" * 70_000, [], True, Filters())
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_query_is_answered_or_refused_and_reaches_no_other_user(
    searcher: Searcher, query: str, more: list[str], hybrid: bool, one: Filters
) -> None:
    for chosen in (Filters(), one):
        request = SearchRequest(ANA, query, queries=tuple(more), hybrid=hybrid, filters=chosen)
        if len(query) > TEXT_BYTES_MAX:
            with pytest.raises(InvalidRequestError, match="shorten it"):
                searcher.search(request)
            continue
        hits = searcher.search(request).hits
        shown = repr(hits)
        assert not [word for word in SECRETS if word in shown]
        assert {hit.text for hit in hits} <= {"red boat", "blue kite", "a harbour in Oslo", "nothing to see"}
