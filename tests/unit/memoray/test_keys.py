"""User keys never meet: the encoding is injective, slots are spread and fixed."""

from __future__ import annotations

from collections import Counter

import pytest

from memoray.engine.ids import request_hash, turn_id_of_content, turn_id_of_message
from memoray.entries import Kind, identity_of
from memoray.keys import SLOTS_COUNT, UserKey, shard_of, shard_of_slot, slot_of


@pytest.mark.parametrize(
    ("one", "other"),
    [(("a:b", "c"), ("a", "b:c")), (("ab", "c"), ("a", "bc")), (("a", "u "), ("a", "u")), (("A", "u"), ("a", "u"))],
)
def test_keys_that_joined_strings_would_confuse(one: tuple[str, str], other: tuple[str, str]) -> None:
    first, second = UserKey(*one), UserKey(*other)
    assert first != second
    assert request_hash(first, "r") != request_hash(second, "r")
    assert turn_id_of_message(first, "s", "m") != turn_id_of_message(second, "s", "m")


def test_slots_are_fixed_for_ever() -> None:
    """They decide in which log a user's past lies; a change would lose it."""
    assert [slot_of(UserKey("app", f"user-{number}")) for number in range(5)] == [1867, 1147, 2316, 1601, 3390]


def test_every_shard_has_its_share_of_the_slots() -> None:
    for count in (1, 3, 7, 64, SLOTS_COUNT):
        shares = Counter(shard_of_slot(slot, count) for slot in range(SLOTS_COUNT))
        assert set(shares) == set(range(count))
        assert max(shares.values()) - min(shares.values()) <= 1
    users = Counter(shard_of(UserKey("app", f"u{number}"), 8) for number in range(4000))
    assert min(users.values()) > 350


def test_an_identity_tells_all_its_parts_apart() -> None:
    base = ("text", Kind.FACT, None, ("A", "B"), "Oslo")
    others = [
        ("text.", Kind.FACT, None, ("A", "B"), "Oslo"),
        ("text", Kind.EPISODE, None, ("A", "B"), "Oslo"),
        ("text", Kind.FACT, None, ("A,B",), "Oslo"),
        ("text", Kind.FACT, None, ("A", "B"), ""),
        ("text", Kind.FACT, None, ("B",), "A"),
    ]
    assert len({identity_of(*parts) for parts in [base, *others]}) == len(others) + 1


def test_equal_messages_are_told_apart_by_their_ordinal() -> None:
    user = UserKey("a", "u")
    assert turn_id_of_content(user, "s", "user", "yes", None, 0) != turn_id_of_content(
        user, "s", "user", "yes", None, 1
    )
