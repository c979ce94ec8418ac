"""A read as of a moment is what a shard answers that has had nothing but the batches up to it."""

from __future__ import annotations

from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from memoray.engine.finder import find_legs, recent
from memoray.engine.projections import Projections
from memoray.engine.replay import begin, replay
from memoray.requests import Filters, ReadRequest, SearchRequest
from memoray.retrieval.search import answer
from tests.property.test_snapshots import WORDS, come_to_rest, step, steps
from tests.property.test_undo import last_change, opened
from tests.property.test_undo import undo as undo_batch
from tests.support.fake_embedder import FakeEmbedder
from tests.support.shards import ANA, BEN, ShardBench


def assert_every_moment_is_answered(bench: ShardBench, queries: list[str]) -> None:
    dimension, language = bench.manifest.embedder_dimension, bench.manifest.language
    state, projections = begin(bench.manifest, 0), Projections(dimension, language)
    vectors = FakeEmbedder().embed(queries).astype("<f4").tobytes()
    batches = bench.batches()
    for number, batch in enumerate((None, *batches)):
        seqs: set[int] = {0}
        if batch is not None:
            state = replay(state, [batch], projections)
            seqs = {batch.first_seq, batch.last_seq}
        moments: list[int | datetime] = [*sorted(seqs)]
        if batch is not None and (number == len(batches) or batches[number].recorded_at > batch.recorded_at):
            moments.append(batch.recorded_at)
        for user in (ANA, BEN):
            asked = SearchRequest(user, queries[0], queries=tuple(queries[1:]), limit=3, explain=True)
            narrow = replace(asked, filters=Filters(topics=("maple",), sessions=("s0",)), turns=False)
            for as_of in moments:
                assert bench.shard.read(ReadRequest(user, as_of=as_of)) == recent(state, user, None)
                for one in (asked, narrow):
                    request = replace(one, as_of=as_of)
                    found = bench.shard.find(request, vectors)
                    expected = find_legs(state, projections, one, vectors, language)
                    assert found == expected
                    assert answer(request, found).hits == answer(one, expected).hits


@given(steps, st.lists(st.sampled_from(WORDS), min_size=1, max_size=2, unique=True), st.booleans())
@settings(max_examples=50, deadline=None)
def test_a_read_as_of_a_seq_is_what_a_shard_with_only_those_batches_answers(
    sequence: list[tuple[str, object, str, int]], queries: list[str], is_undone: bool
) -> None:
    with opened(10) as bench:
        for each in sequence[:12]:
            step(bench, *each)
        come_to_rest(bench)
        if is_undone and last_change(bench, ANA):
            undo_batch(bench, ANA, last_change(bench, ANA))
            come_to_rest(bench)
        assert_every_moment_is_answered(bench, queries)
