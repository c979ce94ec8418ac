"""A store and the endpoint that its vectors come from: outages, bad vectors, slow answers, another model."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

import memoray
from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.config import EngineConfig
from memoray.engine.embedded import EmbeddedMemory
from memoray.engine.memory import Memory
from memoray.errors import EmbedderUnavailableError, InvalidRequestError
from memoray.messages import Message
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import read_manifest
from tests.support.openai_server import OpenAiServer, Reply, ScriptedVectors, embeddings, error

ANA, BEN = memoray.UserKey("app", "ana"), memoray.UserKey("app", "ben")
SECONDS_MAX = 30.0
MENDS_SOON = EngineConfig(mend_seconds=0.02, mend_seconds_max=0.05)
NAMESPACE = "embedders-test"

Down = Callable[[dict[str, list[str]]], Reply]


@pytest.fixture
def server() -> Iterator[OpenAiServer]:
    with OpenAiServer() as running:
        yield running


def name_of(server: OpenAiServer, **options: object) -> str:
    chosen = {"rest_seconds": 0.01, **options}
    return f"openai:scripted?base_url={server.base_url}" + "".join(f"&{key}={value}" for key, value in chosen.items())


def open_store(tmp_path: Path, server: OpenAiServer, **options: object) -> EmbeddedMemory:
    return memoray.open(tmp_path / "store", embedder=name_of(server, **options), config=MENDS_SOON)


def is_down(_body: dict[str, list[str]]) -> Reply:
    return error(503, retry_after_ms="1")


def gives_nan(body: dict[str, list[str]]) -> Reply:
    return embeddings([[float("nan")] * 64] * len(body["input"]))


def gives_zeros(body: dict[str, list[str]]) -> Reply:
    return embeddings([[0.0] * 64] * len(body["input"]))


def gives_another_length(body: dict[str, list[str]]) -> Reply:
    return embeddings([[1.0] * 65] * len(body["input"]))


def gives_garbage(_body: dict[str, list[str]]) -> Reply:
    return Reply(b"<html>busy</html>", headers={"retry-after-ms": "1"})


def until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + SECONDS_MAX
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.01)


def unembedded(memory: Memory, user: memoray.UserKey = ANA) -> int:
    return memory.status(user)[0].unembedded_count


def test_f32_another_model_is_refused_whatever_it_has_in_common_and_the_old_one_goes_on(
    server: OpenAiServer, tmp_path: Path
) -> None:
    with open_store(tmp_path, server) as memory:
        memory.add(ANA, "the gate code is 9931")
    server.respond("/embeddings", ScriptedVectors(dimension=32))
    with pytest.raises(InvalidRequestError, match="dimension 64; 'openai:scripted' of dimension 32 would mix vectors"):
        open_store(tmp_path, server)
    server.respond("/embeddings", ScriptedVectors(weights="other "))
    with pytest.raises(InvalidRequestError, match=r"with other weights \(cosine .*would mix vectors"):
        open_store(tmp_path, server)
    with pytest.raises(InvalidRequestError, match="'all-MiniLM-L6-v2-int8' of dimension 384 would mix vectors"):
        memoray.open(tmp_path / "store", embedder="minilm")
    server.respond("/embeddings", ScriptedVectors())
    with open_store(tmp_path, server) as memory:
        found = memory.search(ANA, "the gate code is 9931", hybrid=False)
        assert [hit.text for hit in found.hits] == ["the gate code is 9931"]
        assert not found.keyword_only and unembedded(memory) == 0


def test_a_store_opens_with_its_own_embedder_unless_told_otherwise(
    server: OpenAiServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(tmp_path, server).close()
    memoray.open(tmp_path / "new").close()
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    for name, embedder in (("store", "openai:scripted"), ("new", "all-MiniLM-L6-v2-int8")):
        memoray.open(tmp_path / name).close()
        assert read_manifest(LocalFileSystem(), str(tmp_path / name)).embedder_name == embedder


@pytest.mark.parametrize(
    "trouble", [is_down, gives_nan, gives_zeros, gives_another_length, gives_garbage], ids=lambda each: each.__name__
)
def test_f31_without_vectors_entries_are_found_by_words_and_get_vectors_afterwards(
    server: OpenAiServer, tmp_path: Path, trouble: Down
) -> None:
    with open_store(tmp_path, server, seconds_max=0.5, query_seconds_max=0.5) as memory:
        server.respond("/embeddings", trouble)
        memory.submit(ANA, "s1", [Message("user", "The gate code is 9931.")])
        memory.wait(ANA, timeout=SECONDS_MAX)
        assert unembedded(memory) == 2, "the turn and the entry"
        found = memory.search(ANA, "gate code", dedupe=False)
        assert found.keyword_only and {hit.type for hit in found.hits} == {"entry", "turn"}
        server.respond("/embeddings", ScriptedVectors())
        until(lambda: unembedded(memory) == 0, "nothing was tried again")
        until(lambda: not memory.search(ANA, "gate code").keyword_only, "the embedder is still thought to be away")
        assert memory.search(ANA, "gate code", hybrid=False).hits


def test_one_text_that_gets_no_vector_keeps_none_from_the_others(server: OpenAiServer, tmp_path: Path) -> None:
    def picky(body: dict[str, list[str]]) -> Reply:
        poisoned = any("poison" in text for text in body["input"])
        return error(400, "content") if poisoned else ScriptedVectors()(body)

    with open_store(tmp_path, server) as memory:
        server.respond("/embeddings", picky)
        messages = [
            Message("user", text) for text in ("The gate code is 9931.", "poison " * 100, "The lift is out of order.")
        ]
        memory.submit(ANA, "s1", messages)
        memory.wait(ANA, timeout=SECONDS_MAX)
        texts = {hit.text for hit in memory.search(ANA, "gate", hybrid=False, turns=False).hits}
        assert any("gate" in text for text in texts) and any("lift" in text for text in texts)
        assert not any("poison" in text for text in texts)
        assert any("poison" in hit.text for hit in memory.search(ANA, "poison").hits)
        assert unembedded(memory) >= 1


def test_a_store_opens_while_its_endpoint_is_down_and_never_takes_another_models_vectors(
    server: OpenAiServer, tmp_path: Path
) -> None:
    with open_store(tmp_path, server) as memory:
        memory.add(ANA, "the gate code is 9931")
    server.respond("/embeddings", is_down)
    with open_store(tmp_path, server, seconds_max=0.5) as memory:
        assert memory.search(ANA, "gate").keyword_only
        server.respond("/embeddings", ScriptedVectors(weights="other "))
        memory.add(ANA, "the lift is out of order")
        looks = len(server.inputs())
        until(lambda: len(server.inputs()) >= looks + 3, "nobody looked who answers")
        assert unembedded(memory) == 1
        assert memory.search(ANA, "gate").keyword_only
        server.respond("/embeddings", ScriptedVectors())
        until(lambda: unembedded(memory) == 0, "the right model is back and was not taken")
        until(lambda: not memory.search(ANA, "gate").keyword_only, "searches go on without vectors")


def test_a_new_store_needs_to_know_its_embedder(server: OpenAiServer, tmp_path: Path) -> None:
    server.respond("/embeddings", is_down)
    with pytest.raises(EmbedderUnavailableError, match="503"):
        open_store(tmp_path, server, seconds_max=0.5)
    assert not (tmp_path / "store" / "manifest.json").exists()


def check_slow_embedding_holds_nobody_up(memory: Memory, server: OpenAiServer) -> None:
    """While one user's text is with the endpoint, others search, write and ask for the status."""
    gate, done = threading.Event(), list[str]()
    memory.add(BEN, "the lift is out of order")
    memory.search(BEN, "warm")

    def held_back(body: dict[str, list[str]]) -> Reply:
        reply = ScriptedVectors()(body)
        return Reply(reply.body, gate=gate) if any("slow" in text for text in body["input"]) else reply

    server.respond("/embeddings", held_back)

    def slow() -> None:
        memory.add(ANA, "a slow text")
        done.append("slow")

    with ThreadPoolExecutor(1) as pool:
        slowly = pool.submit(slow)
        until(lambda: ["a slow text"] in server.inputs(), "the text never came to the endpoint")
        for number in range(5):
            assert not memory.search(BEN, f"lift number {number}").keyword_only
            assert memory.status()[0].state == "serving"
            memory.add(BEN, f"note {number}")
        done.append("others")
        gate.set()
        slowly.result(SECONDS_MAX)
    assert done == ["others", "slow"]


