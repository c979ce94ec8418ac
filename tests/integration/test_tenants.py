"""Every way to read, as one user with what belongs to another: nothing comes back. And what is deleted is nowhere.

A new public method of `Memory` has to be named here, or the first test fails: a path that nobody looks at is where
tenants leak and deleted memories come back.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

import memoray
from memoray.engine.embedded import EmbeddedMemory
from memoray.engine.memory import Memory
from memoray.entries import Kind
from memoray.errors import NotFoundError
from memoray.keys import UserKey
from memoray.messages import Message
from tests.support.moody import MoodyEmbedder
from tests.support.shards import START, ScriptedExtractor

ANA = UserKey("app", "ana")
BEN = UserKey("app", "ben")
SENTENCE = "The vault code is kept by the harbour master"
PRIVATE = "Only Ana knows the word Quetzalcoatlus"

# What changes something, and is refused or does nothing to what belongs to another: see the tests below.
WRITES = {"submit", "submit_session", "add", "update", "delete", "clear", "apply", "undo"}
NEITHER = {"close"}

FOREVER = START.replace(year=9999)

Probe = Callable[[Memory, UserKey, str], object]


def search(**options: object) -> Probe:
    """A search for all that there is to say."""
    queries = [SENTENCE, PRIVATE]
    return lambda memory, user, _key: memory.search(user, queries, limit=100, **options)  # type: ignore[arg-type]


def history(memory: Memory, user: UserKey, key: str) -> object:
    with contextlib.suppress(NotFoundError):
        return memory.history(user, key)
    return None


def next_pages(memory: Memory, user: UserKey, _key: str) -> object:
    pages = [memory.search(user, SENTENCE, limit=1)]
    while pages[-1].next_page:
        pages.append(memory.search(user, SENTENCE, limit=1, page=pages[-1].next_page))
    return pages


READS: dict[str, dict[str, Probe]] = {
    "search": {
        "one query": lambda memory, user, _key: memory.search(user, PRIVATE, limit=100),
        "several queries": search(),
        "without dedupe": search(dedupe=False, explain=True),
        "vector only": search(hybrid=False),
        "memories only": search(turns=False),
        "kind fallback": search(kind=Kind.EPISODE, kind_fallback=True),
        "no fallback": search(kind=Kind.FACT, kind_fallback=False),
        "of the sessions": search(sessions=("s1", "s2")),
        "recorded since": search(recorded_after=START - timedelta(days=9999)),
        "by event time": search(order_by_event_time=True, event_after=START - timedelta(days=9999)),
        "page by page": next_pages,
        "as of now": search(as_of=FOREVER),
    },
    "read": {
        "all": lambda memory, user, _key: memory.read(user),
        "most recent": lambda memory, user, _key: memory.read(user, 5),
        "as of now": lambda memory, user, _key: memory.read(user, as_of=FOREVER),
    },
    "preload": {
        "all": lambda memory, user, _key: memory.preload(user, limit=-1),
        "what fits": lambda memory, user, _key: memory.preload(user, PRIVATE, limit=1),
        "most recent": lambda memory, user, _key: memory.preload(user, "", limit=1),
        "as of now": lambda memory, user, _key: memory.preload(user, PRIVATE, limit=1, as_of=FOREVER),
    },
    "history": {"by id": history},
    "status": {"of the user": lambda memory, user, _key: memory.status(user)},
    "wait": {"of the user": lambda memory, user, _key: memory.wait(user, 20.0)},
}

PATHS = [(f"{name}, {how}", probe) for name, ways in READS.items() for how, probe in ways.items()]


@pytest.fixture(params=["with vectors", "by words alone"])
def memory(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[EmbeddedMemory]:
    """Both users said and hold the same sentence, in a session of the same name; Ana's has a secret in it beside."""
    embedder = MoodyEmbedder()
    with memoray.open(tmp_path / "store", embedder=embedder, extractor=ScriptedExtractor()) as opened:
        for user, texts in ((ANA, [SENTENCE, PRIVATE]), (BEN, [SENTENCE])):
            opened.submit(
                user, "s1", [Message("user", text, id=f"m{n}", timestamp=START) for n, text in enumerate(texts)]
            )
            opened.wait(user, 20.0)
        embedder.mood = "down" if request.param == "by words alone" else "well"
        yield opened


def ids_of(memory: Memory, user: UserKey) -> set[str]:
    answer = memory.read(user)
    return {entry.id for entry in answer.entries} | set(answer.sources)


def shown(answer: object) -> str:
    return msgspec.json.encode(answer).decode()


def test_every_public_method_is_looked_at_here() -> None:
    public = {name for name in dir(Memory) if not name.startswith("_")}
    assert public == WRITES | NEITHER | READS.keys(), "name a new method in READS (with its ways to be asked) or WRITES"


def test_f25_nothing_of_one_user_is_read_as_another(memory: EmbeddedMemory) -> None:
    theirs = ids_of(memory, ANA)
    assert len(theirs) == 4
    key = next(entry.id for entry in memory.read(ANA).entries if entry.text == PRIVATE)
    assert "Quetzalcoatlus" in shown(memory.search(ANA, PRIVATE))
    for name, probe in PATHS:
        got = shown(probe(memory, BEN, key))
        assert "Quetzalcoatlus" not in got, name
        assert not [one for one in theirs if one in got], name


def test_f25_nothing_of_one_user_is_changed_as_another(memory: EmbeddedMemory) -> None:
    before = memory.read(ANA)
    for entry in before.entries:
        assert memory.update(BEN, entry.id, text="x").status == "refused"
        assert memory.delete(BEN, entry.id).status == "refused"
    memory.submit(BEN, "s1", [Message("user", "something else", id="m7", timestamp=START)])
    memory.wait(BEN, 20.0)
    for seq in {entry.seq for entry in before.entries}:
        with pytest.raises(NotFoundError):
            memory.undo(BEN, seq=seq)
    memory.clear(BEN)
    after = memory.read(ANA)
    assert (after.entries, after.sources) == (before.entries, before.sources)
    assert memory.read(BEN).entries == ()


@pytest.mark.parametrize("how", ["deleted", "cleared", "updated and deleted"])
def test_f40_what_is_gone_is_gone_from_every_read(memory: EmbeddedMemory, how: str) -> None:
    known = memory.read(ANA).entries
    entry = next(entry for entry in known if entry.text == PRIVATE)
    gone = {entry.id, *entry.sources}
    match how:
        case "deleted":
            memory.delete(ANA, entry.id)
        case "cleared":
            gone = {key for entry in known for key in (entry.id, *entry.sources)}
            memory.clear(ANA)
        case _:
            memory.update(ANA, entry.id, text="Ana knows a word")
            memory.delete(ANA, entry.id)
    for name, probe in PATHS:
        if probe is history:
            continue  # which is what is left
        got = shown(probe(memory, ANA, entry.id))
        assert "Quetzalcoatlus" not in got, name
        assert not [key for key in gone if key in got], name
