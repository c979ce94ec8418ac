"""Makes the next base: the one before it, with what has changed since laid over it, as new files.

Works on one moment of a shard (`Moment`), in any thread: all of it is immutable. Rows that did not change are copied
column by column; what is done row by row is done for changed rows alone.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from memoray.engine.base import COLUMNS_NAME, KEYWORDS_NAME, BaseMeta, keyword_prefix, near_name
from memoray.engine.base_maps import HASH_BYTES, SESSION_FIELDS, SessionValue
from memoray.engine.layered import Layered
from memoray.engine.projections import entries_of, turns_of
from memoray.engine.seal_tables import NewRow, Table, unpacked
from memoray.entries import identity_of_entry
from memoray.keys import UserKey, user_bytes
from memoray.storage.columns import Binary, write_columns
from memoray.storage.near_vectors import build_near, write_near
from memoray.storage.sealed_keywords import LONG_MIN, LongLists, write_keywords
from memoray.text import ANALYSIS_VERSION

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from memoray.engine.base import Base
    from memoray.engine.layered import Map
    from memoray.engine.state import ShardState, UserState, Window
    from memoray.storage.keyword_space import View as KeywordView
    from memoray.storage.segment import SegmentId
    from memoray.storage.vector_space import View as VectorView

    Integers = npt.NDArray[np.int64]

FORMAT_VERSION = 1

_pack = msgspec.msgpack.Encoder().encode


class Moment(NamedTuple):
    """One moment of a shard.

    Attributes:
        base: the base that the state and the indexes lie over, if any.
        state: the state.
        vectors: what the vector index has beside the base, by space.
        keywords: what the keyword index has, likewise.
        behind: the part of the log that begins after the state's last event.
        dimension: of the vectors.
        language: of the stemmer.
    """

    base: Base | None
    state: ShardState
    vectors: Mapping[Hashable, VectorView]
    keywords: Mapping[Hashable, KeywordView]
    behind: SegmentId
    dimension: int
    language: str


def write_base(moment: Moment, directory: Path) -> None:
    """Write the files of a base into an empty directory. Not synced: the caller syncs all files of a generation.

    Raises:
        OSError: the file system refused.
    """
    sealing = _Sealing(moment)
    columns = sealing.columns()
    near = tuple(_write_near(columns, directory))
    keywords = directory / KEYWORDS_NAME
    keywords.mkdir()
    lists = LongLists()
    documents_count = write_keywords(keywords, _documents(columns, lists))
    names = ("long.key", "long.start", "long.posting", "long.count_max")
    columns.update(zip(names, lists.columns(), strict=True))
    state = moment.state
    assert state.recorded_at is not None, "a moment with events has a time"
    meta = BaseMeta(
        format_version=FORMAT_VERSION,
        analysis_version=ANALYSIS_VERSION,
        language=moment.language,
        log_id=state.log_id,
        seq=state.last_seq,
        recorded_at=state.recorded_at,
        epoch=moment.behind.epoch,
        part=moment.behind.part,
        dimension=moment.dimension,
        jobs_count=state.jobs_count,
        inbox_bytes=state.inbox_bytes,
        requests_count_max=state.window.count_max,
        requests_age_seconds_max=state.window.age_seconds_max,
        requests_first=state.window.first,
        requests_last=state.window.last,
        documents_count=documents_count,
        near=near,
    )
    write_columns(directory / COLUMNS_NAME, columns, _pack(meta))


def _write_near(columns: Mapping[str, Any], directory: Path) -> Iterator[tuple[str, int]]:
    for table in ("entry", "turn"):
        for number, (start, end) in enumerate(itertools.pairwise(columns[f"user.{table}"].tolist())):
            index = build_near(columns[f"{table}.vector"][start:end])
            if index is not None:
                write_near(index, directory / near_name(table, number))
                yield table, number


def _documents(columns: Mapping[str, Any], lists: LongLists) -> Iterator[tuple[int, str, Mapping[str, int]]]:
    """Everything that keywords can find, as `write_keywords` takes it; `lists` takes in what may have long lists."""
    for table in ("entry", "turn"):
        starts, terms = columns[f"user.{table}"].tolist(), columns[f"{table}.terms"]
        is_out = columns["turn.withdrawn"] > 0 if table == "turn" else None
        for number, (start, end) in enumerate(itertools.pairwise(starts)):
            prefix = keyword_prefix(table, number)
            for row in range(start, end):
                if is_out is None or not is_out[row]:
                    counts = unpacked(terms[row])
                    if end - start >= LONG_MIN:
                        lists.take(row, prefix, counts)
                    yield row, prefix, counts


class _Sealing:
    """One pass from a moment to columns."""

    def __init__(self, moment: Moment) -> None:
        self._moment = moment
        self._base = moment.base
        users = moment.state.users
        self._changed: dict[UserKey, UserState] = dict((users.changed if isinstance(users, Layered) else users).items())
        known = [] if self._base is None else [self._base.user_key(number) for number in range(self._base.users_count)]
        self._users = sorted({*known, *self._changed}, key=user_bytes)
        self._number_of = {user: number for number, user in enumerate(self._users)}
        self._new_number = np.array([self._number_of[user] for user in known], np.int64)
        columns = None if self._base is None else self._base.columns
        self._tables = {
            name: Table(name, columns, self._new_number, moment.dimension if name in {"entry", "turn"} else None)
            for name in ("entry", "turn", "session", "retired")
        }

    def columns(self) -> dict[str, Any]:
        """All columns of the new base."""
        for user, state in self._changed.items():
            self._entries(user, state)
            self._turns(user, state)
            self._sessions(user, state)
            self._retired(user, state)
        columns: dict[str, Any] = {}
        for table in self._tables.values():
            columns.update(table.columns(len(self._users)))
        self._order_identities(columns)
        self._order_places(columns)
        columns.update(self._user_columns())
        columns.update(self._request_columns(self._moment.state.window))
        return columns

    # --- rows of one user ---

    def _entries(self, user: UserKey, state: UserState) -> None:
        table = self._tables["entry"]
        changes = [_changed_keys(each) for each in (state.entries, state.entries_unembedded)]
        space = _Space(self._moment, entries_of(user), table, self._old_number(user))
        for key in table.leave_out(self._old_number(user), changes, state.entries):
            entry = state.entries.get(key)
            if entry is not None:
                extra = {"identity": identity_of_entry(entry)}
                table.add(space.row(self._number_of[user], key, _pack(entry), extra))

    def _turns(self, user: UserKey, state: UserState) -> None:
        table = self._tables["turn"]
        maps = (state.turns, state.withdrawn, state.supports, state.turns_unembedded)
        changes = [_changed_keys(each) for each in maps]
        space = _Space(self._moment, turns_of(user), table, self._old_number(user))
        for key in table.leave_out(self._old_number(user), changes, state.turns):
            turn = state.turns[key]
            extra = {
                "withdrawn": state.withdrawn.get(key) or 0,
                "supports": _pack(state.supports[key]) if key in state.supports else b"",
                "session": turn.session_id.encode(),
                "position": turn.position,
            }
            table.add(space.row(self._number_of[user], key, _pack(turn), extra))

    def _sessions(self, user: UserKey, state: UserState) -> None:
        table = self._tables["session"]
        for key in table.leave_out(self._old_number(user), [_changed_keys(state.sessions)], state.sessions):
            session = state.sessions[key]
            value = SessionValue(**{name: getattr(session, name) for name in SESSION_FIELDS})
            table.add(NewRow(self._number_of[user], key.encode(), _pack(value), {}))

    def _retired(self, user: UserKey, state: UserState) -> None:
        table = self._tables["retired"]
        for key in table.leave_out(self._old_number(user), [_changed_keys(state.retired)], state.retired):
            seq = state.retired.get(key)
            if seq is not None:
                table.add(NewRow(self._number_of[user], key.encode(), b"", {"seq": seq}))

    def _old_number(self, user: UserKey) -> int:
        return -1 if self._base is None else self._base.number_of(user)

    # --- columns over all rows ---

    def _order_identities(self, columns: dict[str, Any]) -> None:
        users = _user_of_rows(columns["user.entry"])
        order = np.lexsort((columns["entry.identity"], users))
        columns["entry.identity"] = columns["entry.identity"][order]
        columns["entry.by_identity"] = order

    def _order_places(self, columns: dict[str, Any]) -> None:
        """Turns by session and position, and where each session begins among them."""
        sessions: Binary = columns["session.key"]
        starts = columns["user.session"].tolist()
        names: Binary = columns["turn.session"]
        users = _user_of_rows(columns["user.turn"]).tolist()
        known: dict[tuple[int, bytes], int] = {}
        session_of = np.empty(len(names), np.int64)
        for row, user in enumerate(users):
            place = user, names[row]
            found = known.get(place)
            if found is None:
                found = known[place] = sessions.find(place[1], starts[user], starts[user + 1])
            session_of[row] = found
        order = np.lexsort((columns["turn.position"], session_of))
        columns["turn.by_place"] = order
        columns["session.first"] = session_of[order].searchsorted(np.arange(len(sessions)))

    def _user_columns(self) -> dict[str, Any]:
        old = None if self._base is None else self._base.columns
        counts = np.zeros((4, len(self._users)), np.int64)
        names = ("entries_unembedded", "turns_unembedded", "withdrawn", "supported")
        jobs = [b""] * len(self._users)
        for old_number, number in enumerate(self._new_number.tolist()):
            assert old is not None, "old numbers come from a base"
            jobs[number] = old["user.jobs"][old_number]
            counts[:, number] = [old[f"user.{name}"][old_number] for name in names]
        for user, state in self._changed.items():
            number = self._number_of[user]
            jobs[number] = _pack(state.jobs)
            maps: tuple[Map[Any, Any], ...] = (
                state.entries_unembedded,
                state.turns_unembedded,
                state.withdrawn,
                state.supports,
            )
            counts[:, number] = [len(each) for each in maps]
        made: dict[str, Any] = {
            "user.key": Binary.of([user_bytes(user) for user in self._users]),
            "user.name": Binary.of([_pack(user) for user in self._users]),
            "user.jobs": Binary.of(jobs),
        }
        made.update({f"user.{name}": counts[place] for place, name in enumerate(names)})
        return made

    def _request_columns(self, window: Window) -> dict[str, Any]:
        old = None if self._base is None else self._base.columns
        old_first = 0 if self._base is None else self._base.meta.requests_first
        old_last = -1 if self._base is None else self._base.meta.requests_last
        keys, values = list[bytes](), list[bytes]()
        for number in range(window.first, window.last + 1):
            if old is not None and number <= old_last:
                keys.append(old["request.key"][number - old_first])
                values.append(old["request.value"][number - old_first])
            else:
                key = window.order[number]
                keys.append(key)
                values.append(_pack(window.answers[key]))
        ordered = np.array(keys, f"S{HASH_BYTES}")
        by_key = np.argsort(ordered, kind="stable")
        return {
            "request.key": ordered,
            "request.value": Binary.of(values),
            "request.by_key": by_key,
            "request.sorted": ordered[by_key],
        }


class _Space:
    """Vectors and terms of one user's entries or turns at the moment."""

    def __init__(self, moment: Moment, space: Hashable, table: Table, old_number: int) -> None:
        self._table = table
        self._old_number = old_number
        self._vectors = moment.vectors.get(space)
        self._keywords = moment.keywords.get(space)
        self._vector_rows: dict[str, int] = {}
        if self._vectors is not None:
            keys = self._vectors.keys
            self._vector_rows = {keys[row]: row for row in self._vectors.live_tail_rows().tolist()}
        self._document_rows: dict[str, int] = {}
        if self._keywords is not None:
            keys = self._keywords.tail.keys
            self._document_rows = {keys[row]: row for row in self._keywords.live_tail_rows().tolist()}

    def row(self, user: int, key: str, value: bytes, extra: dict[str, Any]) -> NewRow:
        """The row of an entry or a turn."""
        length, terms = self._document(key)
        return NewRow(user, key.encode(), value, {**extra, "length": length, "terms": terms}, self._vector(key))

    def _vector(self, key: str) -> npt.NDArray[np.float32] | None:
        view = self._vectors
        row = self._vector_rows.get(key)
        if view is not None and row is not None:
            vector: npt.NDArray[np.float32] = view.matrix[row]
            return vector
        old = self._table.old_row(self._old_number, key)
        if old is None:
            return None
        start = self._table.old_start(self._old_number)
        if view is not None and (view.sealed is None or view.is_sealed_dead[old - start]):
            return None
        return self._table.old_vector(old)

    def _document(self, key: str) -> tuple[int, bytes]:
        """Length and terms; of what keywords no longer find there are none."""
        view = self._keywords
        row = self._document_rows.get(key)
        if view is not None and row is not None:
            return int(view.tail.lengths[row]), _pack(dict(view.tail.counts[row]))
        old = self._table.old_row(self._old_number, key)
        start = self._table.old_start(self._old_number)
        if old is None or (view is not None and (view.sealed is None or view.is_sealed_dead[old - start])):
            return 0, _pack({})
        return self._table.old_document(old)


def _user_of_rows(starts: Integers) -> Integers:
    """User number of every row, from where each user's rows begin."""
    return np.repeat(np.arange(len(starts) - 1), np.diff(starts))


def _changed_keys(each: Map[Any, Any]) -> set[Any] | None:
    """Keys in which a map differs from the base's; None if it does not lie over the base."""
    return {*each.changed.keys(), *each.gone.keys()} if isinstance(each, Layered) else None
