"""A sealed base: the state of a shard at one seq in mapped files, and the indexes over it. Read only.

Nothing is in memory before it is asked for: a user's state is a few views, and an entry is decoded when it is read.

One file of columns. A table's rows are sorted by user, then by key; `user.<table>` has where each user's rows begin.

    user      key (length-prefixed), name (msgpack of the user key), jobs (msgpack), starts and counts
    entry     key, value (msgpack of the entry), identity and by_identity (sorted by identity, and the rows), vector
    turn      key, value (msgpack of the turn), withdrawn (seq or 0), supports (msgpack of entry ids), vector;
              by_place: rows by session and position
    session   key, value (msgpack of what is not a map), first (where its turns begin in by_place)
    retired   key, seq
    request   key (hash, in the order of arrival), value (msgpack of the answer), by_key: rows by hash
    long      the keyword index's long lists of postings: key (prefix and term), start, posting, count_max

Entries and turns have their terms beside them (length, terms), so that sealing again analyses nothing again.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from memoray.engine.base_maps import (
    Decoded,
    EntryMap,
    IdentityMap,
    RequestMap,
    RequestOrder,
    RetiredMap,
    SessionMap,
    SupportMap,
    TurnMap,
    UnembeddedMap,
    UserMap,
    WithdrawnMap,
)
from memoray.engine.layered import Layered
from memoray.engine.state import JobState, ShardState, UserState, Window
from memoray.entries import Entry
from memoray.errors import CorruptionError
from memoray.keys import UserKey, user_bytes
from memoray.messages import Turn
from memoray.storage.columns import Binary, Keys, read_columns
from memoray.storage.keyword_space import SealedDocuments
from memoray.storage.near_vectors import read_near
from memoray.storage.sealed_keywords import LongPostings, SealedKeywords
from memoray.storage.vector_space import SealedVectors

if TYPE_CHECKING:
    from collections.abc import Hashable
    from pathlib import Path

    import numpy.typing as npt

COLUMNS_NAME = "base.arrow"
KEYWORDS_NAME = "keywords"
TABLE_OF = {"entries": "entry", "turns": "turn"}

_jobs = msgspec.msgpack.Decoder(tuple[JobState, ...])
_user_key = msgspec.msgpack.Decoder(UserKey)


class BaseMeta(msgspec.Struct, frozen=True):
    """What a base says of itself.

    Attributes:
        format_version: of the files.
        analysis_version: of the text analysis that made the terms.
        language: of the stemmer that made them.
        log_id: of the log that it was folded from.
        seq: seq of the last event in it.
        recorded_at: of that event's batch.
        epoch: owner of the part of the log that begins behind it.
        part: number of that part.
        dimension: of the vectors.
        jobs_count: as in the shard's state.
        inbox_bytes: likewise.
        requests_count_max: of the window of remembered requests.
        requests_age_seconds_max: likewise.
        requests_first: number of the oldest remembered request.
        requests_last: number of the newest.
        documents_count: documents in the keyword index.
        near: spaces with an approximate index: table and user number.
    """

    format_version: int
    analysis_version: int
    language: str
    log_id: str
    seq: int
    recorded_at: datetime
    epoch: int
    part: int
    dimension: int
    jobs_count: int
    inbox_bytes: int
    requests_count_max: int
    requests_age_seconds_max: float
    requests_first: int
    requests_last: int
    documents_count: int
    near: tuple[tuple[str, int], ...]


_meta = msgspec.msgpack.Decoder(BaseMeta)


def near_name(table: str, number: int) -> str:
    """File of the approximate index of a user's entries or turns."""
    return f"{table}-{number}.faiss"


def keyword_prefix(table: str, number: int) -> str:
    """What stands before the terms of a user's entries or turns; none is the beginning of another."""
    return f"{number:x}{table[0]}:"


