from __future__ import annotations

import base64

import msgspec
import pytest
from msgspec.structs import replace

from memoray.errors import InvalidRequestError
from memoray.keys import UserKey
from memoray.requests import Filters, SearchRequest
from memoray.retrieval.fusion import Leg
from memoray.retrieval.search import Found, answer
from tests.unit.retrieval.hits import entry, turn

ASKED = SearchRequest(UserKey("app", "user"), "what", limit=3)


def found(count: int, *, seq: int = 7) -> Found:
    entries = {f"e{number:02}": entry(f"e{number:02}", f"text {number}") for number in range(count)}
    return Found(legs=(Leg("entry_vector", tuple(entries), tuple(0.5 for _ in entries)),), entries=entries, seq=seq)


def test_pages_together_are_one_long_answer() -> None:
    what, request, ids = found(8), ASKED, list[str]()
    while True:
        page = answer(request, what)
        ids += [hit.id for hit in page.hits]
        if not page.next_page:
            break
        request = replace(request, page=page.next_page)
    assert ids == [hit.id for hit in answer(replace(ASKED, limit=100), what).hits]
    assert len(ids) == 8


def test_an_answer_that_is_complete_has_no_next_page() -> None:
    assert answer(ASKED, found(3)).next_page == ""
    assert answer(ASKED, found(4)).next_page != ""


def test_what_other_users_do_in_the_meantime_makes_no_difference() -> None:
    page = answer(ASKED, found(8)).next_page
    assert [hit.id for hit in answer(replace(ASKED, page=page), found(8, seq=99)).hits] == ["e03", "e04", "e05"]


def changed() -> list[Found]:
    what = found(8)
    (leg,) = what.legs
    return [
        found(9),
        replace(what, changed_seq=9),
        replace(what, legs=(replace(leg, scores=(0.6, *leg.scores[1:])),)),
        replace(what, legs=(replace(leg, ids=("e01", "e00", *leg.ids[2:])),)),
        replace(what, keyword_only=True),
        replace(what, turns={"t": turn("t")}, cited={"t": ("e00",)}),
        replace(what, turns={"t": turn("t")}, replaced={"t": ("e00",)}),
    ]


@pytest.mark.parametrize("what", changed())
def test_a_ranking_that_is_no_longer_the_same_is_refused(what: Found) -> None:
    page = answer(ASKED, found(8)).next_page
    with pytest.raises(InvalidRequestError, match=r"changed since .* search again from the first page"):
        answer(replace(ASKED, page=page), what)


@pytest.mark.parametrize(
    "other",
    [
        replace(ASKED, query="else"),
        replace(ASKED, user=UserKey("app", "other")),
        replace(ASKED, limit=4),
        replace(ASKED, filters=Filters(topics=("tea",))),
        replace(ASKED, queries=("more",)),
        replace(ASKED, dedupe=False),
    ],
)
def test_a_page_of_another_search_is_refused(other: SearchRequest) -> None:
    page = answer(ASKED, found(8)).next_page
    with pytest.raises(InvalidRequestError, match="another search"):
        answer(replace(other, page=page), found(8))


@pytest.mark.parametrize("token", ["x", "====", "\ud800", "é", base64.urlsafe_b64encode(b"\x93").decode()])
def test_what_is_no_page_is_refused(token: str) -> None:
    with pytest.raises(InvalidRequestError, match="is no page"):
        answer(replace(ASKED, page=token), found(8))


def test_a_page_tells_nothing_of_what_was_found() -> None:
    token = answer(ASKED, found(8)).next_page
    assert len(msgspec.msgpack.decode(base64.urlsafe_b64decode(token))) == 4
    assert b"text" not in base64.urlsafe_b64decode(token)
