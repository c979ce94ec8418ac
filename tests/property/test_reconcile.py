from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from memoray.config import ALL_OPERATIONS, UpdatePolicy
from memoray.entries import Entry, EntryId, Kind
from memoray.extraction.guards import facets
from memoray.extraction.reconcile import Candidate, Keep, Repeat, Revise, normal_text, reconcile
from memoray.operations import Add

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PIECES = (
    "User likes lives works at in to from over and a the not never no longer doesn't Google Microsoft Alice Bob A. OR "
    "coffee tea 2 3 two 1.24 4:00 pm 9am $5 -5 2024-05-06 2024-06-05 May 5 was lived rarely \u4e0d \u4e09\u4e2a\u5b69"
    "\u5b50 \u5317\u4eac \U0001f44d kein"
).split()
texts = st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map(" ".join) | st.text(min_size=1, max_size=30)
places = st.sampled_from(["", "Paris", "Rome"])
people = st.sampled_from([(), ("Ann",), ("Ann", "Ben"), ("Ben",)])
times = st.none() | st.datetimes(datetime(2024, 5, 1), datetime(2024, 7, 1), timezones=st.just(UTC))  # noqa: DTZ001
kinds = st.sampled_from(Kind)
scores = st.floats(-1, 1)


@st.composite
def entries(draw: st.DrawFn) -> Entry:
    return Entry(
        EntryId(draw(st.sampled_from("abc"))),
        draw(texts),
        NOON,
        NOON,
        1,
        kind=draw(kinds),
        event_time=draw(times),
        participants=draw(people),
        location=draw(places),
    )


adds = st.builds(Add, text=texts, kind=kinds, event_time=times, participants=people, location=places)
candidates = st.lists(
    st.builds(Candidate, entries(), scores), max_size=3, unique_by=lambda candidate: candidate.entry.id
)
policies = st.sampled_from(UpdatePolicy)


@st.composite
def near_pairs(draw: st.DrawFn) -> tuple[Add, list[Candidate]]:
    """An add whose words are some of a known entry's, in any order: where a wrong repeat would be."""
    known = draw(entries())
    words = known.text.split() or [known.text]
    chosen = draw(st.permutations(words))[: draw(st.integers(1, len(words)))]
    add = Add(" ".join(chosen), known.kind, event_time=draw(times), participants=draw(people), location=draw(places))
    return add, [Candidate(known, draw(scores))]


@given(st.tuples(adds, candidates) | near_pairs(), policies)
def test_a_repeat_has_nothing_that_the_known_one_lacks(case: tuple[Add, list[Candidate]], policy: UpdatePolicy) -> None:
    add, found = case
    got = reconcile(add, found, policy=policy)
    if not isinstance(got, Repeat):
        return
    (known,) = (candidate.entry for candidate in found if candidate.entry.id == got.entry_id)
    if normal_text(add.text) != normal_text(known.text):
        names = {*facets(add.text).names, *facets(known.text).names}
        new, old = facets(add.text, names), facets(known.text, names)
        assert sorted(new.numbers) == sorted(old.numbers)
        assert new.negations == old.negations
        assert new.material <= old.material
    assert add.kind == known.kind
    assert set(add.participants) <= set(known.participants)
    assert add.location in {"", known.location}
    assert add.event_time is None or known.event_time is not None


@given(st.tuples(adds, candidates) | near_pairs())
def test_a_revision_keeps_the_names_and_the_subject_of_the_old_one(case: tuple[Add, list[Candidate]]) -> None:
    add, found = case
    got = reconcile(add, found)
    if isinstance(got, Revise) and got.update.text is not None:
        (known,) = (candidate.entry for candidate in found if candidate.entry.id == got.entry_id)
        names = {*facets(add.text).names, *facets(known.text).names}
        new, old = facets(add.text, names), facets(known.text, names)
        assert old.names <= new.names
        assert not (old.dates and new.dates) or any(date.agrees(other) for date in old.dates for other in new.dates)


@given(st.tuples(adds, candidates), policies, st.sampled_from([ALL_OPERATIONS, ALL_OPERATIONS - {"update"}]))
def test_candidates_in_any_order_give_one_verdict_on_one_of_them(
    case: tuple[Add, list[Candidate]], policy: UpdatePolicy, enabled: frozenset[str]
) -> None:
    add, found = case
    got = reconcile(add, found, policy=policy, enabled=enabled)
    known = {candidate.entry.id for candidate in found}
    assert reconcile(add, found[::-1], policy=policy, enabled=enabled) == got
    assert set(got.related) <= known if isinstance(got, Keep) else got.entry_id in known
    assert "update" in enabled or not isinstance(got, Revise)


@given(adds, policies)
def test_the_same_again_is_always_a_repeat(add: Add, policy: UpdatePolicy) -> None:
    known = Entry(
        EntryId("a"),
        add.text,
        NOON,
        NOON,
        1,
        kind=add.kind,
        event_time=add.event_time,
        participants=add.participants,
        location=add.location,
    )
    assert isinstance(reconcile(add, [Candidate(known, 0.0)], policy=policy), Repeat)
