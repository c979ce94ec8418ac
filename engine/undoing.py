"""From a request to undo to the writer's queue: check it, find in the log what to undo, and let the writer decide."""

from __future__ import annotations

from concurrent.futures import Future
from typing import TYPE_CHECKING, Protocol

from memoray.engine.undo import answer_of_known_undo, check_undo, decide_undo
from memoray.requests import OperationsAnswer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoray.engine.decide import Stamp
    from memoray.engine.state import ShardState
    from memoray.engine.undo import UndoPlan
    from memoray.engine.writer import Decide, Fresh
    from memoray.events import AnyEvent
    from memoray.requests import UndoRequest


class Write(Protocol):
    """Queues a decision for the writer; as `memoray.engine.writer.Writer.write`."""

    def __call__(self, decide: Decide[OperationsAnswer], *, request_id: str | None = None) -> Future[OperationsAnswer]:
        """A future of the answer."""
        ...


def begin_undo(
    request: UndoRequest, state: ShardState, plan_of: Callable[[UndoRequest], UndoPlan], write: Write
) -> Future[OperationsAnswer]:
    """The answer, once it is durable; raises what is known at once.

    Args:
        request: as it came.
        state: of the moment, to answer a repeat from.
        plan_of: finds in the log what there is to undo. By the time of the decision the log may have gone on.
        write: queues the decision.
    """
    undo = check_undo(request)
    known = answer_of_known_undo(state, undo)
    if known is not None:
        answered = Future[OperationsAnswer]()
        answered.set_result(known)
        return answered
    plan = plan_of(request)

    def decide(state: ShardState, stamp: Stamp, fresh: Fresh) -> tuple[Sequence[AnyEvent], OperationsAnswer]:
        return decide_undo(state, undo, plan, stamp, fresh.setdefault(request.user, {}))

    return write(decide, request_id=request.request_id)
