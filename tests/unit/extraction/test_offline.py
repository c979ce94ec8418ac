"""The offline extractor: what becomes a memory, of what kind, with whom, where and when, and what it changes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from memoray.entries import Entry, EntryId, Kind, Precision
from memoray.extraction.names import people_in, place_in, topics_in
from memoray.extraction.offline import OfflineExtractor
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.operations import Add, Operation, Update
from memoray.protocols import ExtractionRequest
from memoray.validation import normalise_operation

NOON = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)


def turn(text: str, role: str = "user", name: str | None = None) -> Turn:
    return Turn(TurnId(f"t-{text[:8]}"), "s", 0, role, text, NOON, NOON, name=name)


def fact(text: str, number: int = 1, kind: Kind = Kind.FACT) -> Entry:
    return Entry(EntryId(f"m{number}"), text, NOON, NOON, number, kind=kind, version=2)


def extract(*turns: Turn, known: Sequence[Entry] = ()) -> list[Operation]:
    request = ExtractionRequest(UserKey("a", "u"), "s", turns, tuple(known), NOON, 30.0)
    return list(OfflineExtractor().extract(request).operations)


def only_add(text: str, **more: str) -> Add:
    operations = extract(turn(text, **more))
    assert len(operations) == 1
    operation = operations[0]
    assert isinstance(operation, Add)
    assert normalise_operation(operation) == operation
    return operation


def test_a_dated_event_is_an_episode_with_its_people_and_place() -> None:
    add = only_add("I went hiking in the Dolomites with my friend Lena last weekend.")
    assert add.text == "User: I went hiking in the Dolomites with my friend Lena last weekend (14 March 2026)."
    assert (add.kind, add.event_time, add.event_precision) == (
        Kind.EPISODE,
        datetime(2026, 3, 14, tzinfo=UTC),
        Precision.DAY,
    )
    assert (add.participants, add.location) == (("Lena",), "Dolomites")
    assert add.sources == ("t-I went h",)


def test_a_date_with_its_year_is_left_as_it_was_said() -> None:
    add = only_add("The certificate for the Frankfurt data centre was rotated on 12 March 2026.")
    assert add.text.endswith("on 12 March 2026.")
    assert add.location == ""


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I like green tea.", Kind.FACT),
        ("Production runs Go 1.24.", Kind.FACT),
        ("I have worked at Acme since 2019.", Kind.FACT),
        ("I was a teacher for years.", Kind.FACT),
        ("I ran 5 km and felt great.", Kind.EPISODE),
        ("We sold the boat to a neighbour.", Kind.EPISODE),
        ("I fly to Rome tomorrow.", Kind.EPISODE),
    ],
)
def test_kinds(text: str, kind: Kind) -> None:
    assert only_add(text).kind is kind


def test_named_speakers_are_people_whatever_their_role_and_unnamed_assistants_say_nothing() -> None:
    named = only_add("I adopted a cat yesterday.", role="assistant", name="Kim")
    assert (named.text, named.participants) == ("Kim: I adopted a cat yesterday (17 March 2026).", ("Kim",))
    assert extract(turn("Your flight leaves at nine from gate four.", role="assistant")) == []


def test_a_from_to_gives_a_known_fact_its_new_value_and_is_remembered_itself() -> None:
    known = [fact("User: Our production environment runs Go 1.23 and PostgreSQL 16.")]
    update, add = extract(turn("We upgraded production from Go 1.23 to Go 1.24 last Thursday."), known=known)
    assert isinstance(update, Update)
    assert (update.entry_id, update.text, update.seen_version) == (
        "m1",
        "User: Our production environment runs Go 1.24 and PostgreSQL 16.",
        2,
    )
    assert isinstance(add, Add)
    assert add.kind is Kind.EPISODE


@pytest.mark.parametrize(
    "known",
    [
        "User: The staging cluster runs Go 1.23.",  # no shared word but the value
        "User: Our production environment runs Go 1.230.",
        "User: Our production environment runs Go 1.23.1.",
        "User: Our production environment runs Rust.",
    ],
)
def test_a_from_to_leaves_other_facts_alone(known: str) -> None:
    operations = extract(turn("We upgraded production from Go 1.23 to Go 1.24."), known=[fact(known)])
    assert [type(operation) for operation in operations] == [Add]


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("My favourite editor is Helix now.", "User: My favourite editor is Vim."),
        ("I don't drink coffee any more, I switched to tea.", "User: I drink coffee every morning."),
        ("I stopped eating meat at lunch.", "User: I am eating meat at lunch."),
    ],
)
def test_a_slot_and_an_end_take_the_place_of_what_was_said_before(said: str, known: str) -> None:
    operations = extract(turn(said), known=[fact(known)])
    assert [type(operation) for operation in operations] == [Update]
    assert operations[0].text == f"User: {said}"  # type: ignore[union-attr]  # an Update


@pytest.mark.parametrize(
    ("said", "known"),
    [
        ("My favourite editor is Helix now.", "User: My favourite colour is green."),
        ("My favourite editor is Helix now.", "Kim: My favourite editor is Vim."),
        ("I don't drink coffee any more.", "User: I drink tea every morning."),
        ("I don't drink coffee after noon.", "User: I drink coffee every morning."),
    ],
)
def test_what_is_about_something_or_someone_else_is_added(said: str, known: str) -> None:
    assert [type(operation) for operation in extract(turn(said), known=[fact(known)])] == [Add]


def test_an_episode_is_never_rewritten() -> None:
    known = [fact("User: My favourite editor was set to Vim, my favourite editor is Vim", kind=Kind.EPISODE)]
    assert [type(item) for item in extract(turn("My favourite editor is Helix now."), known=known)] == [Add]


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("I had lunch with Ana and Ben.", ["Ana", "Ben"]),
        ("Ines and I went sailing.", ["Ines"]),
        ("I met my old boss Karl.", ["Karl"]),
        ("I went with my sister on Monday.", []),
        ("We visited Lisbon with Zoe Ito.", ["Zoe Ito"]),
    ],
)
def test_people(text: str, people: list[str]) -> None:
    assert sorted(people_in(text)) == sorted(people)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("I live in New York.", "New York"),
        ("We flew to Rio de Janeiro.", "Rio de Janeiro"),
        ("We upgraded to Go 1.24.", ""),
        ("I wrote it in Python.", ""),
        ("We met in March.", ""),
        ("I stayed in bed.", ""),
    ],
)
def test_places(text: str, place: str) -> None:
    assert place_in(text) == place


def test_topics_are_names_terms_and_longer_words() -> None:
    assert topics_in("We upgraded production from Go 1.23 to Go 1.24 on PostgreSQL.", []) == [
        "Go 1.23",
        "Go 1.24",
        "PostgreSQL",
        "upgraded",
        "production",
    ]
    assert topics_in("Kim likes it.", ["Kim"]) == []
