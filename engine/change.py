"""A caller's own operations: what is checked before the state is known, and what they become. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memoray.engine.apply import Rules, apply_operations
from memoray.engine.decide import Stamp, answer_of_repeat, check_deadline, check_operations
from memoray.engine.draft import Draft
from memoray.errors import InvalidRequestError
from memoray.events import AnyEvent, RequestAnswered
from memoray.operations import Add, Operation, Update
from memoray.requests import OperationsAnswer, OperationsRequest
from memoray.validation import OPERATIONS_COUNT_MAX, clean_text, is_blank

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoray.engine.state import ShardState
    from memoray.entries import EntryId


class Change(msgspec.Struct, frozen=True):
    """A checked request: what does not depend on the state.

    Attributes:
        texts: the text of each operation that a vector is needed of; None where none is.
    """

    request: OperationsRequest
    request_hash: bytes
    body_hash: bytes
    texts: tuple[str | None, ...]


def check_change(request: OperationsRequest) -> Change:
    """Validate a request as a whole; a single bad operation is refused in its outcome.

    Raises:
        InvalidRequestError: user key or request id cannot be stored, or there are too many operations.
    """
    request_hash, body_hash = check_operations(request)
    if len(request.operations) > OPERATIONS_COUNT_MAX:
        hint = f"{len(request.operations)} operations in one request; at most {OPERATIONS_COUNT_MAX}, split them"
        raise InvalidRequestError(hint)
    texts = tuple(text_to_embed(operation) for operation in request.operations)
    return Change(request, request_hash, body_hash, texts)


def answer_of_known(state: ShardState, change: Change) -> OperationsAnswer | None:
    """What this request was answered before, if it was."""
    known = answer_of_repeat(state, change.request.user, change.request_hash, change.body_hash)
    return None if known is None else OperationsAnswer(known.outcomes, known.seq)


def decide_change(
    state: ShardState,
    change: Change,
    vectors: Sequence[bytes | None],
    stamp: Stamp,
    fresh: dict[EntryId, bytes | None],
) -> tuple[Sequence[AnyEvent], OperationsAnswer]:
    """Apply the operations in order, without reconciling.

    Args:
        state: of the shard.
        change: as checked.
        vectors: of `change.texts`.
        stamp: where the decision will stand.
        fresh: vectors of the user's entries that are decided but not yet in the index; grows.

    Raises:
        InvalidRequestError: the request id was used for another request.
        UnavailableError: its deadline has passed; nothing was done.
    """
    known = answer_of_known(state, change)
    if known is not None:
        return (), known
    request = change.request
    check_deadline(request.deadline, stamp)
    draft = Draft(request.user, state.user(request.user), stamp, state.log_id, fresh)
    outcomes = apply_operations(draft, request.operations, vectors, Rules(), None)
    answer = OperationsAnswer(outcomes, draft.seq)
    draft.emit(RequestAnswered(request.user, change.request_hash, change.body_hash, None, outcomes))
    return draft.events, answer


def text_to_embed(operation: Operation) -> str | None:
    """The text that a vector is needed of; a text that will be refused needs none."""
    text = operation.text if isinstance(operation, Add | Update) else None
    return None if text is None or is_blank(text) else clean_text(text)
