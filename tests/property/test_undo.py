"""An undo brings a user's memories back to what they were before a batch, and an undo of the undo to what they were."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Generator
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from memoray.engine.undo import contents
from memoray.entries import EntryId
from memoray.errors import NotFoundError
from memoray.keys import UserKey
from memoray.operations import Add, Clear, Delete, Operation, Update
from memoray.requests import OperationsAnswer, UndoRequest
from tests.property.test_snapshots import assert_equals_the_log, come_to_rest, sealing_bench
from tests.support.shards import ANA, BEN, ShardBench

WORDS = ("maple", "birch", "cedar", "alder", "maple birch", "2 maples", "3 maples", "用户 喜欢 喝茶")

Step = tuple[str, str, int]
Batch = tuple[str, UserKey, list[Step]]

operations: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("add"), st.sampled_from(WORDS), st.integers(0, 5)),
    st.tuples(st.just("update"), st.sampled_from(WORDS), st.integers(0, 5)),
    st.tuples(st.just("topics"), st.sampled_from(WORDS), st.integers(0, 5)),
    st.tuples(st.just("delete"), st.just(""), st.integers(0, 5)),
    st.tuples(st.sampled_from(["add", "clear"]), st.sampled_from(WORDS), st.integers(0, 5)),
)
batches: st.SearchStrategy[Batch] = st.one_of(
    st.tuples(st.just("apply"), st.sampled_from([ANA, BEN]), st.lists(operations, min_size=1, max_size=4)),
    st.tuples(st.just("submit"), st.sampled_from([ANA, BEN]), st.lists(operations, min_size=1, max_size=2)),
    st.tuples(st.just("reopen"), st.just(ANA), st.just([])),
)

Said = dict[EntryId, object]


@contextlib.contextmanager
def opened(rows_min: int) -> Generator[ShardBench]:
    """A shard that seals every so many rows, and ends with the test however that goes."""
    with tempfile.TemporaryDirectory() as folder:
        bench = sealing_bench(Path(folder), rows_min)
        try:
            yield bench
        finally:
            bench.shard.close(10.0)


def said(bench: ShardBench, user: UserKey) -> Said:
    """What must be as it was: all but the version, its times, and the links to similar entries."""
    return {key: contents(entry) for key, entry in bench.shard.state().user(user).entries.items()}


def searchable_turns(bench: ShardBench, user: UserKey) -> set[str]:
    known = bench.shard.state().user(user)
    return {key for key in known.turns if key not in known.withdrawn}


def run(bench: ShardBench, what: str, user: UserKey, chosen: list[Step]) -> None:
    if what == "reopen":
        bench.reopen()
        return
    if what == "submit":
        bench.submit(*(f"{text} {which}" for _, text, which in chosen), user=user, session=f"s{chosen[0][2] % 2}")
        bench.settle()
        return
    ids = sorted(bench.shard.state().user(user).entries)
    made: list[Operation] = []
    for name, text, which in chosen:
        target = ids[which % len(ids)] if ids else EntryId("nothing")
        by_name: dict[str, Operation] = {
            "add": Add(f"{text} {which}", topics=(text,)),
            "update": Update(target, text=f"{text} {(which + 1) % 6}"),
            "topics": Update(target, topics=(text,), location=text),
            "delete": Delete(target),
            "clear": Clear(),
        }
        made.append(by_name[name])
    bench.apply(*made, user=user)


def undo(bench: ShardBench, user: UserKey, seq: int) -> OperationsAnswer:
    return bench.shard.undo(UndoRequest(user, bench.new_id(), seq=seq))


def last_change(bench: ShardBench, user: UserKey) -> int:
    """Seq of the last batch that changed an entry of the user's."""
    names = {"EntryAdded", "EntryUpdated", "EntryCited", "EntryDeleted", "UserCleared"}
    found = [
        batch.last_seq
        for batch in bench.batches()
        if any(event.user == user and type(event).__name__ in names for event in batch.events)
    ]
    return found[-1] if found else 0


@given(st.lists(batches, max_size=8), batches, st.sampled_from([1, 4, 1000]))
@settings(max_examples=60, deadline=None)
def test_undo_brings_back_what_was_and_undo_of_the_undo_what_is(
    sequence: list[Batch],
    last: Batch,
    rows_min: int,
) -> None:
    with opened(rows_min) as bench:
        for each in sequence:
            run(bench, *each)
        come_to_rest(bench)
        what, user, chosen = last
        others = ANA if user == BEN else BEN
        before, before_turns, seq_before = (
            said(bench, user),
            searchable_turns(bench, user),
            bench.shard.state().last_seq,
        )
        run(bench, what, user, chosen)
        come_to_rest(bench)
        after, of_others = said(bench, user), said(bench, others)
        after_turns = searchable_turns(bench, user)
        seq = last_change(bench, user)
        if seq > seq_before:
            try:
                undone = undo(bench, user, seq)
            except NotFoundError:
                assert before == after
                undone = None
            assert said(bench, user) == before
            if what == "apply":
                assert searchable_turns(bench, user) == before_turns
            come_to_rest(bench)
            if undone is not None:
                assert {outcome.status.value for outcome in undone.outcomes} == {"applied"}
                again = undo(bench, user, undone.seq)
                assert {outcome.status.value for outcome in again.outcomes} == {"applied"}
                assert said(bench, user) == after
                assert searchable_turns(bench, user) == after_turns
                undo(bench, user, again.seq)
                assert said(bench, user) == before
        assert said(bench, others) == of_others
        assert_equals_the_log(bench)
        bench.reopen()
        assert_equals_the_log(bench)


@given(st.lists(batches, min_size=1, max_size=8))
@settings(max_examples=40, deadline=None)
def test_all_changes_undone_from_the_last_to_the_first_leave_what_there_was_at_each(
    sequence: list[Batch],
) -> None:
    with opened(6) as bench:
        steps: list[tuple[Said, int]] = []
        for what, _, chosen in sequence:
            before = said(bench, ANA)
            run(bench, what, ANA, chosen)
            come_to_rest(bench)
            seq = last_change(bench, ANA)
            if seq > (steps[-1][1] if steps else 0):
                steps.append((before, seq))
        for before, seq in reversed(steps):
            with contextlib.suppress(NotFoundError):  # it added what it took away again
                undo(bench, ANA, seq)
            assert said(bench, ANA) == before
        assert_equals_the_log(bench)
