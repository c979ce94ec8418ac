"""Many requests in one call: each is answered with bytes or its own error, and one that takes long is left for later.

`None` in place of an answer says: ask again. So neither a slow request nor a large answer holds up the others.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar

from memoray.actors.wire import encode
from memoray.errors import InternalError, MemorayError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from memoray.actors.coalescer import Reply

logger = logging.getLogger(__name__)

HOLD_SECONDS = 1.0
REPLY_BYTES_MAX = 16 * 2**20

P = ParamSpec("P")
T = TypeVar("T")


def attempt(step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | MemorayError:
    """What a step gives, or its error; a bug in it is an `InternalError` and nobody else's business."""
    try:
        return step(*args, **kwargs)
    except MemorayError as error:
        return error
    except Exception as error:
        logger.exception("a request failed")
        return InternalError(f"{type(error).__name__}: {error}")


class UnderWay(Generic[T]):
    """What has been begun and is not done, by the bytes that asked for it. Safe to share between threads."""

    def __init__(self) -> None:
        self._begun: dict[bytes, Future[T]] = {}

    def begin(self, request: bytes, start: Callable[[], Future[T]]) -> Future[T]:
        """Start what a request asks for, or join it if it is asked about again."""
        begun = self._begun.get(request)
        if begun is None:
            begun = self._begun[request] = start()
            begun.add_done_callback(lambda _done: self._begun.pop(request, None))
        return begun


def answer_each(answer: Callable[[bytes], bytes], requests: Sequence[bytes]) -> list[Reply]:
    """Answer one after the other: the first, and what comes to 16 MiB and one second together."""
    replies: list[Reply] = []
    size, ends = 0, time.monotonic() + HOLD_SECONDS
    for request in requests:
        is_full = bool(replies) and (size > REPLY_BYTES_MAX or time.monotonic() > ends)
        reply = None if is_full else attempt(answer, request)
        size += len(reply) if isinstance(reply, bytes) else 0
        replies.append(reply)
    return replies


def await_each(begun: Sequence[Future[Any] | MemorayError], as_json: Sequence[bool]) -> list[Reply]:
    """The answers, as bytes, of what has been started and is done within a second."""
    ends = time.monotonic() + HOLD_SECONDS
    return [_reply_of(item, ends, as_json=is_json) for item, is_json in zip(begun, as_json, strict=True)]


def _reply_of(item: Future[Any] | MemorayError, ends: float, *, as_json: bool) -> Reply:
    if isinstance(item, MemorayError):
        return item
    try:
        item.exception(max(0.0, ends - time.monotonic()))
    except TimeoutError:
        return None
    answer = attempt(item.result)
    return answer if isinstance(answer, MemorayError) else encode(answer, as_json=as_json)
