"""What every embedder promises, on the bundled one and on the fake."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from memoray.errors import EmbedderUnavailableError
from memoray.extraction.minilm import MiniLmEmbedder
from memoray.protocols import Embedder
from tests.support.fake_embedder import FakeEmbedder


@pytest.fixture(scope="module", params=[MiniLmEmbedder, FakeEmbedder])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    made: Embedder = request.param()
    return made


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
