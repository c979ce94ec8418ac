"""The embedder behind an OpenAI-compatible endpoint, over real sockets, with an endpoint that does all that they do."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memoray.errors import EmbedderUnavailableError
from memoray.extraction.openai_embedder import HALVINGS_MAX, OpenAiEmbedder
from memoray.extraction.openai_settings import OpenAiSettings
from tests.support.openai_server import OpenAiServer, Reply, ScriptedVectors, embeddings, error

QUICK_RETRY = {"retry_after_ms": "1"}


@pytest.fixture
def server() -> Iterator[OpenAiServer]:
    with OpenAiServer() as running:
        yield running


def build(server: OpenAiServer, **settings: float) -> OpenAiEmbedder:
    chosen = {"rest_seconds": 0.001, **settings}
    return OpenAiEmbedder(OpenAiSettings(model="scripted", base_url=server.base_url, **chosen), "key-1")  # type: ignore[arg-type]  # numbers


def test_key_and_model_are_sent_and_the_store_is_bound_to_the_model(server: OpenAiServer) -> None:
    embedder = build(server)
    assert embedder.name == "openai:scripted"
    embedder.embed(["tea"])
    (asked,) = server.asked
    assert asked.headers["authorization"] == "Bearer key-1"
    assert asked.body["model"] == "scripted" and "dimensions" not in asked.body


def test_the_dimension_is_the_models_own_or_the_one_asked_for(server: OpenAiServer) -> None:
    assert build(server).dimension == 64
    asking = build(server, dimension=16)
    assert asking.embed(["tea"]).shape == (1, 16)
    assert [asked.body.get("dimensions") for asked in server.asked] == [None, 16]


def test_many_texts_travel_in_few_requests(server: OpenAiServer) -> None:
    texts = [f"text {number}" for number in range(150)]
    vectors = build(server).embed(texts)
    assert [len(texts) for texts in server.inputs()] == [64, 64, 22]
    assert np.allclose(vectors, ScriptedEmbedding().embed(texts), atol=1e-6)


class ScriptedEmbedding:
    """What the scripted server's vectors are, made here."""

    def embed(self, texts: list[str]) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
        data = ScriptedVectors()({"input": texts}).body["data"]
        rows = np.array([row["embedding"] for row in data], np.float32)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


@pytest.mark.parametrize(
    "failure",
    [
        error(429, **QUICK_RETRY),
        error(500, **QUICK_RETRY),
        error(503, **QUICK_RETRY),
        Reply(b"<html>busy</html>"),
        Reply(b'{"data": []}'),
        Reply(b'{"data"', declared_bytes=1000),
    ],
    ids=["429", "500", "503", "garbage", "too few", "line cut"],
)
def test_what_passes_is_tried_again(server: OpenAiServer, failure: Reply) -> None:
    server.then("/embeddings", failure, failure)
    assert build(server).embed(["tea"]).shape == (1, 64)
    assert len(server.inputs()) == 3


@pytest.mark.parametrize("failure", [error(500, **QUICK_RETRY), Reply(b"busy")], ids=["500", "garbage"])
def test_retries_are_bounded(server: OpenAiServer, failure: Reply) -> None:
    server.respond("/embeddings", lambda _body: failure)
    with pytest.raises(EmbedderUnavailableError):
        build(server).embed(["tea"])
    assert len(server.inputs()) == 4


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_is_asked_once(server: OpenAiServer, status: int) -> None:
    server.respond("/embeddings", lambda _body: error(status, "no such thing"))
    with pytest.raises(EmbedderUnavailableError, match="no such thing"):
        build(server).embed(["tea", "soup"])
    assert len(server.inputs()) == 1


def test_a_service_that_asks_for_more_time_than_there_is_gets_it(server: OpenAiServer) -> None:
    embedder = build(server, dimension=64)
    server.then("/embeddings", error(429, retry_after="3600"))
    for _ in range(3):
        with pytest.raises(EmbedderUnavailableError, match="429"):
            embedder.embed(["tea"])
    assert len(server.inputs()) == 1


