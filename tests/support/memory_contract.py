"""What everything that is a `Memory` does, with whatever behind it and in either form."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, cast

import pytest

from memoray.engine.asynchronous import AsyncMemory
from memoray.engine.memory import Memory
from memoray.entries import Kind
from memoray.errors import InvalidRequestError, NotFoundError
from memoray.keys import UserKey
from memoray.messages import Message


class Blocking:
    """The awaitable form as a caller without a loop sees it: the same names, each awaited to its end."""

    def __init__(self, memory: AsyncMemory, loop: asyncio.AbstractEventLoop) -> None:
        self._memory = memory
        self._loop = loop

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: object, **kwargs: object) -> object:
            return self._loop.run_until_complete(getattr(self._memory, name)(*args, **kwargs))

        return call


def in_form(form: str, memory: Memory) -> Iterator[Memory]:
    """A memory in the form asked for, `plain` or `awaited`, closed behind the test."""
    if form == "plain":
        with memory:
            yield memory
        return
    with asyncio.Runner() as runner:
        made: list[AsyncMemory] = []

        async def make() -> None:
            made.append(AsyncMemory(memory))

        runner.run(make())
        yield cast("Memory", Blocking(made[0], runner.get_loop()))
        runner.run(made[0].close())


class MemoryContract:
    """Subclasses give the fixture `memory`; each test has users of its own."""

    @pytest.fixture
    def user(self) -> UserKey:
        return UserKey("contract", uuid.uuid4().hex)

    def test_what_is_submitted_is_extracted_and_found_with_its_message(self, memory: Memory, user: UserKey) -> None:
        receipt = memory.submit(user, "s1", [Message("user", "I keep my bicycle in the blue shed.")])
        assert receipt.status == "accepted"
        assert memory.wait(user).jobs == ()
        hits = memory.search(user, "bicycle").hits
        assert {hit.type for hit in hits} >= {"entry"}
        assert all(source.turn_id == receipt.turn_ids[0] for hit in hits for source in hit.sources)
        assert "blue shed" in memory.preload(user, "bicycle", limit=1).text

    def test_a_whole_transcript_may_be_submitted_again_and_again(self, memory: Memory, user: UserKey) -> None:
        said = [Message("user", "The kiln is in the cellar."), Message("user", "The glaze is on the shelf.")]
        assert len(memory.submit_session(user, "s1", said[:1]).turn_ids) == 1
        assert len(memory.submit_session(user, "s1", said).turn_ids) == 1
        memory.wait(user)
        assert memory.status(user)[0].turns_count == 2

    def test_memories_are_changed_by_hand_and_their_history_is_kept(self, memory: Memory, user: UserKey) -> None:
        added = memory.add(user, "Prefers window seats", kind=Kind.FACT, topics=["travel"])
        assert added.entry_id is not None
        assert memory.update(user, added.entry_id, text="Prefers aisle seats").version == 2
        entry = memory.read(user).entries[0]
        assert (entry.text, entry.topics) == ("Prefers aisle seats", ("travel",))
        assert memory.delete(user, added.entry_id).status == "applied"
        changes = memory.history(user, added.entry_id).changes
        assert [change.what for change in changes] == ["added", "updated", "deleted"]
        memory.add(user, "One more")
        assert memory.clear(user).count == 1
        assert memory.read(user).entries == ()

    def test_a_change_is_undone_and_the_undo_too(self, memory: Memory, user: UserKey) -> None:
        added = memory.add(user, "Likes figs")
        assert added.entry_id is not None
        memory.delete(user, added.entry_id)
        seq = memory.history(user, added.entry_id).changes[-1].seq
        undone = memory.undo(user, seq=seq, request_id="u1")
        assert memory.undo(user, seq=seq, request_id="u1") == undone
        assert [entry.text for entry in memory.read(user).entries] == ["Likes figs"]
        memory.undo(user, seq=undone.seq)
        assert memory.read(user).entries == ()
        receipt = memory.submit(user, "s1", [Message("user", "I keep my bicycle in the blue shed.")])
        memory.wait(user)
        memory.undo(user, job_id=receipt.job_id)
        assert memory.read(user).entries == ()
        with pytest.raises(NotFoundError, match="no batch of job nothing"):
            memory.undo(user, job_id="nothing")

    def test_a_read_is_answered_as_it_would_have_been(self, memory: Memory, user: UserKey) -> None:
        first = memory.add(user, "Runs Go 1.23")
        assert first.entry_id is not None
        before = memory.read(user)
        memory.update(user, first.entry_id, text="Runs Go 1.24")
        assert memory.read(user, as_of=before.seq) == before
        for limit, query in ((-1, ""), (1, "Go")):
            assert "Runs Go 1.23" in memory.preload(user, query, limit=limit, as_of=before.seq).text
        hits = memory.search(user, "Go", as_of=before.seq).hits
        assert [hit.text for hit in hits] == ["Runs Go 1.23"]
        recorded_at = memory.history(user, first.entry_id).changes[-1].recorded_at
        assert memory.search(user, "Go", as_of=recorded_at).hits[0].text == "Runs Go 1.24"
        assert memory.read(user, as_of=0).entries == ()
        assert memory.search(user, "Go", as_of=datetime(2020, 1, 1, tzinfo=UTC)).hits == ()
        with pytest.raises(InvalidRequestError, match="of the future"):
            memory.read(user, as_of=10**9)

    def test_a_request_that_is_repeated_is_done_once(self, memory: Memory, user: UserKey) -> None:
        first = memory.add(user, "Likes figs", request_id="r1")
        assert memory.add(user, "Likes figs", request_id="r1") == first
        with pytest.raises(InvalidRequestError, match="another request"):
            memory.add(user, "Likes dates", request_id="r1")
        assert [entry.text for entry in memory.read(user).entries] == ["Likes figs"]

    def test_errors_are_the_same_everywhere(self, memory: Memory, user: UserKey) -> None:
        with pytest.raises(InvalidRequestError, match="memory text required"):
            memory.add(user, "   ")
        with pytest.raises(InvalidRequestError, match="app name required"):
            memory.read(UserKey("", "x"))
        with pytest.raises(InvalidRequestError, match="limit 0"):
            memory.search(user, "q", limit=0)
        with pytest.raises(NotFoundError, match="never had a memory"):
            memory.history(user, "nothing")

    def test_nobody_sees_what_is_anothers(self, memory: Memory, user: UserKey) -> None:
        other = UserKey(user.app_name, user.user_id + "-other")
        memory.add(user, "The code is 4711")
        assert memory.search(other, "code 4711").hits == ()
        assert memory.read(other).entries == ()
        assert memory.preload(other, "code", limit=-1).text == ""
