"""Requests and answers as bytes: msgpack, or JSON for callers who have nothing but the standard library.

A call answers in the form it was asked in: a first byte `{` means JSON, anything else msgpack.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from memoray.errors import InvalidRequestError
from memoray.requests import SearchRequest

T = TypeVar("T")

_packer = msgspec.msgpack.Encoder()
_jsoner = msgspec.json.Encoder()


class FindRequest(msgspec.Struct, frozen=True):
    """What a retriever asks the owner of a shard; `query_vector`: little-endian float32, None: keywords only."""

    search: SearchRequest
    query_vector: bytes | None


def is_json(data: bytes) -> bool:
    """Whether a request is JSON. No msgpack map starts with `{`: that byte is a small integer there."""
    return data[:1] == b"{"


def decode(data: bytes, kind: type[T]) -> T:
    """The struct that a caller sent.

    Raises:
        InvalidRequestError: the bytes are not such a struct; the message says where.
    """
    try:
        if is_json(data):
            return msgspec.json.decode(data, type=kind)
        return msgspec.msgpack.decode(data, type=kind)
    except msgspec.MsgspecError as error:
        message = f"not a {kind.__name__}: {error}"
        raise InvalidRequestError(message) from None


def encode(value: object, *, as_json: bool = False) -> bytes:
    """Bytes of a struct.

    Raises:
        InvalidRequestError: a string in it has a lone surrogate and so no UTF-8 form.
    """
    try:
        return _jsoner.encode(value) if as_json else _packer.encode(value)
    except UnicodeEncodeError as error:
        message = f"{error.object[:60]!r} contains a lone surrogate and has no UTF-8 form"
        raise InvalidRequestError(message) from None
