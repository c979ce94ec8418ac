from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from memoray.text import fold, guard_of, index_terms, jaccard, normalise, tokens, word_set, words_of

# Lone surrogates included: what is not stored may still be asked for.
texts = st.text(max_size=80)
pieces = st.lists(
    st.sampled_from(["C++", "don't", "v1.2", "5km", "\u4f60\u597d", "\u0e20\u0e32", "\ud55c\uad6d", "\u0130", "\u0301"])
    | st.text(max_size=4),
    max_size=12,
).map("".join)


@given(texts | pieces)
@example("\u0130\u0307i\u0307")
@example("\u1e9e\u0345")
def test_folding_twice_is_folding_once(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@given(texts | pieces)
def test_no_text_is_too_much(text: str) -> None:
    terms = index_terms(text)
    assert all(terms)
    assert bool(terms) is bool(word_set(text))
    guard_of(text)


ascii_pieces = st.lists(
    st.sampled_from(
        ["C++", "don't", "'s", "O'Neil's", "v1.2", "12v3", "av3", "_v3", "v", "1,000", "a.net", " .NET", "-rc1"]
    )
    | st.sampled_from(["50%", "C#", "x2y", "3:30", "2024-05-01", "'", "\n", " ", ".", "_"])
    | st.text(st.characters(max_codepoint=127), max_size=4),
    max_size=12,
).map("".join)


@given(texts | pieces | ascii_pieces)
def test_the_quick_way_to_words_gives_the_words_of_the_tokens(text: str) -> None:
    assert words_of(text) == [(token.script, token.text) for token in tokens(text)]


@given(pieces)
def test_tokens_stand_in_order_and_apart(text: str) -> None:
    shown, position = normalise(text), 0
    for token in tokens(text):
        assert position <= token.start < token.end <= len(shown)
        position = token.end


@given(texts | pieces)
def test_what_folds_the_same_is_found_by_the_same_terms(text: str) -> None:
    assert index_terms(normalise(text)) == index_terms(text)


@given(texts, texts)
def test_jaccard_is_symmetric_and_bounded(one: str, other: str) -> None:
    likeness = jaccard(word_set(one), word_set(other))
    assert likeness == jaccard(word_set(other), word_set(one))
    assert 0.0 <= likeness <= 1.0
