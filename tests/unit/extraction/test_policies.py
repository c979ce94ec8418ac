from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from memoray.config import ALL_OPERATIONS, UpdatePolicy
from memoray.entries import Kind
from memoray.extraction.reconcile import Keep, Repeat, Revise
from memoray.extraction.updates import Recheck, Refuse, Stand, check_update
from memoray.operations import Add, Update
from tests.unit.extraction.known import KNOWN, NOON, entry, verdict

APART = Keep((KNOWN,))
PRESERVE = UpdatePolicy.PRESERVE_HISTORY
DAY = datetime(2025, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("old", "new", "is_enriched"),
    [
        ("Alice manages Bob.", "Bob manages Alice.", False),
        ("Alice manages Bob.", "Alice manages Bob on Team X.", True),
        ("Alice manages Bob.", "Alice manages Bob on Team X since March", False),
        ("User works at A.", "User works at B.", False),
        ("User works at Acme", "User works at Initech now", False),
        ("User likes coffee", "User likes coffee now", False),
        ("The team meets at 4:00 daily", "The team meets at 4 00 daily", False),
        ("User does not eat meat", "User does not not eat meat", False),
        ("Alice called Bob after Bob called Carol.", "Alice called Bob after Bob called Carol at 4pm.", True),
        ("Alice called Bob after Bob called Carol.", "Alice called Bob after Carol called Bob.", False),
        ("Has 2 children", "Has 3 children", False),
    ],
)
def test_preserve_history_only_enriches(old: str, new: str, *, is_enriched: bool) -> None:
    assert isinstance(verdict(old, new, policy=PRESERVE), Revise) is is_enriched


def test_preserve_history_takes_the_finer_time() -> None:
    known = entry("Alice visited Bob on December 1st, 2025.", kind=Kind.EPISODE, event_time=DAY)
    finer = DAY + timedelta(hours=16)
    text = "Alice visited Bob at 4pm on December 1st, 2025."
    got = verdict(known, Add(text, Kind.EPISODE, event_time=finer), policy=PRESERVE)
    assert isinstance(got, Revise)
    assert got.update.event_time == finer
    assert verdict(known, Add(text, Kind.EPISODE, event_time=finer + timedelta(days=1)), policy=PRESERVE) == Keep()


def test_append_only_drops_repeats_and_nothing_else() -> None:
    policy = UpdatePolicy.APPEND_ONLY
    assert isinstance(verdict("existing memory", " EXISTING memory! ", policy=policy), Repeat)
    assert verdict("Has 2 children", "Has 3 children", policy=policy) == Keep()
    assert verdict("Lives in Portland", "Lives in Portland Oregon", policy=policy) == Keep()


def test_merge_similar_merges_behind_the_guards() -> None:
    policy = UpdatePolicy.MERGE_SIMILAR
    merged = verdict("User enjoys long hikes", "User enjoys very lengthy hikes", score=0.7, policy=policy)
    assert isinstance(merged, Revise)
    assert verdict("User enjoys long hikes", "User enjoys very lengthy hikes", score=0.7) == APART
    assert verdict("Works at Google", "Works at Microsoft", policy=policy) == APART
    assert verdict("Weighs 5 kg and swims", "Weighs 6 kg and cycles", policy=policy) == APART


CHANGE = Update(KNOWN, "Has 3 children")


@pytest.mark.parametrize("policy", [UpdatePolicy.SUPERSEDE, UpdatePolicy.MERGE_SIMILAR])
def test_an_extractors_update_stands(policy: UpdatePolicy) -> None:
    assert check_update(CHANGE, entry("Has 2 children"), seen_version=1, policy=policy) == Stand()


def test_an_update_of_what_is_not_there_is_an_add_while_adds_are_on() -> None:
    got = check_update(CHANGE, None)
    assert isinstance(got, Recheck)
    assert got.add == Add("Has 3 children")
    assert isinstance(check_update(CHANGE, None, enabled=frozenset({"update"})), Refuse)
    assert isinstance(check_update(Update(KNOWN, topics=("x",)), None), Refuse)


def test_an_update_of_what_has_moved_on_is_checked_again_as_a_whole() -> None:
    known = replace(
        entry("Has 2 children", topics=("family",), event_time=NOON, location="Rome"), utc_offset_minutes=120
    )
    got = check_update(CHANGE, known, seen_version=2)
    assert isinstance(got, Recheck)
    assert (got.add.topics, got.add.event_time, got.add.location) == (("family",), NOON, "Rome")
    assert got.add.utc_offset_minutes == 120


def test_preserve_history_turns_an_update_that_drops_something_into_an_add() -> None:
    assert isinstance(check_update(CHANGE, entry("Has 2 children"), policy=PRESERVE), Recheck)
    more = Update(KNOWN, "Alice manages Bob on Team X")
    assert check_update(more, entry("Alice manages Bob"), policy=PRESERVE) == Stand()
    assert check_update(Update(KNOWN, topics=("x",)), entry("Has 2 children"), policy=PRESERVE) == Stand()


def test_append_only_and_the_switch_gate_updates_too() -> None:
    known = entry("Has 2 children")
    assert isinstance(check_update(CHANGE, known, policy=UpdatePolicy.APPEND_ONLY), Recheck)
    assert isinstance(check_update(CHANGE, known, enabled=ALL_OPERATIONS - {"update"}), Refuse)
