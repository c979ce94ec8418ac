"""A shard's decisions about submits without a shard: decides and folds, as the writer does."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from memoray.config import EngineConfig
from memoray.engine.decide import Stamp, cursor_of
from memoray.engine.fold import fold
from memoray.engine.state import JobState, ShardState, empty_state
from memoray.engine.submit import Intake, check_submit, decide_submit
from memoray.events import AnyEvent, Batch, Receipt
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.protocols import Checker
from memoray.requests import SubmitRequest

ANA = UserKey("app", "ana")
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Desk:
    """Decides and folds, as the writer does."""

    def __init__(
        self, config: EngineConfig | None = None, *, checker: Checker | None = None, extracts: bool = True
    ) -> None:
        self.intake = Intake(config or EngineConfig(), checker, extracts=extracts)
        self.state: ShardState = empty_state("log", requests_count_max=1000, requests_age_seconds_max=3600)
        self.number = 0
        self.settled: set[bytes] = set()
        self.batches: list[Batch] = []

    def submit(
        self,
        *messages: Message,
        session: str = "s1",
        request_id: str | None = None,
        whole: bool = False,
        deadline: datetime | None = None,
        user: UserKey = ANA,
        **fields: object,
    ) -> Receipt:
        self.number += 1
        request = SubmitRequest(user, session, messages, request_id or f"r{self.number}", whole, deadline, **fields)  # type: ignore[arg-type]  # the rest of a SubmitRequest
        stamp = Stamp(self.state.last_seq + 1, self.now)
        submission = check_submit(request)
        events, receipt = decide_submit(self.state, submission, stamp, self.intake, settled=self.settled)
        self.take(*events)
        return receipt

    @property
    def now(self) -> datetime:
        """Recorded time of what is taken next."""
        return NOON + timedelta(seconds=self.number)

    def take(self, *events: AnyEvent) -> None:
        """Fold events, as one batch."""
        if events:
            batch = Batch(1, self.state.last_seq + 1, self.now, events)
            self.state = fold(self.state, batch)
            self.batches.append(batch)

    def extract(self, job: JobState | None = None) -> None:
        """End a job of ANA; None: the first."""
        self.number += 1
        self.take(cursor_of(ANA, job or self.state.user(ANA).jobs[0]))

    def texts(self, session: str = "s1") -> list[str]:
        user = self.state.user(ANA)
        kept = user.sessions[session]
        return [user.turns[kept.turn_ids[position]].text for position in range(kept.length)]


def user(text: str, **fields: object) -> Message:
    return Message("user", text, **fields)  # type: ignore[arg-type]  # the fields of a Message
