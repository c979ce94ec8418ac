"""The checker of what must always be true sees a delta that has got lost."""

from __future__ import annotations

from msgspec.structs import replace

from memoray.engine.checker import violations
from memoray.engine.projections import Projections
from memoray.engine.state import ShardState
from memoray.events import Batch, DeltaAccepted
from tests.support.desk import ANA, Desk, user


def found(desk: Desk, state: ShardState) -> list[str]:
    projections = Projections(8, "english")
    for batch in desk.batches:
        projections.apply(batch, state)
    return violations(desk.batches, state, projections)


def test_what_no_job_was_made_for_is_pending_and_all_is_well() -> None:
    desk = Desk(checker=lambda check: len(check.turns) > 1)
    desk.submit(user("one"))
    assert found(desk, desk.state) == []
    desk.submit(user("two"))
    desk.submit(user("three"))
    assert found(desk, desk.state) == []
    desk.extract()
    assert found(desk, desk.state) == []


def test_a_job_that_is_gone_before_its_turns_are_extracted_is_seen() -> None:
    desk = Desk()
    desk.submit(user("one"))
    known = desk.state.user(ANA)
    lost = replace(desk.state, users=desk.state.users.insert(ANA, replace(known, jobs=())), jobs_count=0)
    assert any("neither extracted nor in the job they were given" in what for what in found(desk, lost))


def test_a_job_past_the_end_of_its_session_is_seen() -> None:
    desk = Desk()
    desk.submit(user("one"))
    known = desk.state.user(ANA)
    longer = replace(known, jobs=(replace(known.jobs[0], until=7),))
    wrong = replace(desk.state, users=desk.state.users.insert(ANA, longer))
    assert any("has a job past its 1 turns" in what for what in found(desk, wrong))
    assert all(isinstance(batch, Batch) for batch in desk.batches)
    assert any(isinstance(event, DeltaAccepted) for batch in desk.batches for event in batch.events)
