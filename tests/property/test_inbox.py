"""Whatever arrives when, and whatever is refused or put off: nothing is lost, doubled or out of order."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memoray.config import EngineConfig
from memoray.engine.ordering import SessionOrder
from memoray.errors import BusyError
from memoray.events import JobFailed
from tests.support.desk import ANA, Desk, user

COUNT = 6


@given(
    st.integers(1, 2),
    st.lists(st.one_of(st.integers(0, COUNT - 1), st.just("extract")), max_size=60),
)
@settings(max_examples=300)
def test_requests_that_follow_one_another_are_taken_in_order_in_whatever_order_they_come(
    room: int, steps: list[int | str]
) -> None:
    desk = Desk(EngineConfig(jobs_count_max=room))
    accepted: list[int] = []
    for step in [*steps, *[what for number in range(COUNT) for what in ("extract", number)]]:
        if step == "extract":
            if desk.state.jobs_count:
                desk.extract()
        elif isinstance(step, int):
            try:
                receipt = desk.submit(
                    user(f"message {step}"), request_id=f"r{step}", follows=f"r{step - 1}" if step else None
                )
            except BusyError:
                continue
            assert receipt.status == "accepted"
            accepted += [] if step in accepted else [step]
        assert accepted == list(range(len(accepted))), "a gap opened"
    assert desk.texts() == [f"message {number}" for number in range(COUNT)]


@given(st.lists(st.tuples(st.integers(0, COUNT - 1), st.sampled_from(["accepted", "refused", "unknown"])), max_size=40))
@settings(max_examples=300)
def test_a_client_hands_nothing_over_before_what_was_refused(calls: list[tuple[int, str]]) -> None:
    """A caller makes requests, new ones in order, and makes unanswered ones again in any order."""
    order, session = SessionOrder(), (ANA, "s1")
    made, pending, taken = 0, dict[int, str](), list[int]()
    for now, (which, end) in enumerate(calls):
        if pending and which < len(pending):
            number = sorted(pending)[which]
        else:
            number, made = made, made + 1
        earlier = [other for other in sorted(pending) if other < number]
        try:
            before = order.join(session, str(number), now)
        except BusyError:
            assert pending[earlier[-1]] == "refused"
            pending[number] = "refused"
            continue
        assert before == (str(earlier[-1]) if earlier else None)
        if end == "refused" or (before is not None and int(before) not in taken):
            order.refuse(session, str(number))
            pending[number] = "refused"
            continue
        taken += [] if number in taken else [number]
        pending[number] = "unknown"
        if end == "accepted":
            order.leave(session, str(number))
            del pending[number]
    assert taken == sorted(taken)


@given(st.lists(st.sampled_from(["yes", "no", "extract", "fail", "park", "resubmit"]), max_size=30))
@settings(max_examples=300)
def test_every_turn_is_pending_in_a_job_parked_or_extracted_and_extracted_once(steps: list[str]) -> None:
    answers: list[bool] = []
    desk = Desk(checker=lambda _check: answers[-1])
    extracted: list[str] = []
    said = 0

    def extract() -> None:
        state = desk.state.user(ANA)
        job = next((job for job in state.jobs if not job.is_parked), None)
        if job is not None:
            extracted.extend(turn.text for turn in state.delta_of(job))
            desk.extract(job)

    for step in [*steps, "yes", "extract"]:
        jobs = [job for job in desk.state.user(ANA).jobs if not job.is_parked]
        if step in {"yes", "no", "resubmit"}:
            answers.append(step != "no")
            said += step != "resubmit" or not said
            desk.submit(user(f"message {said}", id=str(said)))
        elif step == "extract":
            extract()
        elif jobs:
            desk.take(JobFailed(ANA, jobs[0].id, 1, "down", None if step == "park" else desk.now))
        check_covered(desk)
    while any(not job.is_parked for job in desk.state.user(ANA).jobs):
        extract()
    assert extracted == desk.texts()
    assert (desk.state.jobs_count, desk.state.inbox_bytes) == (0, 0)


def check_covered(desk: Desk) -> None:
    state = desk.state.user(ANA)
    session = state.sessions.get("s1")
    if session is None:
        return
    ends = [job.until for job in state.jobs]
    assert all(session.extracted < end <= session.length for end in ends)
    assert ends == sorted(ends)
    waiting = state.pending_from("s1")
    assert session.extracted <= waiting <= session.length
