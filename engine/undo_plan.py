"""What a batch did to one user, read from the log: what an undo has to take back. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.engine.fold import fold_user
from memoray.engine.past import vectors_in
from memoray.engine.state import UserState
from memoray.engine.undo import Piece, UndoPlan, WithdrawnTurn, contents
from memoray.errors import NotFoundError
from memoray.events import (
    AnyEvent,
    Batch,
    CursorAdvanced,
    EntryAdded,
    EntryCited,
    EntryDeleted,
    EntryRestored,
    EntryUpdated,
    UndoDecided,
    UserCleared,
)
from memoray.operations import OutcomeStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from memoray.entries import EntryId
    from memoray.requests import UndoRequest


def plan_undo(batches: Iterable[Batch], request: UndoRequest) -> UndoPlan:
    """Find the batch, and what it did to the user's entries and turns.

    Args:
        batches: the whole log of the user's shard, in order.
        request: names the batch.

    Raises:
        NotFoundError: the user has no such batch or job, or it changed no memory.
    """
    reading = _Reading(request)
    for batch in batches:
        reading.take(batch)
    return reading.plan()


class _Reading:
    """One pass over a log, for one user."""

    def __init__(self, request: UndoRequest) -> None:
        self._request = request
        self._known = UserState()
        self._vectors: dict[str, bytes] = {}
        self._vector_of: dict[tuple[str, str], bytes] = {}  # by entry id and text
        self._target: Batch | None = None
        self._before = self._after = self._known
        self._touched: dict[EntryId, None] = {}
        self._versions: dict[EntryId, int] = {}
        self._by_entry: set[str] = set()
        self._clears: set[int] = set()

    def take(self, batch: Batch) -> None:
        mine = [(seq, event) for seq, event in enumerate(batch.events, batch.first_seq) if self._is_mine(event)]
        is_target = self._target is None and self._is_named(batch, [event for _, event in mine])
        if is_target:
            self._target, self._before = batch, self._known
        for seq, event in mine:
            if is_target:
                self._note(event)
            elif self._target is not None:
                self._note_later(event, batch.first_seq)
            self._known = fold_user(self._known, event, seq, batch.recorded_at)
            self._keep(event)
        if is_target:
            self._after = self._known

    def _is_mine(self, event: AnyEvent) -> bool:
        return event.user == self._request.user

    def _is_named(self, batch: Batch, mine: list[AnyEvent]) -> bool:
        seq, job_id = self._request.seq, self._request.job_id
        if seq is not None:
            return bool(mine) and batch.first_seq <= seq <= batch.last_seq
        return any(isinstance(event, CursorAdvanced) and event.job_id == job_id for event in mine)

    def _note(self, event: AnyEvent) -> None:
        """An event of the batch, before it is folded."""
        self._touched.update(dict.fromkeys(_touched_by(event, self._known)))
        if isinstance(event, EntryDeleted):
            self._by_entry.update(event.withdrawn)

    def _note_later(self, event: AnyEvent, first_seq: int) -> None:
        if isinstance(event, UserCleared):
            self._clears.add(first_seq)
        elif isinstance(event, UndoDecided) and _is_applied_undo(event):
            self._clears.discard(event.batch_seq)

    def _keep(self, event: AnyEvent) -> None:
        """Versions and vectors that an event brings, after it was folded."""
        if isinstance(event, EntryAdded | EntryUpdated | EntryRestored):
            self._versions[event.entry.id] = event.entry.version
        for key, vector in vectors_in(event, self._known):
            self._vectors[key] = vector
            entry = self._known.entries.get(key)  # type: ignore[call-overload]  # a turn's id is no entry's
            if entry is not None:
                self._vector_of[key, entry.text] = vector

    def plan(self) -> UndoPlan:
        request, target = self._request, self._target
        named = f"seq {request.seq}" if request.job_id is None else f"job {request.job_id}"
        if target is None:
            message = f"user {request.user} has no batch of {named}; a job has one once it is done"
            raise NotFoundError(message)
        pieces = tuple(self._pieces())
        withdrawn = tuple(self._withdrawn())
        restored = tuple(key for key in self._before.withdrawn if key not in self._after.withdrawn)
        is_change = any(isinstance(event, UserCleared) or _is_applied_undo(event) for event in target.events)
        if not (pieces or withdrawn or restored or is_change):
            message = f"the batch of {named} changed no memory of user {request.user}; there is nothing to undo"
            raise NotFoundError(message)
        return UndoPlan(target.first_seq, f"undo of {named}", pieces, withdrawn, restored, bool(self._clears))

    def _pieces(self) -> Iterator[Piece]:
        for key in self._touched:
            before, after = self._before.entries.get(key), self._after.entries.get(key)
            if contents(before) == contents(after):
                continue
            vector = None if before is None else self._vector_of.get((key, before.text))
            yield Piece(key, before, after, vector, self._known.retired.get(key, 0), self._versions[key])

    def _withdrawn(self) -> Iterator[WithdrawnTurn]:
        for key, seq in self._after.withdrawn.items():
            if self._before.withdrawn.get(key) != seq:
                now = self._known.withdrawn.get(key, 0)
                yield WithdrawnTurn(key, now, self._vectors.get(key), key in self._by_entry)


def _is_applied_undo(event: AnyEvent) -> bool:
    return isinstance(event, UndoDecided) and event.outcome.status is OutcomeStatus.APPLIED


def _touched_by(event: AnyEvent, known: UserState) -> Iterable[EntryId]:
    match event:
        case EntryAdded() | EntryUpdated() | EntryRestored():
            return (event.entry.id,)
        case EntryCited() | EntryDeleted():
            return (event.entry_id,)
        case UserCleared():
            return sorted(known.entries.keys())
        case _:
            return ()
