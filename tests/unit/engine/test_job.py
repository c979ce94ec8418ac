"""The batch that ends a job, where a parked one of the same session ends with it."""

from __future__ import annotations

from collections.abc import Sequence

from memoray.config import EngineConfig
from memoray.engine.decide import Stamp
from memoray.engine.draft import Draft
from memoray.engine.job import JobVectors, decide_job
from memoray.events import CursorAdvanced, JobFailed, OperationDecided, OperationsProposed
from memoray.extraction.reconcile import Candidate
from memoray.operations import Add, OutcomeStatus
from tests.support.desk import ANA, Desk, user


def find_none(draft: Draft, add: Add, vector: bytes | None) -> Sequence[Candidate]:
    assert draft.user == ANA
    assert (add.text, vector) == ("one and two", None)
    return ()


def test_what_a_parked_job_proposed_gets_its_outcome_when_its_messages_are_taken_along() -> None:
    desk = Desk()
    desk.submit(user("one"))
    desk.submit(user("elsewhere"), session="s2")
    parked, other = desk.state.user(ANA).jobs
    for job in (parked, other):
        desk.take(OperationsProposed(ANA, job.id, (Add("one"), Add("uno")), "model"))
        desk.take(JobFailed(ANA, job.id, 5, "the disk was full", None))
    desk.submit(user("two"))
    job = desk.state.user(ANA).jobs[-1]
    desk.take(OperationsProposed(ANA, job.id, (Add("one and two"),), "model"))
    stamp = Stamp(desk.state.last_seq + 1, desk.now)
    vectors = JobVectors((None,))
    events = decide_job(desk.state, ANA, job.id, vectors, stamp, EngineConfig(), find_none, {})
    decided = [event for event in events if isinstance(event, OperationDecided)]
    assert [(event.job_id, event.index, event.outcome.status) for event in decided] == [
        (job.id, 0, OutcomeStatus.APPLIED),
        (parked.id, 0, OutcomeStatus.FAILED),
        (parked.id, 1, OutcomeStatus.FAILED),
    ]
    last = events[-1]
    assert isinstance(last, CursorAdvanced)
    desk.take(*events)
    assert [left.id for left in desk.state.user(ANA).jobs] == [other.id]
    assert decided[1].outcome.reason == f"its messages were extracted again by job {job.id}: the disk was full"
