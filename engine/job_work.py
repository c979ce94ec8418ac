"""What the runner of jobs does to a shard: propose, embed, commit, park, fail. Each step is safe to repeat."""

from __future__ import annotations

import time
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

from memoray.engine.candidates import CandidateFinder
from memoray.engine.change import text_to_embed
from memoray.engine.decide import Stamp, decide_failure, decide_parking, decide_proposal
from memoray.engine.finder import find_legs
from memoray.engine.job import JobVectors, decide_job, decide_mending
from memoray.engine.projections import turn_text
from memoray.events import AnyEvent, OperationsProposed
from memoray.extraction.lookup import lookup_query
from memoray.points import reach
from memoray.protocols import Extraction, ExtractionRequest, Extractor
from memoray.requests import SearchRequest
from memoray.retrieval.fusion import fuse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from memoray.config import EngineConfig
    from memoray.engine.projections import Projections
    from memoray.engine.state import JobState, ShardState
    from memoray.engine.writer import Decide, Fresh
    from memoray.errors import MemorayError
    from memoray.keys import UserKey
    from memoray.messages import Turn
    from memoray.operations import Operation

UNEMBEDDED_COUNT_MAX = 1000

T = TypeVar("T")


class Write(Protocol):
    """Hand a decision to the writer and wait until its events are durable."""

    def __call__(self, decide: Decide[T]) -> T:
        """Write."""
        ...


class Embed(Protocol):
    """Vectors of texts; None for None and where there is no vector."""

    def __call__(self, texts: Sequence[str | None], *, is_query: bool = False) -> list[bytes | None]:
        """Embed."""
        ...


class JobWork:
    """The steps of a shard's jobs. Called by whoever runs the job: one thread for each user at a time."""

    def __init__(
        self,
        config: EngineConfig,
        extractor: Extractor | None,
        *,
        projections: Callable[[], Projections],
        state: Callable[[], ShardState],
        write: Write,
        embed: Embed,
        failure: Callable[[], MemorayError | None],
    ) -> None:
        """Put together what jobs need.

        Args:
            config: bounds and defaults.
            extractor: None: jobs from before, which had one, end without a proposal.
            projections: those of the moment, to look up what is known.
            state: the state of the moment.
            write: see `Write`.
            embed: see `Embed`.
            failure: why the log takes no more, if it does not.
        """
        self._config = config
        self._projections = projections
        self._extractor = extractor
        self._state = state
        self._write = write
        self._embed = embed
        self._failure = failure

    def state(self) -> ShardState:
        """The shard's current state."""
        return self._state()

    @property
    def failure(self) -> MemorayError | None:
        """Why the log takes no more, if it does not."""
        return self._failure()

    def run_job(self, user: UserKey, job: JobState) -> None:
        """Run a job from the step that the log says is next; raises `MemorayError` when the attempt failed."""
        if job.proposal is None:
            if self._config.skips_polluted and self._state().user(user).sessions[job.session_id].is_polluted:
                self._park(user, job)
                return
            self._propose(user, job)
        state = self._state().user(user)
        logged = state.job(job.id)
        if logged is None or logged.proposal is None:
            return  # cleared meanwhile
        reach("proposed")
        vectors = self._job_vectors(user, logged.proposal.operations)
        reach("embedded")

        def decide(state: ShardState, stamp: Stamp, fresh: Fresh) -> tuple[Sequence[AnyEvent], None]:
            find = CandidateFinder(self._projections(), self._config.language)
            user_fresh = fresh.setdefault(user, {})
            return decide_job(state, user, job.id, vectors, stamp, self._config, find, user_fresh), None

        self._write(decide)
        reach("job_committed")

    def mend(self, user: UserKey) -> bool:
        """Embed what lacks a vector, a bounded number of texts; False if that brought none."""
        vectors = self._job_vectors(user, ())

        def decide(state: ShardState, stamp: Stamp, fresh: Fresh) -> tuple[Sequence[AnyEvent], None]:
            return decide_mending(state, user, vectors, stamp, fresh.setdefault(user, {})), None

        if not vectors.turns and not vectors.entries:
            return False
        self._write(decide)
        return True

    def _park(self, user: UserKey, job: JobState) -> None:
        def decide(state: ShardState, _stamp: Stamp, _fresh: Fresh) -> tuple[Sequence[AnyEvent], None]:
            return decide_parking(state, user, job), None

        self._write(decide)

    def fail_job(self, user: UserKey, job: JobState, error: str) -> None:
        """Log a failed attempt."""

        def decide(state: ShardState, stamp: Stamp, _fresh: Fresh) -> tuple[Sequence[AnyEvent], None]:
            return decide_failure(state, user, job, error, stamp, self._config), None

        self._write(decide)

    def _propose(self, user: UserKey, job: JobState) -> None:
        delta = self._state().user(user).delta_of(job)
        started = time.monotonic()
        extraction, known_versions = Extraction((), "none"), dict[str, int]()
        if self._extractor is not None and delta:
            request = self._extraction_request(user, job, delta)
            extraction = self._extractor.extract(request)
            known_versions = {str(entry.id): entry.version for entry in request.known}
        proposal = OperationsProposed(
            user,
            job.id,
            extraction.operations,
            extraction.model,
            extraction.prompt_version,
            extraction.input_tokens,
            extraction.output_tokens,
            int((time.monotonic() - started) * 1000),
            known_versions,
        )

        def decide(state: ShardState, _stamp: Stamp, _fresh: Fresh) -> tuple[Sequence[AnyEvent], None]:
            return decide_proposal(state, proposal), None

        self._write(decide)

    def _extraction_request(self, user: UserKey, job: JobState, delta: tuple[Turn, ...]) -> ExtractionRequest:
        query = lookup_query(delta)
        vector = self._embed([query], is_query=True)[0]
        limit = self._config.known_entries_max
        search = SearchRequest(user, query, limit=limit, turns=False)
        found = find_legs(self._state(), self._projections(), search, vector, self._config.language)
        return ExtractionRequest(
            user=user,
            session_id=job.session_id,
            turns=delta,
            known=tuple(found.entries[item.id] for item in fuse(found.legs)[:limit]),
            reference_time=delta[-1].timestamp,
            deadline_seconds=self._config.job_seconds_max,
        )

    def _job_vectors(self, user: UserKey, operations: tuple[Operation, ...]) -> JobVectors:
        state = self._state().user(user)
        turns = [state.turns[key] for key in islice(state.turns_unembedded, UNEMBEDDED_COUNT_MAX)]
        entries = [state.entries[key] for key in islice(state.entries_unembedded, UNEMBEDDED_COUNT_MAX)]
        texts = [text_to_embed(operation) for operation in operations]
        texts += [turn_text(turn) for turn in turns] + [entry.text for entry in entries]
        vectors = self._embed(texts)
        of_turns = vectors[len(operations) : len(operations) + len(turns)]
        of_entries = vectors[len(operations) + len(turns) :]
        return JobVectors(
            operations=tuple(vectors[: len(operations)]),
            turns={turn.id: vector for turn, vector in zip(turns, of_turns, strict=True) if vector is not None},
            entries={
                (entry.id, entry.version): vector
                for entry, vector in zip(entries, of_entries, strict=True)
                if vector is not None
            },
        )
