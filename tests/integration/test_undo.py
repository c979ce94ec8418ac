"""Undo, case by case: what comes back, what is refused and why, and what stays as it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest

from memoray.engine.archive import Archive
from memoray.errors import BusyError, InvalidRequestError, NotFoundError, UnavailableError
from memoray.events import EntryRestored, OperationDecided, TurnsRestored, UndoDecided
from memoray.keys import UserKey
from memoray.operations import Add, Clear, Delete, Operation, Update
from memoray.protocols import ExtractionRequest
from memoray.requests import HistoryRequest, OperationsAnswer, SearchRequest, UndoRequest
from memoray.retrieval.search import answer
from tests.support.moody import MoodyEmbedder
from tests.support.shards import ANA, BEN, START, ScriptedExtractor, ShardBench, each_turn


class CountingEmbedder(MoodyEmbedder):
    """Remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        self.asked += texts
        return super().embed(texts, is_query=is_query)


@pytest.fixture
def bench() -> Iterator[ShardBench]:
    made = ShardBench(extractor=ScriptedExtractor(), embedder=CountingEmbedder())
    yield made
    made.check()
    made.shard.close(10.0)


def undo(bench: ShardBench, *, user: UserKey = ANA, request_id: str | None = None, **named: object) -> OperationsAnswer:
    return bench.shard.undo(UndoRequest(user, request_id or bench.new_id(), **named))  # type: ignore[arg-type]  # fields of an UndoRequest


def shown(done: OperationsAnswer) -> list[tuple[str, str | None, str]]:
    return [(outcome.status.value, outcome.action, outcome.reason) for outcome in done.outcomes]


def hits(bench: ShardBench, query: str) -> list[str]:
    vector = MoodyEmbedder().embed([query])[0].astype("<f4").tobytes()
    request = SearchRequest(ANA, query, dedupe=False)
    return sorted(hit.text for hit in answer(request, bench.shard.find(request, vector)).hits)


def test_an_added_memory_goes_and_comes_back_under_its_id(bench: ShardBench) -> None:
    added = bench.apply(Add("The kiln is in the cellar"))
    undone = undo(bench, seq=added.seq)
    assert shown(undone) == [("applied", "delete", f"undo of seq {added.seq}")]
    assert bench.texts() == []
    again = undo(bench, seq=undone.seq)
    assert shown(again) == [("applied", "restore", f"undo of seq {undone.seq}")]
    entry = next(iter(bench.shard.state().user(ANA).entries.values()))
    assert (entry.id, entry.version) == (added.outcomes[0].entry_id, 2)


def test_an_updated_memory_says_again_what_it_said_and_nothing_is_embedded(bench: ShardBench) -> None:
    key = bench.apply(Add("Runs Go 1.23", topics=("go",), location="Lyon")).outcomes[0].entry_id
    assert key is not None
    changed = bench.apply(Update(key, text="Runs Go 1.24", topics=("golang",), location="Oslo"))
    embedder = bench.embedder
    assert isinstance(embedder, CountingEmbedder)
    embedder.asked.clear()
    undo(bench, seq=changed.seq)
    assert embedder.asked == []
    entry = bench.shard.state().user(ANA).entries[key]
    assert (entry.text, entry.topics, entry.location, entry.version) == ("Runs Go 1.23", ("go",), "Lyon", 3)
    assert key not in bench.shard.state().user(ANA).entries_unembedded
    assert hits(bench, "Go 1.23") == ["Runs Go 1.23"]


def test_a_deleted_memory_comes_back_with_its_messages_and_their_vectors(bench: ShardBench) -> None:
    bench.submit("The glaze is on the shelf")
    bench.settle()
    (key,) = bench.shard.state().user(ANA).entries
    deleted = bench.apply(Delete(key))
    assert hits(bench, "glaze shelf") == []
    embedder = bench.embedder
    assert isinstance(embedder, CountingEmbedder)
    embedder.asked.clear()
    undo(bench, seq=deleted.seq)
    bench.settle()
    assert embedder.asked == []
    assert hits(bench, "glaze shelf") == ["The glaze is on the shelf"] * 2
    restored = [event for event in bench.batches()[-1].events if isinstance(event, TurnsRestored)]
    assert [len(vector or b"") for event in restored for vector in event.vectors] == [4 * embedder.dimension]


