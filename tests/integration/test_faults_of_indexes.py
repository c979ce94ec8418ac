"""Public faults of this field that are about indexes: each with its input, and what is right."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from memoray.config import EngineConfig
from memoray.engine.projections import entries_of
from memoray.errors import CorruptionError, InternalError
from memoray.keys import UserKey
from memoray.operations import Add, Delete, Update
from memoray.requests import SearchRequest
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.sealed_keywords import SealedKeywords, write_keywords
from tests.support.shards import ShardBench

USERS = [
    UserKey("app", name) for name in ("test-1", "Test-1", "test_1", "f2c59d63-a7a7-b5e6-8000-000000000000", "用户")
]

FORKING = """
import os, signal, sys
import numpy as np
from memoray.storage.near_vectors import build_near, near_rows
from memoray.storage.vectors import VectorIndex

vectors = np.random.default_rng(0).standard_normal((25_000, 64)).astype(np.float32)
vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
index = VectorIndex(64)
index.add("s", [f"k{row}" for row in range(len(vectors))], vectors)
near, nobody = build_near(vectors), np.zeros(len(vectors), bool)

def search():
    found = index.search("s", vectors[7], 3)[0], near_rows(near, vectors, vectors[7], 3, nobody, 0)[0].tolist()
    assert found[0] == [f"k{row}" for row in found[1]], found
    return found

before = search()
child = os.fork()
if not child:
    signal.alarm(20)
    os._exit(search() != before)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_f29_updates_and_deletes_reach_what_is_sealed_whatever_the_ids(tmp_path: Path) -> None:
    bench = ShardBench(LocalFileSystem(), root=str(tmp_path), config=EngineConfig(seal_rows_min=10))
    for number in range(6):
        for user in USERS:
            (added,) = bench.apply(Add(f"crate-{number} Holds_{number} maple"), user=user).outcomes
            assert added.entry_id is not None
            if number % 3 == 1:
                bench.apply(Update(added.entry_id, text=f"crate-{number} holds birch"), user=user)
            if number % 3 == 2:
                bench.apply(Delete(added.entry_id), user=user)
        assert bench.shard.seal(20.0)
    for user in USERS:
        live = set(bench.shard.state().user(user).entries)
        assert bench.shard.projections.keywords.ids(entries_of(user)) == live
        assert bench.shard.projections.keywords.count(entries_of(user)) == len(live) == 4
        legs = bench.shard.find(SearchRequest(user, "birch maple", turns=False), None).legs
        assert [set(leg.ids) for leg in legs] == [live]
    bench.check()
    bench.shard.close(10.0)


def test_f29_an_index_with_another_number_of_documents_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "whole", tmp_path / "short"]
    for folder in folders:
        folder.mkdir()
    documents = [(number, "1e:", {"tea": 1}) for number in range(3)]
    write_keywords(folders[0], documents)
    assert SealedKeywords(folders[0], 3).of_term("1e:", "tea")[0].tolist() == [1, 17, 33]
    with pytest.raises(CorruptionError, match="4 documents"):
        SealedKeywords(folders[0], 4)

    class Forgetful:
        """A writer that takes documents and keeps none."""

        def __init__(self, *_: object, **__: object) -> None:
            pass

        def writer(self, *_: object) -> Forgetful:
            return self

        def add_document(self, _: object) -> None:
            pass

        def commit(self) -> None:
            pass

        wait_merging_threads = reload = commit

        def searcher(self) -> Forgetful:
            return self

        num_docs = 0

    monkeypatch.setattr("memoray.storage.sealed_keywords.tantivy.Index", Forgetful)
    with pytest.raises(InternalError, match="holds 0 documents, 3 were given"):
        write_keywords(folders[1], documents)


def test_f34_a_search_in_a_process_that_forked_after_a_search_does_not_hang() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OMP_NUM_THREADS"}
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", FORKING], env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])
