"""A base and what came after it are the whole log: in state, in indexes, and in every answer."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoray.config import EngineConfig
from memoray.engine.checker import different, violations
from memoray.engine.finder import find_legs, recent
from memoray.engine.jobs import lacks_vectors
from memoray.engine.projections import Projections
from memoray.engine.replay import begin, replay
from memoray.entries import EntryId
from memoray.operations import Add, Clear, Delete, Operation, Update
from memoray.requests import SearchRequest
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.generations import generations, snapshots_root
from memoray.storage.manifest import shard_directory
from tests.support.fake_embedder import FakeEmbedder
from tests.support.moody import MoodyEmbedder
from tests.support.shards import ANA, BEN, ScriptedExtractor, ShardBench

WORDS = ("maple", "birch", "cedar", "alder", "maple birch", "cedar cedar alder", "用户 喜欢 喝茶")

steps = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "submit", "update", "cite", "delete", "clear", "reopen", "outage"]),
        st.sampled_from([ANA, BEN]),
        st.sampled_from(WORDS),
        st.integers(0, 5),
    ),
    max_size=30,
)


def sealing_bench(root: Path, rows_min: int) -> ShardBench:
    config = EngineConfig(
        backoff_seconds=0.01, backoff_seconds_max=0.02, seal_rows_min=rows_min, mend_seconds=0.01, mend_seconds_max=0.05
    )
    return ShardBench(
        LocalFileSystem(), root=str(root), config=config, embedder=MoodyEmbedder(), extractor=ScriptedExtractor()
    )


def step(bench: ShardBench, what: str, user: object, text: str, which: int) -> None:
    ids = sorted(bench.shard.state().user(user).entries)  # type: ignore[arg-type]  # a user key
    target = ids[which % len(ids)] if ids else EntryId("nothing")
    operations: dict[str, Operation] = {
        "add": Add(f"{text} {which}", topics=(text,)),
        "update": Update(target, text=f"{text} {which + 3}"),
        "delete": Delete(target),
        "clear": Clear(),
        "cite": Add(f"{text} {which}"),
    }
    match what:
        case "submit":
            bench.submit(f"{text} {which}", f"and {text}", user=user, session=f"s{which % 2}")  # type: ignore[arg-type]
            bench.settle()
        case "reopen":
            bench.reopen()
        case "outage":
            embedder = bench.embedder
            assert isinstance(embedder, MoodyEmbedder)
            come_to_rest(bench)
            embedder.mood = "well" if embedder.mood == "down" else "down"
        case _:
            bench.apply(operations[what], user=user)  # type: ignore[arg-type]


def come_to_rest(bench: ShardBench) -> None:
    """Wait until nobody writes any more: neither jobs, nor those who embed what lacks a vector, nor a snapshot."""
    assert isinstance(bench.embedder, MoodyEmbedder)
    bench.settle()
    deadline = time.monotonic() + 20
    while bench.embedder.mood == "well" and any(lacks_vectors(bench.shard.state(), user) for user in (ANA, BEN)):
        assert time.monotonic() < deadline, "nothing is embedded"
        time.sleep(0.002)
    assert bench.shard.seal(20.0)


def assert_equals_the_log(bench: ShardBench) -> None:
    """The live state and indexes are those of the whole log, and they answer the same, to the last bit."""
    come_to_rest(bench)
    shard = bench.shard
    batches = bench.batches()
    assert violations(batches, shard.state(), shard.projections) == []
    projections = Projections(bench.manifest.embedder_dimension, bench.manifest.language)
    state = replay(begin(bench.manifest, 0), batches, projections)
    assert different(state, shard.state()) == []
    for user in (ANA, BEN):
        assert recent(state, user, None) == recent(shard.state(), user, None)
        for word in WORDS:
            request = SearchRequest(user, word)
            vector = FakeEmbedder().embed([word])[0].tobytes()
            found = find_legs(shard.state(), shard.projections, request, vector, bench.manifest.language)
            expected = find_legs(state, projections, request, vector, bench.manifest.language)
            assert found.legs == expected.legs
            assert found == expected


@given(steps, st.sampled_from([1, 4, 10]))
@settings(max_examples=40, deadline=None)
def test_a_snapshot_and_the_tail_are_the_whole_log(sequence: list[tuple[str, object, str, int]], rows_min: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = sealing_bench(Path(folder), rows_min)
        for each in sequence:
            step(bench, *each)
        assert_equals_the_log(bench)
        bench.reopen()
        assert_equals_the_log(bench)
        bench.shard.close(10.0)


@pytest.mark.parametrize("rounds", [3])
def test_every_snapshot_lies_on_the_one_before(tmp_path: Path, rounds: int) -> None:
    bench = sealing_bench(tmp_path, 5)
    root = snapshots_root(bench.fs, shard_directory(str(tmp_path), 0))
    assert root is not None
    seqs: list[int] = []
    for number in range(rounds):
        for text in range(8 + 8 * number):
            bench.apply(Add(f"the crate number {number} {text}"), user=ANA if text % 3 else BEN)
        assert bench.shard.seal(20.0)
        found = generations(root)
        assert len(found) == 1, "the older ones are gone"
        seqs.append(found[0].seq)
    assert sorted(set(seqs)) == seqs
    assert_equals_the_log(bench)
    bench.shard.close(10.0)