def test_a_clear_is_undone_but_for_the_jobs_that_it_cancelled() -> None:
    extractor = ScriptedExtractor()
    bench = ShardBench(extractor=extractor)
    bench.submit("Keeps bees")
    bench.settle()
    bench.apply(Add("Keeps a goat"))
    bench.reopen()  # so that the next job is one of a shard with another extractor
    bench.shard.close(10.0)
    bench.extractor = None
    bench.open()
    bench.submit("Keeps hens")  # stays pending: nothing extracts
    before, turns = bench.texts(), hits(bench, "Keeps")
    cleared = bench.apply(Clear())
    assert (bench.texts(), hits(bench, "Keeps")) == ([], [])
    done = undo(bench, seq=cleared.seq)
    assert {outcome.action for outcome in done.outcomes} == {"restore"}
    assert (bench.texts(), hits(bench, "Keeps")) == (before, turns)
    session = bench.shard.state().user(ANA).sessions["s1"]
    assert (session.extracted, session.length) == (2, 2), "what was cleared counts as extracted"
    again = undo(bench, seq=done.seq)
    assert {outcome.action for outcome in again.outcomes} == {"delete"}
    assert (bench.texts(), hits(bench, "Keeps")) == ([], [])
    bench.check()
    bench.shard.close(10.0)


def test_a_clear_of_messages_alone_is_undone_once() -> None:
    bench = ShardBench()
    bench.submit("Keeps bees")
    cleared = bench.apply(Clear())
    done = undo(bench, seq=cleared.seq)
    assert shown(done) == [("applied", "restore", f"undo of seq {cleared.seq}")]
    assert hits(bench, "bees") == ["Keeps bees"]
    assert [outcome.status for outcome in undo(bench, seq=cleared.seq).outcomes] == ["refused"]
    undo(bench, seq=done.seq)
    assert hits(bench, "bees") == []
    bench.check()
    bench.shard.close(10.0)


def test_a_job_is_undone_as_a_whole_and_its_messages_are_not_extracted_again(bench: ShardBench) -> None:
    bench.submit("The kiln is blue")
    bench.settle()
    receipt = bench.submit("The kiln is blue", "The door is red", session="s2")
    bench.settle()
    assert receipt.job_id is not None
    done = undo(bench, job_id=receipt.job_id)
    assert sorted(shown(done)) == [
        ("applied", "delete", f"undo of job {receipt.job_id}"),
        ("applied", "restore", f"undo of job {receipt.job_id}"),  # a duplicate that named one more message
    ]
    (entry,) = bench.shard.state().user(ANA).entries.values()
    assert (entry.text, len(entry.sources), entry.version) == ("The kiln is blue", 1, 2)
    bench.settle()
    session = bench.shard.state().user(ANA).sessions["s2"]
    assert (session.extracted, session.length) == (2, 2), "the cursor does not move back"
    assert hits(bench, "door red") == ["The door is red", "The kiln is blue", "The kiln is blue", "The kiln is blue"]
    undo(bench, seq=done.seq)
    assert bench.texts() == ["The door is red", "The kiln is blue"]


def test_what_a_later_batch_changed_is_refused_and_the_rest_is_undone(bench: ShardBench) -> None:
    added = bench.apply(Add("one"), Add("two"), Add("three"), Add("four"))
    one, two, three, _ = (outcome.entry_id for outcome in added.outcomes)
    assert one is not None
    assert two is not None
    assert three is not None
    bench.apply(Update(one, text="uno"))
    bench.apply(Delete(two))
    bench.apply(Update(three, topics=("t",)))
    done = undo(bench, seq=added.seq)
    assert shown(done) == [
        ("applied", "delete", f"undo of seq {added.seq}"),
        ("refused", None, "the entry was changed since"),
        ("refused", None, "the entry was deleted since"),
        ("refused", None, "the entry was changed since"),
    ]
    assert bench.texts() == ["three", "uno"]
    logged = [event.outcome for event in bench.batches()[-1].events if isinstance(event, UndoDecided)]
    assert tuple(logged) == done.outcomes


def test_what_another_memory_says_by_now_is_not_said_twice(bench: ShardBench) -> None:
    key = bench.apply(Add("Likes figs")).outcomes[0].entry_id
    assert key is not None
    deleted = bench.apply(Delete(key))
    bench.apply(Add("Likes figs"))
    assert shown(undo(bench, seq=deleted.seq)) == [("refused", None, "another memory says this by now")]
    assert bench.texts() == ["Likes figs"]


def test_two_that_swapped_what_they_say_swap_back(bench: ShardBench) -> None:
    first, second = (outcome.entry_id for outcome in bench.apply(Add("a"), Add("b")).outcomes)
    assert first is not None
    assert second is not None
    swapped = bench.apply(Update(first, text="c"), Update(second, text="a"), Update(first, text="b"))
    entries = bench.shard.state().user(ANA).entries
    assert (entries[first].text, entries[second].text) == ("b", "a")
    assert [outcome.status for outcome in undo(bench, seq=swapped.seq).outcomes] == ["applied", "applied"]
    entries = bench.shard.state().user(ANA).entries
    assert (entries[first].text, entries[second].text) == ("a", "b")
    assert bench.apply(Add("a")).outcomes[0].entry_id == first
    assert bench.apply(Add("b")).outcomes[0].entry_id == second


