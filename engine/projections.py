"""Views of the log that answer searches: vectors and keywords of a shard's live entries and turns.

Fed by the writer thread after a batch is durable; searched by any thread. A reader filters every hit against the state
it holds, so an index may be a moment ahead of or behind that state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.engine.vector_bytes import from_bytes
from memoray.errors import InternalError
from memoray.events import (
    AnyEvent,
    Batch,
    DeltaAccepted,
    EntriesEmbedded,
    EntryAdded,
    EntryDeleted,
    EntryRestored,
    EntryUpdated,
    TurnsEmbedded,
    TurnsRestored,
    TurnsWithdrawn,
    UserCleared,
)
from memoray.points import reach
from memoray.storage.keywords import KeywordIndex
from memoray.storage.vectors import VectorIndex
from memoray.text import index_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from memoray.engine.base import Base
    from memoray.engine.state import ShardState, UserState
    from memoray.entries import Entry
    from memoray.keys import UserKey
    from memoray.messages import Turn

Space = tuple["UserKey", str]


def entries_of(user: UserKey) -> Space:
    """Space of a user's entries in both indexes."""
    return user, "entries"


def turns_of(user: UserKey) -> Space:
    """Space of a user's turns in both indexes."""
    return user, "turns"


def entry_terms(entry: Entry, language: str) -> list[str]:
    """What a keyword query can match an entry by."""
    text = "\n".join((entry.text, *entry.topics, *entry.participants, entry.location))
    return index_terms(text, language)


def turn_terms(turn: Turn, language: str) -> list[str]:
    """What a keyword query can match a turn by: who spoke, when, and what was said."""
    when = turn.local_time
    return index_terms(f"{turn.name or ''} {when.day} {when:%B %Y}\n{turn.text}", language)


def turn_text(turn: Turn) -> str:
    """What the vector of a turn is made of."""
    return f"{turn.name}: {turn.text}" if turn.name else turn.text


class Projections:
    """The vector index and the keyword index of one shard.

    Attributes:
        applied_seq: seq of the last event that both have taken in.
        changes_count: documents and vectors that came or went since the base.
        language: of the stemmer.
    """

    def __init__(self, dimension: int, language: str, base: Base | None = None) -> None:
        """Begin with what a base has, or empty."""
        self.vectors = VectorIndex(dimension, base)
        self.keywords = KeywordIndex(base)
        self.applied_seq = 0 if base is None else base.meta.seq
        self.changes_count = 0
        self.language = language
        self._waiting: dict[Space, dict[str, bytes]] = {}

    def apply(self, batch: Batch, state: ShardState) -> None:
        """Take a durable batch in. `state` is the shard's state after it (or after later ones)."""
        if batch.first_seq != self.applied_seq + 1:
            message = f"projections are at seq {self.applied_seq}, the batch starts at {batch.first_seq}"
            raise InternalError(message)
        for event in batch.events:
            self._apply(event, state)
        reach("keywords_applied")
        self._add_waiting()
        reach("vectors_applied")
        self.applied_seq = batch.last_seq

    def fill(self, user: UserKey, known: UserState, vectors: Mapping[str, bytes], seq: int) -> None:
        """Take in all of one user at once, as of a seq.

        Args:
            user: whose.
            known: the user's state.
            vectors: by id; of all that `known` does not list as unembedded.
            seq: of the last event that is in all this.
        """
        entries, turns = entries_of(user), turns_of(user)
        for entry in known.entries.values():
            self._add_terms(entries, entry.id, entry_terms(entry, self.language))
            if entry.id not in known.entries_unembedded:
                self._add_vectors(entries, [(entry.id, vectors[entry.id])])
        for turn in known.turns.values():
            if turn.id not in known.withdrawn:
                self._add_terms(turns, turn.id, turn_terms(turn, self.language))
                if turn.id not in known.turns_unembedded:
                    self._add_vectors(turns, [(turn.id, vectors[turn.id])])
        self._add_waiting()
        self.applied_seq = seq

    def _apply(self, event: AnyEvent, state: ShardState) -> None:
        user = event.user
        match event:
            case EntryAdded() | EntryUpdated() | EntryRestored():
                self._put(user, event.entry, event.vector, state)
            case EntryDeleted():
                self._remove(entries_of(user), event.entry_id)
                self._withdraw(user, event.withdrawn)
            case EntriesEmbedded():
                self._add_vectors(entries_of(user), _current(event, state.user(user)))
            case UserCleared():
                for space in (entries_of(user), turns_of(user)):
                    self._waiting.pop(space, None)
                    self.changes_count += self.keywords.count(space)
                    self.keywords.drop(space)
                    self.vectors.drop(space)
            case _:
                self._apply_to_turns(event, state)

    def _apply_to_turns(self, event: AnyEvent, state: ShardState) -> None:
        user = event.user
        match event:
            case DeltaAccepted():
                self._add_turns(user, event.turns)
            case TurnsEmbedded():
                self._add_vectors(turns_of(user), zip(event.turn_ids, event.vectors, strict=True))
            case TurnsWithdrawn():
                self._withdraw(user, event.turn_ids)
            case TurnsRestored():
                turns = state.user(user).turns
                self._add_turns(user, [turns[turn_id] for turn_id in event.turn_ids])
                vectors = zip(event.turn_ids, event.vectors, strict=True)
                self._add_vectors(turns_of(user), [(key, vector) for key, vector in vectors if vector is not None])
            case _:
                pass

    def _put(self, user: UserKey, entry: Entry, vector: bytes | None, state: ShardState) -> None:
        space = entries_of(user)
        self._add_terms(space, entry.id, entry_terms(entry, self.language))
        if vector is not None:
            self._waiting.setdefault(space, {})[entry.id] = vector
        elif entry.id in state.user(user).entries_unembedded:
            # Without a vector of its own the new text must not answer for the old one's.
            self._remove_vector(space, entry.id)

    def _add_turns(self, user: UserKey, turns: Iterable[Turn]) -> None:
        for turn in turns:
            self._add_terms(turns_of(user), turn.id, turn_terms(turn, self.language))

    def _withdraw(self, user: UserKey, turn_ids: Iterable[str]) -> None:
        for turn_id in turn_ids:
            self._remove(turns_of(user), turn_id)

    def _add_terms(self, space: Space, key: str, terms: Sequence[str]) -> None:
        self.changes_count += 1
        self.keywords.add(space, key, terms)

    def _add_vectors(self, space: Space, vectors: Iterable[tuple[str, bytes]]) -> None:
        self._waiting.setdefault(space, {}).update(vectors)

    def _add_waiting(self) -> None:
        """Add the vectors of a batch, those of a space at once."""
        for space, vectors in self._waiting.items():
            if vectors:
                matrix = from_bytes(b"".join(vectors.values())).reshape(len(vectors), -1)
                self.vectors.add(space, list(vectors), matrix)
                self.changes_count += len(vectors)
        self._waiting.clear()

    def _remove_vector(self, space: Space, key: str) -> None:
        self._waiting.get(space, {}).pop(key, None)
        self.vectors.remove(space, key)
        self.changes_count += 1

    def _remove(self, space: Space, key: str) -> None:
        self.changes_count += 1
        self.keywords.remove(space, key)
        self._remove_vector(space, key)


def _current(event: EntriesEmbedded, known: UserState) -> Iterable[tuple[str, bytes]]:
    """Vectors of entries that have not moved on to another version."""
    for entry_id, version, vector in zip(event.entry_ids, event.versions, event.vectors, strict=True):
        entry = known.entries.get(entry_id)
        if entry is not None and entry.version == version:
            yield entry_id, vector