def test_retry_after_is_obeyed_within_a_call(server: OpenAiServer, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("memoray.extraction.endpoint.time.sleep", waits.append)
    server.then("/embeddings", error(429, retry_after="5"))
    build(server).embed(["tea"])
    assert len(waits) == 1 and waits[0] >= 5


def test_one_bad_vector_leaves_its_neighbours(server: OpenAiServer) -> None:
    embedder = build(server, dimension=2)
    server.then("/embeddings", embeddings([[1, 0], [0, 0], [float("nan"), 1], [None, 1], [1, 2, 3], [0, 1]]))
    vectors = embedder.embed(["a", "b", "c", "d", "e", "f"])
    assert np.isfinite(vectors).all(axis=1).tolist() == [True, False, False, False, False, True]
    server.then("/embeddings", embeddings([[0, 0]]))
    with pytest.raises(EmbedderUnavailableError):
        embedder.embed(["a"])


def test_f16_a_text_that_is_too_long_is_halved_and_only_it_is_touched(server: OpenAiServer) -> None:
    server.respond("/embeddings", ScriptedVectors(too_long=1000))
    texts = ["tea", "x" * 3000, "soup", "bread"]
    vectors = build(server).embed(texts)
    assert np.allclose(vectors, ScriptedEmbedding().embed(["tea", "x" * 750, "soup", "bread"]), atol=1e-6)


def test_f16_a_text_that_is_never_taken_costs_its_own_vector_only(server: OpenAiServer) -> None:
    def picky(body: dict[str, list[str]]) -> Reply:
        poisoned = any("#" in text for text in body["input"])
        return error(400, "content") if poisoned else ScriptedVectors()(body)

    server.respond("/embeddings", picky)
    vectors = build(server).embed(["tea", "#" * 100_000, "soup"])
    assert np.isfinite(vectors).all(axis=1).tolist() == [True, False, True]
    alone = [texts for texts in server.inputs() if len(texts) == 1 and "#" in texts[0]]
    assert len(alone) == 1 + HALVINGS_MAX


@pytest.mark.parametrize("text", ["", " ", "\ud83d", "词" * 100_000, "\0"])
def test_any_text_can_be_sent(server: OpenAiServer, text: str) -> None:
    assert np.isfinite(build(server).embed([text])).all()
    ((sent,),) = server.inputs()
    assert sent and len(sent) <= 16_384


def test_what_was_made_before_an_outage_is_kept(server: OpenAiServer) -> None:
    def down_for_soup(body: dict[str, list[str]]) -> Reply:
        return error(500, **QUICK_RETRY) if "soup" in body["input"] else ScriptedVectors()(body)

    server.respond("/embeddings", down_for_soup)
    vectors = build(server).embed([f"tea {number}" for number in range(64)] + ["soup"])
    assert np.isfinite(vectors).all(axis=1).tolist() == [True] * 64 + [False]


def test_after_a_failure_callers_are_told_at_once(server: OpenAiServer) -> None:
    server.respond("/embeddings", lambda _body: error(500, **QUICK_RETRY))
    embedder = build(server, rest_seconds=600)
    for _ in range(5):
        with pytest.raises(EmbedderUnavailableError):
            embedder.embed(["tea"], is_query=True)
    assert len(server.inputs()) == 4


def test_a_query_does_not_wait_for_an_endpoint_that_hangs(server: OpenAiServer) -> None:
    server.then("/embeddings", Reply(gate=threading.Event()))
    with pytest.raises(EmbedderUnavailableError):
        build(server, dimension=64, query_seconds_max=0.2, seconds_max=3600, timeout=3600).embed(["a"], is_query=True)


def test_nobody_there_is_an_outage() -> None:
    with OpenAiServer() as server:
        embedder = build(server, dimension=64, seconds_max=0.5)
    with pytest.raises(EmbedderUnavailableError, match="openai:scripted"):
        embedder.embed(["tea"])


def test_f38_a_slow_answer_holds_up_no_other_caller(server: OpenAiServer) -> None:
    gate, done = threading.Event(), list[str]()
    embedder = build(server, dimension=64)
    server.then("/embeddings", Reply(ScriptedVectors()({"input": ["slow"]}).body, gate=gate))

    def embed(text: str) -> None:
        embedder.embed([text])
        done.append(text)

    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(embed, "slow")
        while not server.inputs():
            assert not slow.done()
        embed("quick")
        gate.set()
    assert done == ["quick", "slow"]