def test_one_that_may_not_go_back_holds_up_who_would_say_what_it_says(bench: ShardBench) -> None:
    first, second = (outcome.entry_id for outcome in bench.apply(Add("a"), Add("b")).outcomes)
    assert first is not None
    assert second is not None
    moved = bench.apply(Update(first, text="c"), Update(second, text="a"))
    bench.apply(Update(second, topics=("t",)))
    assert {reason for _, _, reason in shown(undo(bench, seq=moved.seq))} == {
        "the entry was changed since",
        "another memory says this by now",
    }
    assert bench.texts() == ["a", "c"]


def test_a_later_clear_keeps_away_what_had_left_before_it_until_it_is_undone(bench: ShardBench) -> None:
    key = bench.apply(Add("Likes figs")).outcomes[0].entry_id
    assert key is not None
    deleted = bench.apply(Delete(key))
    cleared = bench.apply(Add("Likes dates"), Clear())
    assert shown(undo(bench, seq=deleted.seq)) == [("refused", None, "the user was cleared since")]
    bench.apply(Add("Likes plums"))
    undo(bench, seq=cleared.seq)
    undo(bench, seq=deleted.seq)
    assert bench.texts() == ["Likes figs", "Likes plums"]


def test_a_repeated_request_undoes_once_and_another_under_its_id_is_refused(bench: ShardBench) -> None:
    added = bench.apply(Add("one"))
    first = undo(bench, seq=added.seq, request_id="u1")
    bench.apply(Add("one"))
    assert undo(bench, seq=added.seq, request_id="u1") == first
    bench.reopen()
    assert undo(bench, seq=added.seq, request_id="u1") == first
    assert bench.texts() == ["one"]
    with pytest.raises(InvalidRequestError, match="another request"):
        undo(bench, seq=added.seq + 1, request_id="u1")
    with pytest.raises(UnavailableError, match="deadline"):
        undo(bench, seq=added.seq, deadline=START)


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ({}, "name one of them"),
        ({"seq": 1, "job_id": "j"}, "name one of them"),
        ({"seq": 0}, "the first is 1"),
        ({"seq": 999}, "no batch of seq 999"),
        ({"seq": 1}, "changed no memory"),
        ({"job_id": "j"}, "no batch of job j"),
    ],
)
def test_what_cannot_be_undone_is_named(bench: ShardBench, named: dict[str, object], said: str) -> None:
    bench.submit("Keeps bees")
    bench.settle()
    with pytest.raises(InvalidRequestError, match=said):
        bench.shard.undo(UndoRequest(ANA, "u", **named))  # type: ignore[arg-type]  # fields of an UndoRequest


def test_another_users_batch_is_no_batch(bench: ShardBench) -> None:
    receipt = bench.submit("Keeps bees")
    bench.settle()
    added = bench.apply(Add("Keeps a goat"))
    with pytest.raises(NotFoundError):
        undo(bench, user=BEN, seq=added.seq)
    with pytest.raises(NotFoundError):
        undo(bench, user=BEN, job_id=receipt.job_id)
    assert bench.texts() == ["Keeps a goat", "Keeps bees"]


def test_what_had_no_vector_is_flagged_and_mended(bench: ShardBench) -> None:
    embedder = bench.embedder
    assert isinstance(embedder, MoodyEmbedder)
    embedder.mood = "down"
    key = bench.apply(Add("Keeps bees")).outcomes[0].entry_id
    assert key is not None
    deleted = bench.apply(Delete(key))
    undo(bench, seq=deleted.seq)
    (restored,) = (event for event in bench.batches()[-1].events if isinstance(event, EntryRestored))
    assert restored.vector is None
    assert key in bench.shard.state().user(ANA).entries_unembedded
    embedder.mood = "well"
    bench.submit("Keeps a goat")
    bench.settle()
    assert key not in bench.shard.state().user(ANA).entries_unembedded


def test_too_many_changes_to_list_are_counted() -> None:
    bench = ShardBench()
    for start in (0, 700):
        bench.apply(*(Add(f"number {number}") for number in range(start, start + 700)))
    cleared = bench.apply(Clear())
    done = undo(bench, seq=cleared.seq)
    assert [(outcome.action, outcome.count, outcome.entry_id) for outcome in done.outcomes] == [("restore", 1400, None)]
    assert len(bench.texts()) == 1400
    key = next(iter(bench.shard.state().user(ANA).entries))
    told = bench.shard.history(HistoryRequest(ANA, key)).changes
    assert [(change.what, change.operation) for change in told] == [
        ("added", "add"),
        ("cleared", "clear"),
        ("restored", "undo"),
    ]
    bench.check()
    bench.shard.close(10.0)


