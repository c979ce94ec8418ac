from __future__ import annotations

import pytest

from memoray.extraction.guards import (
    differ_only_in_values,
    facets,
    is_reordered,
    keeps_everything,
    names_conflict,
    says_nothing_beyond,
)


def test_a_text_is_taken_apart_by_class() -> None:
    found = facets("User never ran 5 km with Bob on 2024-05-01 for $20")
    assert found.numbers == ("5", "20")
    assert found.negations == 1
    assert [date.parts for date in found.dates] == [("year 2024", "month 5", "day 1")]
    assert found.names == {"bob"}
    assert found.symbols == {"$"}
    assert set(found.rest) == {"ran", "km"}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("two children", ("2",)),
        ("met twice", ("2x",)),
        ("at 9 pm", ("9pm",)),
        ("at 9pm", ("9pm",)),
        ("it is -5 outside", ("-5",)),
        ("GPT-4 and 3-5", ("4", "3-5")),
        ("v1.24", ("1.24",)),
        ("\u6709\u4e24\u4e2a\u5b69\u5b50", ("2",)),
        ("\u4e00\u8d77\u53bb", ()),
    ],
)
def test_numbers(text: str, numbers: tuple[str, ...]) -> None:
    assert facets(text).numbers == numbers


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Works at Google", {"google"}),
        ("Google hired Bob", {"bob"}),
        ("Works at A.", {"A"}),
        ("Lives in Portland, OR", {"portland", "OR"}),
        ("Eats a lot", set[str]()),
    ],
)
def test_names(text: str, names: set[str]) -> None:
    assert facets(text).names == names


def test_a_known_name_is_one_wherever_it_stands() -> None:
    assert facets("google hired him", ["Google"]).names == {"google"}
    assert facets("\u6211\u4f4f\u5728\u5317\u4eac", ["\u5317\u4eac"]).names == {"\u5317\u4eac"}


VALUES = [
    ("Runs Go 1.23", "Runs Go 1.24"),
    ("Has two children", "Has 3 children"),
    ("Does not eat meat", "Does eat meat"),
    ("Eats meat", "Doesn't eat meat"),
    ("Can swim", "Can't swim"),
    ("Likes coffee", "No longer likes coffee"),
    ("Likes coffee", "Does not like coffee any more"),
    ("Flies at 9am", "Flies at 9pm"),
    ("Has 3 cats and 2 dogs", "Has 2 cats and 3 dogs"),
]


@pytest.mark.parametrize(("old", "new"), VALUES)
def test_values_differ(old: str, new: str) -> None:
    assert differ_only_in_values(facets(new), facets(old))
    assert differ_only_in_values(facets(old), facets(new))


NOT_ONLY_VALUES = [
    ("Has 2 children", "Has 2 children"),
    ("Has 2 children", "Has 3 dogs"),
    ("Sam has 2 dogs", "The neighbour of Tom has 3 dogs"),
    ("Had 2 jobs and worked 5 days", "Has 2 jobs and works 6 days"),
    ("Prefers 2 teas over coffee", "Prefers 3 coffee over teas"),
    ("5", "6"),
]


@pytest.mark.parametrize(("old", "new"), NOT_ONLY_VALUES)
def test_more_than_values_differ(old: str, new: str) -> None:
    assert not differ_only_in_values(facets(new), facets(old))


SAFE = [
    ("User works at Acme as a backend engineer", "Works as a backend engineer at Acme"),
    ("Went from Paris to Rome", "Went to Rome from Paris"),
    ("Has a dog and a cat", "Has a dog"),
    ("Meeting on 5 May 2024", "Meeting on 2024-05-05"),
    ("Uses v1.2", "Uses 1.2"),
]
LOSSES = [
    ("Lives in Portland", "Lived in Portland"),
    ("Was married to Ann", "Is married to Ann"),
    ("Prefers tea over coffee", "Prefers coffee over tea"),
    ("Has 3 cats and 2 dogs", "Has 3 dogs and 2 cats"),
    ("Alice likes coffee", "Likes coffee"),
    ("Alice is managed by Bob", "Alice manages Bob"),
    ("Went from the shop", "Went to the shop"),
    ("Eats meat rarely", "Eats meat"),
    ("Costs $5", "Costs \u20ac5"),
    ("It was -5", "It was 5"),
    ("\U0001f44d", "\U0001f44e"),
    ("Works at B.", "Works at A."),
    ("Lives in Portland Oregon", "Lives in Portland"),
    ("\u6211\u60f3\u53bb\u5317\u4eac", "\u6211\u53bb\u5317\u4eac"),
    ("Ich esse kein Fleisch", "Ich esse Fleisch"),
]


@pytest.mark.parametrize(("old", "new"), SAFE)
def test_dropping_it_loses_nothing(old: str, new: str) -> None:
    assert says_nothing_beyond(facets(new), facets(old))


@pytest.mark.parametrize(("old", "new"), LOSSES)
def test_dropping_it_would_lose_something(old: str, new: str) -> None:
    assert not says_nothing_beyond(facets(new), facets(old))


def test_of_numbers_and_names_none_may_be_missing_though_nothing_new_is_said() -> None:
    assert not says_nothing_beyond(facets("Has 2 dogs"), facets("Has 2 dogs and 2 cats"))
    assert not says_nothing_beyond(facets("Met Bob"), facets("Met Bob and Carol"))


@pytest.mark.parametrize(
    ("old", "new", "is_kept"),
    [
        ("User lives in Portland", "Lives in Portland Oregon", True),
        ("Alice manages Bob.", "Alice manages Bob on Team X.", True),
        ("Meeting on 5 May", "Meeting on 5 May 2024 with Bob", True),
        ("Likes coffee", "User's brother likes coffee", False),
        ("Lives in Portland Oregon", "Lives in Portland", False),
        ("Met Bob on 5 May 2024", "Met Bob on 5 May at noon", False),
    ],
)
def test_what_a_new_wording_keeps(old: str, new: str, *, is_kept: bool) -> None:
    assert keeps_everything(facets(new), facets(old)) is is_kept


def test_who_does_what_to_whom_counts() -> None:
    names = ["Alice", "Bob"]
    assert is_reordered(facets("Alice manages Bob", names), facets("Bob manages Alice", names))
    assert names_conflict(facets("Works at Microsoft"), facets("Works at Google"))
