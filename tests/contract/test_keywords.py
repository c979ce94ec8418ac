"""The keyword index beside its definition."""

from __future__ import annotations

import random
import sys
import threading
from collections.abc import Iterator

import pytest

from memoray.storage.keywords import KeywordIndex
from tests.support.naive_indexes import NaiveKeywords
from tests.support.sealed_indexes import sealed_keywords

WORDS = [f"w{number}" for number in range(30)]


@pytest.fixture
def busy_threads() -> Iterator[None]:
    """Threads change places after every few instructions, not every 5 ms."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def assert_same(found: tuple[list[str], list[float]], expected: tuple[list[str], list[float]]) -> None:
    assert found[1] == pytest.approx(expected[1], rel=1e-9)
    by_score = dict(zip(*expected, strict=True))
    assert all(by_score[key] == pytest.approx(score) for key, score in zip(*found, strict=True) if key in by_score)
    assert len(set(found[0])) == len(found[0])


@pytest.mark.parametrize("seed", range(4))
def test_searches_equal_the_definition_through_sealing_replacements_and_removals(seed: int) -> None:
    chance = random.Random(seed)
    real, naive = KeywordIndex(), NaiveKeywords()
    for step in range(300):
        space, key = chance.choice(("s", "t")), f"k{chance.randrange(60)}"
        choice = chance.random()
        if choice < 0.25:
            real.remove(space, key)
            naive.remove(space, key)
        elif choice < 0.26:
            real.drop(space)
            naive.drop(space)
        else:
            terms = chance.choices(WORDS, k=chance.randint(1, 12))
            real.add(space, key, terms)
            naive.add(space, key, terms)
        if step % 37 == 0:
            real = sealed_keywords(naive)
        if step % 10 == 0:
            query = chance.choices(WORDS, k=3)
            for allowed in (None, {f"k{number}" for number in range(0, 60, 2)}, set[str]()):
                assert_same(real.search(space, query, 100, allowed), naive.search(space, query, 100, allowed))


def test_the_best_few_of_many_are_the_best_although_long_postings_are_not_read() -> None:
    chance = random.Random(5)
    words = [f"w{number}" for number in range(400)]
    shares = [1 / (number + 1) for number in range(400)]
    real, naive = KeywordIndex(), NaiveKeywords()
    for number in range(3000):
        document = chance.choices(words, shares, k=chance.choice((1, 5, 20, 60)))
        real.add("s", f"k{number}", document)
        naive.add("s", f"k{number}", document)
        if number in {1000, 2000, 2600}:
            real = sealed_keywords(naive)
        if number % 7 == 0:
            gone = f"k{chance.randrange(number + 1)}"
            real.remove("s", gone)
            naive.remove("s", gone)
    even = [f"k{number}" for number in range(0, 3000, 2)]
    for _ in range(25):
        query = [chance.choice(words), *chance.choices(words, shares, k=4)]
        for k, allowed in ((3, None), (40, None), (10, even), (10, even[:20])):
            assert_same(real.search("s", query, k, allowed), naive.search("s", query, k, allowed))


def test_equal_scores_are_ordered_by_key() -> None:
    index, naive = KeywordIndex(), NaiveKeywords()
    for number in (3, 1, 4, 0, 2):
        index.add("s", f"k{number}", ["tea", "green"])
        naive.add("s", f"k{number}", ["tea", "green"])
        if number == 4:
            index = sealed_keywords(naive)
    keys, scores = index.search("s", ["green", "tea", "tea"], 3)
    assert keys == ["k0", "k1", "k2"]
    assert len(set(scores)) == 1


def test_what_was_removed_or_replaced_is_gone_from_the_sealed_part_too() -> None:
    index, naive = KeywordIndex(), NaiveKeywords()
    for generation in range(3):
        for number in range(100):
            for each in (index, naive):
                each.add("s", f"k-{number}", ["tea", f"g{generation}"])
        if generation < 2:
            index = sealed_keywords(naive)
    for number in range(3, 100):
        index.remove("s", f"k-{number}")
        naive.remove("s", f"k-{number}")
    for each in (index, sealed_keywords(naive)):
        assert each.search("s", ["tea"], 5)[0] == ["k-0", "k-1", "k-2"]
        assert each.search("s", ["g1"], 5) == ([], [])


def test_sealing_changes_no_answer_to_the_last_bit() -> None:
    index, naive = KeywordIndex(), NaiveKeywords()
    for number in range(50):
        terms = [WORDS[number % 7], WORDS[number % 5], *["all"] * (number % 20)]
        index.add("s", f"k{number:02}", terms)
        naive.add("s", f"k{number:02}", terms)
    for query in (["all", WORDS[3]], ["all"], [WORDS[1], WORDS[2]]):
        assert sealed_keywords(naive).search("s", query, 50) == index.search("s", query, 50)


def test_a_documents_score_does_not_depend_on_other_spaces_or_on_what_is_gone() -> None:
    alone, naive = KeywordIndex(), NaiveKeywords()
    for number in range(200):
        naive.add("other", f"k{number}", ["tea", "tea", "coffee"])
        naive.add("s", f"gone{number}", ["tea"])
    crowded = sealed_keywords(naive)
    for number in range(200):
        crowded.remove("s", f"gone{number}")
    for index in (alone, crowded):
        index.add("s", "a", ["tea", "green"])
        index.add("s", "b", ["coffee"])
    assert crowded.search("s", ["tea"], 10) == alone.search("s", ["tea"], 10)


@pytest.mark.parametrize("term", ["", "\x1f", "1\x1fa", "a b", "\u4e2d", "x" * 70_000, "\ud800", "AND", "a:b*", "\0"])
def test_any_string_is_a_term(term: str) -> None:
    index, naive = KeywordIndex(), NaiveKeywords()
    for each in (index, naive):
        each.add("s", "a", [term, "plain"])
        each.add("t", "b", ["plain"])
    for each in (index, sealed_keywords(naive)):
        assert each.search("s", [term], 5)[0] == ["a"]
        assert each.search("t", [term], 5)[0] == []


def test_no_query_terms_no_documents_and_no_space() -> None:
    index = KeywordIndex()
    assert index.search("s", ["a"], 5) == ([], [])
    index.add("s", "a", [])
    assert index.search("s", [], 5) == ([], [])
    assert index.search("s", ["a"], 5) == ([], [])
    assert index.ids("s") == {"a"}


@pytest.mark.usefixtures("busy_threads")
def test_a_document_that_is_replaced_is_never_missing_and_never_there_twice() -> None:
    naive = NaiveKeywords()
    naive.add("s", "moves", ["anchor"])
    index = sealed_keywords(naive)
    is_done = threading.Event()
    wrong: list[object] = []

    def read(allowed: set[str] | None) -> None:
        while not is_done.is_set():
            found = index.search("s", ["anchor"], 5, allowed)[0]
            if found != ["moves"]:
                wrong.append(found)

    readers = [threading.Thread(target=read, args=(allowed,)) for allowed in (None, None, {"moves"})]
    for reader in readers:
        reader.start()
    for number in range(4000):
        index.add("s", "moves", ["anchor", WORDS[number % 7]])
    is_done.set()
    for reader in readers:
        reader.join()
    assert not wrong
