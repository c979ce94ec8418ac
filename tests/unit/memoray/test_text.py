from __future__ import annotations

import pytest

from memoray.errors import InvalidRequestError
from memoray.text import fold, guard_of, index_terms, jaccard, tokens, word_set


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("\uff21\uff22\uff23\uff11\uff12\uff13", "abc123"),
        ("\u0130stanbul", "istanbul"),
        ("\u05d0\u05e0\u05d9\u200f \u05d2\u05e8", "\u05d0\u05e0\u05d9 \u05d2\u05e8"),
        ("pass\u200bword", "password"),
        ("co\u00adoperate", "cooperate"),
        ("Stra\u00dfe", "STRASSE"),
        ("\u2764\ufe0f", "\u2764"),
    ],
)
def test_what_reads_the_same_folds_the_same(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("User's dog", ["user", "dog"]),
        ("the quick brown fox", ["quick", "brown", "fox"]),
        ("to be", ["to", "be"]),
        ("C++ C# C .NET", ["c++", "c#", "c", ".net"]),
        ("Go v1.24.3 at 4:00 on 2024-05-01", ["go", "1.24.3", "4:00", "2024-05-01"]),
        ("20% of 1,000", ["20%", "1000"]),
        ("5km", ["5", "km"]),
        ("Do you not like it?", ["not", "like"]),
        ("foo foo bar", ["foo", "foo", "bar"]),
        ("\u4e2d", ["\u4e2d"]),
        ("hello\u4f60\u597d\u5417", ["hello", "\u4f60\u597d", "\u597d\u5417", "\u4f60", "\u597d", "\u5417"]),
        ("\u732b\u304c\u597d", ["\u732b\u304c", "\u304c\u597d", "\u732b", "\u597d"]),
        ("\u0939\u093f\u0928\u094d\u0926\u0940", ["\u0939\u093f\u0928\u094d\u0926\u0940"]),
        ("\u0663 kg", ["3", "kg"]),
        ("?", []),
        ("   ", []),
        ("\u200b", []),
    ],
)
def test_terms(text: str, terms: list[str]) -> None:
    assert index_terms(text) == terms


@pytest.mark.parametrize("query", ["\u6b0a\u5a01\u4e8b\u5be6", "\u6a5f\u5668\u63a8\u8ad6"])
def test_a_part_of_a_run_without_spaces_shares_all_its_terms(query: str) -> None:
    stored = index_terms("\u628a\u6a5f\u5668\u63a8\u8ad6\u6d17\u6210\u6b0a\u5a01\u4e8b\u5be6")
    assert set(index_terms(query)) <= set(stored)


def test_a_word_of_one_han_character_is_found() -> None:
    assert set(index_terms("\u732b")) <= set(index_terms("\u79c1\u306f\u732b\u304c\u597d\u304d"))


def test_pairs_alone_decide_how_alike_two_texts_are() -> None:
    assert word_set("\u732b\u304c\u597d") == {"\u732b\u304c", "\u304c\u597d"}


def test_a_korean_word_is_found_without_its_particle() -> None:
    assert set(index_terms("\ud55c\uad6d")) <= set(index_terms("\ud55c\uad6d\uc5b4\ub294 \uc88b\ub2e4"))


@pytest.mark.parametrize(
    "query",
    [
        *("https://x.org", "following:", "-x", ">>>", 'adapter""', "{0}", "y+(y+25)", "AND", "OR NOT", "title:secret"),
        *('"unclosed', "[a TO z]", "*", "a^b~2", "\\", "+ 2", "C++", "[" * 5000, "\ud800", "\0"),
    ],
)
def test_no_text_is_query_syntax(query: str) -> None:
    assert all(term == term.strip() and '"' not in term for term in index_terms(query))


def test_an_unknown_language_is_refused_with_those_there_are() -> None:
    with pytest.raises(InvalidRequestError, match=r"klingon.*english"):
        index_terms("cat", "klingon")


def test_stemming_is_by_language() -> None:
    assert index_terms("running", "english") == ["run"]
    assert index_terms("Katzen", "german") == index_terms("Katze", "german")


def test_a_capital_counts_only_where_the_position_does_not_ask_for_one() -> None:
    first, second, third = tokens("Works at Google.\nNow")[0], tokens("Works at Google")[2], tokens("Ok. Now")[1]
    assert (first.is_capitalised, first.is_first) == (True, True)
    assert (second.is_capitalised, second.is_first) == (True, False)
    assert third.is_first


def test_a_token_knows_where_it_stands() -> None:
    text = "Runs Go v1.24"
    assert [text[token.start : token.end] for token in tokens(text)] == ["Runs", "Go", "v1.24"]


@pytest.mark.parametrize("text", ["don't", "don\u2019t", "doesn't", "n't", "never", "cannot", "\u4e0d\u5403"])
def test_a_denial_is_seen(text: str) -> None:
    assert guard_of(text).negations_count == 1


def test_jaccard_counts_words_that_keywords_leave_out() -> None:
    assert word_set("Do you like it") == {"do", "you", "like", "it"}


def test_jaccard_of_nothing_is_nothing() -> None:
    assert jaccard(frozenset(), frozenset()) == 0.0
    assert jaccard(word_set("User lives in Portland"), word_set("Lives in Portland Oregon")) == 0.5
