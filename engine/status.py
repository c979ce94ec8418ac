"""How a shard and its users are, read from a state. Pure."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from memoray.requests import JobStatus, SessionStatus, ShardStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoray.engine.state import JobState, SessionState, ShardState, UserState
    from memoray.keys import UserKey

JOBS_LISTED_MAX = 100


def status_of(state: ShardState, shard: int, user: UserKey | None) -> ShardStatus:
    """Counts, jobs and, for one user, sessions; what a state cannot know keeps its default."""
    users = state.users if user is None else {user: state.user(user)}
    jobs = _jobs(users.items())
    return ShardStatus(
        shard=shard,
        state="serving",
        seq=state.last_seq,
        users_count=len(state.users),
        entries_count=sum(len(known.entries) for known in users.values()),
        turns_count=sum(len(known.turns) - len(known.withdrawn) for known in users.values()),
        unembedded_count=sum(len(known.entries_unembedded) + len(known.turns_unembedded) for known in users.values()),
        jobs_count=sum(len(known.jobs) for known in users.values()),
        jobs=tuple(islice(jobs, JOBS_LISTED_MAX)),
        sessions=() if user is None else _sessions(state.user(user)),
    )


def _jobs(users: Iterable[tuple[UserKey, UserState]]) -> Iterator[JobStatus]:
    for user, known in users:
        for job in known.jobs:
            yield _job(user, job)


def _job(user: UserKey, job: JobState) -> JobStatus:
    state = "parked" if job.is_parked else "retrying" if job.attempts else "waiting"
    return JobStatus(
        job_id=job.id,
        user=user,
        session_id=job.session_id,
        state=state,
        accepted_at=job.accepted_at,
        attempts=job.attempts,
        retry_at=job.retry_at,
        error=job.error,
        is_proposed=job.proposal is not None,
    )


def _sessions(user: UserState) -> tuple[SessionStatus, ...]:
    return tuple(_session(user, session_id, session) for session_id, session in sorted(user.sessions.items()))


def _session(user: UserState, session_id: str, session: SessionState) -> SessionStatus:
    covered = max((session.extracted, *(job.until for job in user.jobs if job.session_id == session_id)))
    return SessionStatus(
        session_id=session_id,
        length=session.length,
        extracted=session.extracted,
        cursor_seq=session.cursor_seq,
        cursor_time=session.cursor_time,
        pending=session.length - covered,
        is_polluted=session.is_polluted,
    )
