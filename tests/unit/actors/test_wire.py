"""Requests as bytes: both forms, strictly checked."""

from __future__ import annotations

import pytest

from memoray.actors.wire import decode, encode, is_json
from memoray.errors import InvalidRequestError
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.requests import ReadRequest, SearchRequest, SubmitRequest

REQUESTS = [
    SubmitRequest(UserKey("a", "u"), "s", (Message("user", "hi \U0001f389"),), "r1"),
    SearchRequest(UserKey("{", "}"), "query", weights={"entry_vector": 2.0}),
    ReadRequest(UserKey("用户", "a b"), 3),
]


@pytest.mark.parametrize("as_json", [False, True])
@pytest.mark.parametrize("request_", REQUESTS, ids=lambda item: type(item).__name__)
def test_a_request_survives_in_both_forms_and_says_which_it_is(request_: object, as_json: bool) -> None:
    data = encode(request_, as_json=as_json)
    assert is_json(data) is as_json
    assert decode(data, type(request_)) == request_


@pytest.mark.parametrize("data", [b"", b"{", b"\xff", b"{}", b'{"user": {"app_name": 1, "user_id": "b"}}', b"\x80"])
def test_anything_else_is_refused_with_the_place(data: bytes) -> None:
    with pytest.raises(InvalidRequestError, match="not a ReadRequest"):
        decode(data, ReadRequest)


def test_a_misspelt_option_is_refused_rather_than_ignored() -> None:
    with pytest.raises(InvalidRequestError, match="limitt"):
        decode(b'{"user": {"app_name": "a", "user_id": "b"}, "limitt": 3}', ReadRequest)


@pytest.mark.parametrize("as_json", [False, True])
def test_a_lone_surrogate_is_named(as_json: bool) -> None:
    with pytest.raises(InvalidRequestError, match="lone surrogate"):
        encode(ReadRequest(UserKey("a", "\ud800")), as_json=as_json)