class Base:
    """One sealed base, open. Any number of threads may read.

    Attributes:
        meta: what it says of itself.
        columns: by name; for who seals the next one.
    """

    def __init__(self, directory: Path) -> None:
        """Map it.

        Raises:
            CorruptionError: a file is not what was written.
            OSError: a file cannot be read.
        """
        self.columns, meta = read_columns(directory / COLUMNS_NAME)
        try:
            self.meta = _meta.decode(meta)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            path = str(directory / COLUMNS_NAME)
            raise CorruptionError(path, 0, expected="the description of a base", found=str(error)) from error
        self._entries = Decoded(self.columns, "entry", msgspec.msgpack.Decoder(Entry))
        self._turns = Decoded(self.columns, "turn", msgspec.msgpack.Decoder(Turn))
        self._keywords = SealedKeywords(directory / KEYWORDS_NAME, self.meta.documents_count, self._long())
        self._near = {
            (table, number): read_near(directory / near_name(table, number), self._count(table, number))
            for table, number in self.meta.near
        }

    def _long(self) -> LongPostings:
        names = ("key", "start", "posting", "count_max")
        return LongPostings(*(self.columns[f"long.{name}"] for name in names))

    @property
    def users_count(self) -> int:
        """How many users it has."""
        return len(self.columns["user.key"])

    def number_of(self, user: UserKey) -> int:
        """A user's number; -1 if it has none."""
        keys: Binary = self.columns["user.key"]
        return keys.find(user_bytes(user), 0, len(keys))

    def user_key(self, number: int) -> UserKey:
        """The user of a number."""
        return _user_key.decode(self.columns["user.name"][number])

    def rows(self, table: str, number: int) -> tuple[int, int]:
        """First row of a user in a table, and the row behind the last."""
        starts = self.columns[f"user.{table}"]
        return int(starts[number]), int(starts[number + 1])

    def _count(self, table: str, number: int) -> int:
        start, end = self.rows(table, number)
        return end - start

    # --- state ---

    def state(self) -> ShardState:
        """The state of the shard at the base's seq."""
        meta = self.meta
        window = Window(
            meta.requests_count_max,
            meta.requests_age_seconds_max,
            Layered(RequestMap(self.columns)),
            Layered(RequestOrder(self.columns, meta.requests_first)),
            meta.requests_first,
            meta.requests_last,
        )
        return ShardState(
            log_id=meta.log_id,
            window=window,
            last_seq=meta.seq,
            recorded_at=meta.recorded_at,
            users=Layered(UserMap(self)),
            jobs_count=meta.jobs_count,
            inbox_bytes=meta.inbox_bytes,
        )

    def user_state(self, number: int) -> UserState:
        """The state of one user."""
        columns = self.columns
        entries, turns = self.rows("entry", number), self.rows("turn", number)
        return UserState(
            entries=Layered(EntryMap(columns, *entries, self._entries)),
            identities=Layered(IdentityMap(columns, *entries)),
            retired=Layered(RetiredMap(columns, *self.rows("retired", number))),
            turns=Layered(TurnMap(columns, *turns, self._turns)),
            withdrawn=Layered(WithdrawnMap(columns, *turns, int(columns["user.withdrawn"][number]))),
            supports=Layered(SupportMap(columns, *turns, int(columns["user.supported"][number]))),
            sessions=Layered(SessionMap(columns, *self.rows("session", number))),
            jobs=_jobs.decode(columns["user.jobs"][number]),
            entries_unembedded=Layered(
                UnembeddedMap(columns, "entry", *entries, int(columns["user.entries_unembedded"][number]))
            ),
            turns_unembedded=Layered(
                UnembeddedMap(columns, "turn", *turns, int(columns["user.turns_unembedded"][number]))
            ),
        )

    def busy_users(self) -> list[UserKey]:
        """Users with jobs, or with something that lacks a vector."""
        columns = self.columns
        no_jobs = msgspec.msgpack.encode(())
        lacks = (columns["user.entries_unembedded"] + columns["user.turns_unembedded"]) > 0
        numbers = (number for number in range(self.users_count) if lacks[number] or self._has_jobs(number, no_jobs))
        return [self.user_key(number) for number in numbers]

    def _has_jobs(self, number: int, no_jobs: bytes) -> bool:
        jobs: bytes = self.columns["user.jobs"][number]
        return jobs != no_jobs

    # --- indexes ---

    def documents(self, space: Hashable) -> SealedDocuments | None:
        """The sealed documents of a space: (user key, `entries` or `turns`)."""
        found = self._space(space)
        if found is None:
            return None
        table, number, start, end = found
        return SealedDocuments(
            self._keywords,
            keyword_prefix(table, number),
            start,
            Keys(self.columns[f"{table}.key"], start, end),
            self.columns[f"{table}.length"][start:end],
            self._withdrawn(table, start, end),
        )

    def vectors(self, space: Hashable) -> SealedVectors | None:
        """The sealed vectors of a space: (user key, `entries` or `turns`)."""
        found = self._space(space)
        if found is None:
            return None
        table, number, start, end = found
        return SealedVectors(
            Keys(self.columns[f"{table}.key"], start, end),
            self.columns[f"{table}.vector"][start:end],
            (self.columns[f"{table}.has_vector"][start:end] == 0) | self._withdrawn(table, start, end),
            self._near.get((table, number)),
        )

    def _withdrawn(self, table: str, start: int, end: int) -> npt.NDArray[np.bool_]:
        if table == "entry":
            return np.zeros(end - start, np.bool_)
        is_out: npt.NDArray[np.bool_] = self.columns["turn.withdrawn"][start:end] > 0
        return is_out

    def _space(self, space: Any) -> tuple[str, int, int, int] | None:  # noqa: ANN401 - indexes take any hashable
        user, name = space
        number = self.number_of(user)
        if number < 0:
            return None
        table = TABLE_OF[name]
        start, end = self.rows(table, number)
        return None if start == end else (table, number, start, end)
