"""Every bound and default of the engine, in one place."""

from __future__ import annotations

import enum

import msgspec


class UpdatePolicy(enum.StrEnum):
    """What reconcile may do with an add that resembles a known entry."""

    SUPERSEDE = "supersede"
    PRESERVE_HISTORY = "preserve_history"
    MERGE_SIMILAR = "merge_similar"
    APPEND_ONLY = "append_only"


class MessageCount(msgspec.Struct, frozen=True, tag="message_count", tag_field="checker", forbid_unknown_fields=True):
    """Says yes to a delta of strictly more than `more_than` messages."""

    more_than: int


class Interval(msgspec.Struct, frozen=True, tag="interval", tag_field="checker", forbid_unknown_fields=True):
    """Says yes when strictly more than `seconds` have passed since the session's last extraction, or there was none."""

    seconds: float


class AllOf(msgspec.Struct, frozen=True, tag="all_of", tag_field="checker", forbid_unknown_fields=True):
    """Says yes when all of them do; of none: yes."""

    checkers: tuple[CheckerRule, ...]


class AnyOf(msgspec.Struct, frozen=True, tag="any_of", tag_field="checker", forbid_unknown_fields=True):
    """Says yes when one of them does; of none: no."""

    checkers: tuple[CheckerRule, ...]


# When a delta is extracted, as something that can be written down and sent to another process.
CheckerRule = MessageCount | Interval | AllOf | AnyOf

ALL_OPERATIONS = frozenset({"add", "update", "delete", "clear"})


class EngineConfig(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How one shard behaves.

    Attributes:
        policy: update policy of reconcile.
        enabled: operations that an extractor may bring about; gates every path, fallbacks too.
        language: of the stemmer, for life of a store: another than it was made with is refused. "": the store's own,
            english in a new one.
        extraction_workers_count: jobs of one shard that run at the same time, each for another user. 0: whoever submits
            runs the user's jobs, and is answered when its own has ended.
        user_jobs_count_max: jobs of one user that may wait; a submit beyond them returns when its own job has ended.
        submits_waiting_max: callers of one shard that may wait so at a time; the next is answered `BusyError`.
        submit_seconds_max: how long such a caller waits at most; its own deadline may be sooner.
        jobs_count_max: jobs waiting in one shard before submits are answered `BusyError`.
        inbox_bytes_max: bytes of their messages in one shard before submits are answered `BusyError`.
        checker: when a delta is extracted; None: always. What it says no to stays pending and counts next time.
        skips_polluted: nothing is extracted of a session that was marked as polluted by outside content.
        writes_waiting_max: writes that may wait for the writer before the next is answered `BusyError`.
        group_writes_max: writes that share one sync at most.
        job_seconds_max: time an extractor has for one delta.
        job_attempts_max: failures after which a job is parked.
        backoff_seconds: wait after the first failure; doubles with each further one.
        backoff_seconds_max: bound of that wait.
        mend_seconds: wait before entries and turns that got no vector are tried again; doubles while that brings none.
        mend_seconds_max: bound of that wait.
        known_entries_max: known entries shown to the extractor.
        requests_count_max: request ids remembered in one shard.
        requests_age_seconds_max: how long a request id is remembered.
        seal_rows_min: changes of the indexes before a snapshot is made; at least half of what the last one has.
    """

    policy: UpdatePolicy = UpdatePolicy.SUPERSEDE
    enabled: frozenset[str] = ALL_OPERATIONS
    language: str = ""
    extraction_workers_count: int = 1
    user_jobs_count_max: int = 10
    submits_waiting_max: int = 16
    submit_seconds_max: float = 25.0
    jobs_count_max: int = 1000
    inbox_bytes_max: int = 64 * 1024 * 1024
    checker: CheckerRule | None = None
    skips_polluted: bool = False
    writes_waiting_max: int = 10_000
    group_writes_max: int = 1000
    job_seconds_max: float = 30.0
    job_attempts_max: int = 5
    backoff_seconds: float = 0.5
    backoff_seconds_max: float = 60.0
    mend_seconds: float = 30.0
    mend_seconds_max: float = 3600.0
    known_entries_max: int = 10
    requests_count_max: int = 100_000
    requests_age_seconds_max: float = 7 * 24 * 3600.0
    seal_rows_min: int = 10_000
