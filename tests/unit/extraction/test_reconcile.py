from __future__ import annotations

from datetime import timedelta

import pytest

from memoray.config import ALL_OPERATIONS, UpdatePolicy
from memoray.entries import Kind
from memoray.extraction.reconcile import Candidate, Keep, Repeat, Revise, reconcile, tier
from memoray.operations import Add
from tests.unit.extraction.known import KNOWN, NOON, entry, verdict

APART = Keep((KNOWN,))


@pytest.mark.parametrize(
    ("score", "overlap", "expected"),
    [
        (0.95, 0.0, 2),
        (0.0, 0.80, 2),
        (0.70, 0.0, 1),
        (0.0, 0.50, 1),
        (0.30, 0.20, 0),
        (0.90, 0.0, 2),
        (0.0, 0.70, 2),
        (0.60, 0.0, 1),
        (0.0, 0.40, 1),
        (-1.0, 0.0, 0),
    ],
)
def test_tiers(score: float, overlap: float, expected: int) -> None:
    assert tier(score, overlap) == expected


@pytest.mark.parametrize("score", [0.0, 0.65, 0.95])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The user's production environment runs Go 1.23", "The user's production environment runs Go 1.24"),
        ("Has 2 children", "Has 3 children"),
        ("Meeting at 4:00 pm", "Meeting at 5:00 pm"),
        ("Does not eat meat", "Does eat meat"),
        ("User likes coffee", "User no longer likes coffee"),
        ("User lives in Portland", "Lives in Portland Oregon"),
    ],
)
def test_the_new_wording_replaces_the_old(old: str, new: str, score: float) -> None:
    got = verdict(old, new, score=score)
    assert isinstance(got, Revise)
    assert (got.entry_id, got.update.text) == (KNOWN, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("User's production environment runs Go 1.24", "We upgraded production to Go 1.24"),
        ("Works at Google", "Works at Microsoft"),
        ("User works at A.", "User works at B."),
        ("Alice manages Bob.", "Bob manages Alice."),
        ("Lives in Portland Oregon", "User lives in Portland"),
        ("User likes coffee", "User's brother likes coffee"),
    ],
)
def test_both_are_kept_and_linked(old: str, new: str) -> None:
    assert verdict(old, new) == APART


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Alice went to Paris on 2024-05-01", "Alice went to Paris on 2024-06-02"),
        ("Alice went to Paris on 2024-05-06", "Alice went to Paris on 2024-06-05"),
        ("Ran 5 km on 2024-05-01", "Ran 7 km on 2024-05-08"),
    ],
)
def test_other_dates_are_other_occasions(old: str, new: str) -> None:
    assert verdict(old, new) == Keep()


def test_other_event_times_are_other_occasions() -> None:
    trip = entry("Alice went to Paris", kind=Kind.EPISODE, event_time=NOON)
    assert verdict(trip, Add(trip.text, Kind.EPISODE, event_time=NOON + timedelta(days=32))) == Keep()


def test_the_zone_of_an_event_time_goes_with_it() -> None:
    dated = Add("User likes coffee and tea", event_time=NOON, utc_offset_minutes=120)
    for known in ("User likes coffee", "Likes coffee and tea"):
        got = verdict(known, dated)
        assert isinstance(got, Revise)
        assert got.update.utc_offset_minutes == 120


def test_a_date_in_the_text_is_held_against_an_event_time() -> None:
    race = entry("Ran a race", kind=Kind.EPISODE, event_time=NOON)
    assert verdict(race, Add("Ran a race on 2026-03-08", Kind.EPISODE)) == Keep()


@pytest.mark.parametrize("text", ["  USER likes coffee  ", "User likes coffee.", "User likes\ncoffee!"])
def test_spelling_alone_makes_a_repeat(text: str) -> None:
    assert isinstance(verdict("User likes coffee", text, score=0.0), Repeat)


@pytest.mark.parametrize(("old", "new"), [("User programs in C#.", "User programs in C."), (".NET", "NET")])
def test_inner_punctuation_is_no_spelling(old: str, new: str) -> None:
    assert not isinstance(verdict(old, new), Repeat)


def test_words_in_another_order_are_a_repeat_when_nothing_is_bound_otherwise() -> None:
    got = verdict("User works at Acme as a backend engineer", "Works as a backend engineer at Acme", score=0.0)
    assert isinstance(got, Repeat)


def test_a_part_of_what_is_known_is_a_repeat_only_where_the_two_are_very_close() -> None:
    assert isinstance(verdict("Has a dog and a cat", "Has a dog", score=0.95), Repeat)
    assert verdict("Has a dog and a cat", "Has a dog", score=0.65) == APART


def test_a_repeat_on_any_candidate_wins() -> None:
    better = Candidate(entry("User likes coffee and tea", key="better"), 0.99)
    same = Candidate(entry("User likes coffee", key="same"), 0.1)
    got = reconcile(Add("user likes coffee"), [better, same])
    assert isinstance(got, Repeat)
    assert got.entry_id == "same"


def test_other_people_or_places_are_kept_apart() -> None:
    in_paris = entry("Had dinner", kind=Kind.EPISODE, location="Paris")
    assert verdict(in_paris, Add("Had dinner", Kind.EPISODE, location="Rome")) == APART
    with_ann = entry("Had dinner", kind=Kind.EPISODE, participants=("Ann",))
    assert verdict(with_ann, Add("Had dinner", Kind.EPISODE, participants=("Ben",))) == APART
    ran = entry("Ran 5 km", location="Paris")
    assert verdict(ran, Add("Ran 7 km", location="Rome")) == APART


def test_what_a_repeat_brings_beside_its_text_is_added() -> None:
    known = entry("User likes coffee", topics=("Work", "acme"), participants=("Zoe",))
    add = Add("Likes coffee", topics=("ACME", "engineering"), participants=("ann", "zoe"), location="Rome")
    got = verdict(known, add)
    assert isinstance(got, Revise)
    assert (got.update.text, got.update.topics) == (None, ("Work", "acme", "engineering"))
    assert (got.update.participants, got.update.location) == (("ann", "Zoe"), "Rome")


def test_without_updates_nothing_is_revised() -> None:
    enabled = ALL_OPERATIONS - {"update"}
    assert verdict("Has 2 children", "Has 3 children", enabled=enabled) == APART
    assert isinstance(verdict("Has 2 children", "has 2 children.", enabled=enabled), Repeat)


def test_episodes_never_get_a_new_value() -> None:
    known = entry("Ran 5 km", kind=Kind.EPISODE)
    assert verdict(known, Add("Ran 7 km", Kind.EPISODE)) == APART


def test_nothing_similar_is_simply_added() -> None:
    assert reconcile(Add("User likes tea"), []) == Keep()
    assert verdict("foo bar zap alpha", "foo bar baz quux", score=0.2) == Keep()


@pytest.mark.parametrize("policy", list(UpdatePolicy))
def test_the_order_of_candidates_changes_nothing(policy: UpdatePolicy) -> None:
    candidates = [
        Candidate(entry(text, key=str(place)), 0.7)
        for place, text in enumerate(["Has 2 dogs", "Has 4 dogs", "Has dogs"])
    ]
    add = Add("Has 3 dogs")
    assert reconcile(add, candidates, policy=policy) == reconcile(add, candidates[::-1], policy=policy)
