"""Page tokens: an answer goes on only over the very ranking that it began with. Pure.

A token holds hashes of the request and of what the ranking rests on, and how many hits were given. The next page ranks
again, to the depth of the first, and goes on only where both hashes are equal: so no hit comes twice and none is left
out, and what other users do in the meantime makes no difference. A token holds nothing of a user's contents, and
grants nothing: what a page shows is searched anew for the user key of the request.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from memoray.errors import InvalidRequestError

if TYPE_CHECKING:
    from memoray.requests import SearchRequest

HASH_BYTES = 12


class _Page(msgspec.Struct, frozen=True, array_like=True):
    request: bytes
    ranking: bytes
    seq: int
    start: int


def start_of(request: SearchRequest, ranking: object, seq: int) -> int:
    """How many hits the pages before took; 0 for the first.

    Args:
        request: with or without a page.
        ranking: all that decides which hits an answer has and where; anything that msgpack can hold.
        seq: of the log, at which that was read; for the message only.

    Raises:
        InvalidRequestError: the token is none, or of another search, or the ranking is no longer what it was.
    """
    if not request.page:
        return 0
    try:
        page = msgspec.msgpack.decode(base64.urlsafe_b64decode(request.page.encode()), type=_Page)
    except (msgspec.MsgspecError, binascii.Error, ValueError):
        message = f"page {request.page[:60]!r} is no page; give `next_page` of the answer before"
        raise InvalidRequestError(message) from None
    if page.request != _hash_of_request(request):
        message = "this page is of another search; ask with the user, queries, filters, limit and options of the first"
        raise InvalidRequestError(message)
    if page.ranking != _hash(ranking):
        message = (
            f"what the user's memory finds has changed since this search began at seq {page.seq} (now {seq}); "
            "search again from the first page"
        )
        raise InvalidRequestError(message)
    return max(page.start, 0)


def page_of(request: SearchRequest, ranking: object, seq: int, start: int) -> str:
    """The token of the page that begins behind so many hits; arguments as of `start_of`."""
    page = _Page(_hash_of_request(request), _hash(ranking), seq, start)
    return base64.urlsafe_b64encode(msgspec.msgpack.encode(page)).decode()


def _hash_of_request(request: SearchRequest) -> bytes:
    return _hash(replace(request, page=""))


def _hash(value: object) -> bytes:
    return hashlib.blake2b(msgspec.msgpack.encode(value), digest_size=HASH_BYTES).digest()
