"""Which of the found entries were drawn from which of the found turns, and whether they say it still. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from memoray.messages import TurnId

if TYPE_CHECKING:
    from collections.abc import Collection

    from memoray.engine.state import UserState

# An entry drawn from more turns than these says what all of them are about, and stands for none of them.
STANDS_FOR_MAX = 8


class Links(msgspec.Struct, frozen=True):
    """As in `memoray.retrieval.search.Found`: `cited` and `replaced` by turn, and the turns that are `superseded`."""

    cited: dict[str, tuple[str, ...]]
    replaced: dict[str, tuple[str, ...]]
    superseded: tuple[str, ...]


def links_of(known: UserState, turn_ids: Collection[str], entry_ids: Collection[str]) -> Links:
    """The links between turns and entries that a search found."""
    cited: dict[str, tuple[str, ...]] = {}
    replaced: dict[str, tuple[str, ...]] = {}
    superseded: list[str] = []
    for key in turn_ids:
        turn_id = TurnId(key)
        drawn = [known.entries[entry_id] for entry_id in known.supports.get(turn_id, ())]
        current = [entry for entry in drawn if turn_id in entry.sources[entry.current_from :]]
        past = [entry for entry in drawn if turn_id not in entry.sources[entry.current_from :]]
        if past and not current:
            superseded.append(key)
        standing = [
            entry.id
            for entry in current
            if entry.id in entry_ids and len(entry.sources) - entry.current_from <= STANDS_FOR_MAX
        ]
        behind = [entry.id for entry in past if entry.id in entry_ids]
        if standing:
            cited[key] = tuple(standing)
        if behind:
            replaced[key] = tuple(behind)
    return Links(cited, replaced, tuple(superseded))