def propose(request: ExtractionRequest) -> list[Operation]:
    if "now" in request.turns[0].text:
        return [Update(request.known[0].id, text=request.turns[0].text, sources=(request.turns[0].id,))]
    return each_turn(request)


def test_history_names_the_operation_the_job_the_model_and_the_messages_of_each_change() -> None:
    bench = ShardBench(extractor=ScriptedExtractor(propose))
    first = bench.submit("The boat is red")
    bench.settle()
    second = bench.submit("The boat is blue now", session="s2")
    bench.settle()
    (key,) = bench.shard.state().user(ANA).entries
    undone = undo(bench, job_id=second.job_id)
    bench.apply(Add("The boat is red", sources=second.turn_ids))
    told = bench.shard.history(HistoryRequest(ANA, key))
    assert [
        (change.what, change.operation, change.job_id, change.model, change.entry.sources) for change in told.changes
    ] == [
        ("added", "add", first.job_id, "scripted", first.turn_ids),
        ("updated", "update", second.job_id, "scripted", first.turn_ids + second.turn_ids),
        ("restored", "undo", None, "", first.turn_ids),
        ("cited", "add", None, "", first.turn_ids + second.turn_ids),
    ]
    assert told.changes[2].reason == f"undo of job {second.job_id}"
    assert set(told.sources) == {*first.turn_ids, *second.turn_ids}
    assert [outcome.action for outcome in undone.outcomes] == ["restore"]
    assert not [event for event in bench.batches()[-2].events if isinstance(event, OperationDecided)]
    bench.check()
    bench.shard.close(10.0)


def test_an_undo_waits_in_no_other_line_than_any_write(bench: ShardBench) -> None:
    added = bench.apply(Add("one"))
    bench.shard.close(10.0)
    with pytest.raises((UnavailableError, BusyError), match="closed"):
        undo(bench, seq=added.seq)
    bench.open()


def test_a_moment_has_nothing_of_what_is_written_and_not_acknowledged(bench: ShardBench) -> None:
    bench.apply(Add("one"))
    acknowledged = bench.shard.state()
    bench.apply(Add("two"))
    archive = Archive(bench.fs, bench.root, bench.manifest, 0)
    state, _ = archive.moment(ANA, START.replace(year=9999), acknowledged)
    assert [entry.text for entry in state.user(ANA).entries.values()] == ["one"]
    with pytest.raises(InvalidRequestError, match=f"log ends at seq {acknowledged.last_seq}"):
        archive.moment(ANA, acknowledged.last_seq + 1, acknowledged)


def test_a_duplicate_undone_is_no_support_any_more(bench: ShardBench) -> None:
    first = bench.submit("The kiln is blue")
    bench.settle()
    second = bench.submit("The kiln is blue", session="s2")
    bench.settle()
    undo(bench, job_id=second.job_id)
    (key,) = bench.shard.state().user(ANA).entries
    assert dict(bench.shard.state().user(ANA).supports.items()) == {first.turn_ids[0]: (key,)}
    bench.apply(Delete(key))
    assert hits(bench, "kiln blue") == ["The kiln is blue"], "the message of the second stays: it supported nothing"


def test_a_message_that_another_memory_was_drawn_from_stays_when_an_undo_is_undone(bench: ShardBench) -> None:
    receipt = bench.submit("The glaze is on the shelf")
    bench.settle()
    (key,) = bench.shard.state().user(ANA).entries
    undone = undo(bench, seq=bench.apply(Delete(key)).seq)
    bench.apply(Add("There is a shelf", sources=receipt.turn_ids))
    undo(bench, seq=undone.seq)
    assert bench.texts() == ["There is a shelf"]
    assert hits(bench, "glaze") == ["The glaze is on the shelf", "There is a shelf"]


def test_a_message_stays_away_with_the_memory_that_may_not_come_back(bench: ShardBench) -> None:
    bench.submit("The glaze is on the shelf", "The kiln is blue")
    bench.settle()
    deleted = bench.apply(*(Delete(key) for key in bench.shard.state().user(ANA).entries))
    bench.apply(Add("The kiln is blue"))
    undo(bench, seq=deleted.seq)
    assert bench.texts() == ["The glaze is on the shelf", "The kiln is blue"]
    assert hits(bench, "kiln glaze") == ["The glaze is on the shelf", "The glaze is on the shelf", "The kiln is blue"]
