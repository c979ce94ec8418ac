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


ALL_OPERATIONS = frozenset({"add", "update", "delete", "clear"})


class EngineConfig(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """How one shard behaves.

    Attributes:
        policy: update policy of reconcile.
        enabled: operations that an extractor may bring about; gates every path, fallbacks too.
        language: of the stemmer; one per store.
        extraction_workers_count: jobs of one shard that run at the same time, each for another user.
        jobs_count_max: jobs waiting in one shard before submits are answered `BusyError`.
        inbox_bytes_max: bytes of pending messages in one shard before submits are answered `BusyError`.
        writes_waiting_max: writes that may wait for the writer before the next is answered `BusyError`.
        group_writes_max: writes that share one sync at most.
        job_seconds_max: time an extractor has for one delta.
        job_attempts_max: failures after which a job is parked.
        backoff_seconds: wait after the first failure; doubles with each further one.
        backoff_seconds_max: bound of that wait.
        mend_seconds: wait before entries and turns without a vector are tried again; doubles while that brings none.
        mend_seconds_max: bound of that wait.
        known_entries_max: known entries shown to the extractor.
        requests_count_max: request ids remembered in one shard.
        requests_age_seconds_max: how long a request id is remembered.
        tail_documents_max: keyword documents scored directly before they are committed to the base index.
    """

    policy: UpdatePolicy = UpdatePolicy.SUPERSEDE
    enabled: frozenset[str] = ALL_OPERATIONS
    language: str = "english"
    extraction_workers_count: int = 1
    jobs_count_max: int = 1000
    inbox_bytes_max: int = 64 * 1024 * 1024
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
    tail_documents_max: int = 2000
