"""Any sequence of a caller's operations, submits, repeats and reopenings leaves what a dictionary would hold."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memoray.engine.fold import fold
from memoray.engine.state import empty_state
from memoray.entries import EntryId
from memoray.events import decode_batch, encode_batch
from memoray.operations import Add, Clear, Delete, Operation, Update
from tests.support.shards import ANA, BEN, ScriptedExtractor, ShardBench

TEXTS = ("maple", "birch", "cedar", "alder")
USERS = (ANA, BEN)

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(USERS), st.sampled_from(TEXTS), st.integers(0, 3)),
        st.tuples(st.just("update"), st.sampled_from(USERS), st.sampled_from(TEXTS), st.integers(0, 3)),
        st.tuples(st.just("delete"), st.sampled_from(USERS), st.sampled_from(TEXTS), st.integers(0, 3)),
        st.tuples(st.just("clear"), st.sampled_from(USERS), st.just(""), st.just(0)),
        st.tuples(st.just("repeat"), st.sampled_from(USERS), st.just(""), st.just(0)),
        st.tuples(st.just("reopen"), st.sampled_from(USERS), st.just(""), st.just(0)),
    ),
    max_size=25,
)


class Model:
    """What a dictionary would hold: text by id, for each user."""

    def __init__(self, bench: ShardBench) -> None:
        self.bench = bench
        self.entries: dict[object, dict[EntryId, str]] = {user: {} for user in USERS}
        self.seen: set[EntryId] = set()
        self.last: tuple[object, tuple[Operation, ...], str, object] | None = None

    def step(self, what: str, user: object, text: str, which: int) -> None:
        known = self.entries[user]
        ids = sorted(known)
        target = ids[which % len(ids)] if ids else EntryId("nothing")
        match what:
            case "add":
                expected = "duplicate" if text in known.values() else "applied"
                assert self.apply(user, Add(text)) == expected
            case "update":
                expected = "refused" if target not in known else "applied"
                if target in known and text in known.values():
                    expected = "duplicate" if known[target] == text else "refused"
                assert self.apply(user, Update(target, text=text)) == expected
            case "delete":
                expected = "applied" if target in known else "refused"
                assert self.apply(user, Delete(target)) == expected
            case "clear":
                assert self.apply(user, Clear()) == "applied"
            case "repeat" if self.last is not None:
                owner, operations, request_id, answer = self.last
                assert self.bench.apply(*operations, user=owner, request_id=request_id) == answer  # type: ignore[arg-type]
            case _:
                self.bench.reopen()

    def apply(self, user: object, operation: Operation) -> str:
        request_id = self.bench.new_id()
        answer = self.bench.apply(operation, user=user, request_id=request_id)  # type: ignore[arg-type]  # a user key
        self.last = user, (operation,), request_id, answer
        outcome = answer.outcomes[0]
        known = self.entries[user]
        if outcome.status == "applied":
            match operation:
                case Add():
                    assert outcome.entry_id is not None
                    assert outcome.entry_id not in self.seen, "an id was given out twice"
                    self.seen.add(outcome.entry_id)
                    known[outcome.entry_id] = operation.text
                case Update():
                    known[operation.entry_id] = operation.text or ""
                case Delete():
                    del known[operation.entry_id]
                case Clear():
                    assert outcome.count == len(known)
                    known.clear()
        return outcome.status.value

    def compare(self) -> None:
        for user in USERS:
            state = self.bench.shard.state().user(user)
            assert {key: entry.text for key, entry in state.entries.items()} == self.entries[user]


@given(steps)
@settings(max_examples=60)
def test_operations_equal_a_dictionary(sequence: list[tuple[str, object, str, int]]) -> None:
    bench = ShardBench()
    model = Model(bench)
    for step in sequence:
        model.step(*step)
    model.compare()
    bench.check()
    model.compare()
    bench.shard.close(10.0)


@given(st.lists(st.tuples(st.sampled_from(USERS), st.sampled_from(("s1", "s2")), st.sampled_from(TEXTS)), max_size=12))
@settings(max_examples=40)
def test_every_turn_is_kept_and_extracted_once(said: list[tuple[object, str, str]]) -> None:
    extractor = ScriptedExtractor()
    bench = ShardBench(extractor=extractor)
    for number, (user, session, text) in enumerate(said):
        bench.submit(f"{text} {number}", user=user, session=session)  # type: ignore[arg-type]  # a user key
    bench.settle()
    offered = [turn.text for request in extractor.requests for turn in request.turns]
    assert sorted(offered) == sorted(f"{text} {number}" for number, (_, _, text) in enumerate(said))
    bench.check()
    bench.shard.close(10.0)


@given(steps)
@settings(max_examples=20)
def test_batches_survive_encoding_and_any_prefix_folds(sequence: list[tuple[str, object, str, int]]) -> None:
    bench = ShardBench()
    model = Model(bench)
    for step in sequence:
        model.step(*step)
    state = empty_state("log", requests_count_max=10, requests_age_seconds_max=1e9)
    for batch in bench.batches():
        assert decode_batch(encode_batch(batch)) == batch
        state = fold(state, batch)
        assert state.last_seq == batch.last_seq
    bench.shard.close(10.0)