def test_f38_a_slow_embedding_holds_up_no_other_user(server: OpenAiServer, tmp_path: Path) -> None:
    with open_store(tmp_path, server) as memory:
        check_slow_embedding_holds_nobody_up(memory, server)


def test_on_ray_an_endpoint_may_be_slow_or_away(server: OpenAiServer, tmp_path: Path, ray_session: str) -> None:
    assert ray_session
    config = ClusterConfig(
        store=str(tmp_path / "store"),
        embedder=name_of(server),
        extractor="none",
        namespace=NAMESPACE,
        engine=MENDS_SOON,
    )
    cluster = Cluster(config)
    try:
        cluster.ensure_shards()
        check_slow_embedding_holds_nobody_up(Client(NAMESPACE), server)
        cluster.stop()
        with pytest.raises(InvalidRequestError, match="would mix vectors"):
            Cluster(replace(config, embedder="minilm")).ensure_shards()
        server.respond("/embeddings", is_down)
        cluster.ensure_shards()
        memory = Client(NAMESPACE)
        memory.add(ANA, "the gate code is 9931")
        found = memory.search(ANA, "gate code", dedupe=False)
        assert found.keyword_only and "the gate code is 9931" in {hit.text for hit in found.hits}
        server.respond("/embeddings", ScriptedVectors())
        until(lambda: unembedded(memory) == 0, "nothing was tried again")
        until(lambda: not memory.search(ANA, "gate code").keyword_only, "the embedder is still thought to be away")
    finally:
        cluster.stop()
    assert read_manifest(LocalFileSystem(), config.store).embedder_name == "openai:scripted"
