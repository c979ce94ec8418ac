"""What the files of a shard's log say of the past: histories, what a batch did, and a user as of a moment.

Reads beside the owner, without owning; each answer takes as long as reading the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from memoray.engine.finder import sources_of
from memoray.engine.history import history_of
from memoray.engine.past import past_of
from memoray.engine.projections import Projections
from memoray.engine.replay import begin
from memoray.engine.undo_plan import plan_undo
from memoray.errors import InvalidRequestError, NotFoundError
from memoray.requests import HistoryAnswer, HistoryRequest, UndoRequest
from memoray.storage.manifest import shard_directory
from memoray.storage.recovery import read_batches
from memoray.validation import check_user_key

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from memoray.engine.state import ShardState
    from memoray.engine.undo import UndoPlan
    from memoray.events import Batch
    from memoray.keys import UserKey
    from memoray.storage.filesystem import FileSystem
    from memoray.storage.manifest import Manifest


class Archive:
    """The log of one shard, for reading. Any number of threads may ask."""

    def __init__(self, fs: FileSystem, root: str, manifest: Manifest, shard: int) -> None:
        """Read where the shard's owner writes."""
        self._fs = fs
        self._directory = shard_directory(root, shard)
        self._manifest = manifest
        self._shard = shard

    def history(self, request: HistoryRequest, state: ShardState) -> HistoryAnswer:
        """Every change of an entry; `state` is the shard's, for the messages.

        Raises:
            NotFoundError: this user never had an entry of this id.
        """
        user = check_user_key(request.user)
        changes = history_of(self._batches(), user, request.entry_id)
        if not changes:
            message = f"user {user} never had a memory {request.entry_id!r}"
            raise NotFoundError(message)
        return HistoryAnswer(changes, sources_of(state.user(user), [change.entry for change in changes], ()))

    def plan_undo(self, request: UndoRequest) -> UndoPlan:
        """What there is to undo; errors as of `memoray.engine.undo_plan.plan_undo`."""
        return plan_undo(self._batches(), request)

    def moment(self, user: UserKey, as_of: int | datetime, now: ShardState) -> tuple[ShardState, Projections]:
        """The shard as it was, with nobody but one user in it, and that user's indexes.

        Args:
            user: whose.
            as_of: a seq, or an aware time.
            now: the shard's state; nothing beyond it is answered for.

        Raises:
            InvalidRequestError: nothing has this seq yet.
        """
        if isinstance(as_of, int) and as_of > now.last_seq:
            message = f"as_of {as_of} is of the future: this shard's log ends at seq {now.last_seq}"
            raise InvalidRequestError(message)
        # The files may hold a batch that is not acknowledged yet.
        durable = (batch for batch in self._batches() if batch.last_seq <= now.last_seq)
        past = past_of(durable, user, as_of)
        empty = begin(self._manifest, self._shard)
        users = empty.users.insert(user, past.known)
        state = replace(empty, last_seq=past.seq, recorded_at=past.recorded_at, users=users)
        projections = Projections(self._manifest.embedder_dimension, self._manifest.language)
        projections.fill(user, past.known, past.vectors, past.seq)
        return state, projections

    def _batches(self) -> Iterable[Batch]:
        return read_batches(self._fs, self._directory, shard=self._shard).batches
