"""A whole transcript laid beside what is known of its session: by id, else by role and text at the same place."""

from __future__ import annotations

import pytest

from memoray.errors import InvalidRequestError
from memoray.messages import Message
from tests.support.desk import NOON, Desk, user


def test_a_whole_transcript_adds_what_is_beyond_the_known_beginning() -> None:
    desk = Desk()
    desk.submit(user("one"), Message("assistant", "two"))
    receipt = desk.submit(user("one"), Message("assistant", "two"), user("one"), whole=True)
    assert (receipt.known, desk.texts()) == (2, ["one", "two", "one"])
    assert desk.submit(user("one"), whole=True).status == "nothing_new"


def test_a_transcript_that_diverges_is_refused_with_the_position() -> None:
    desk = Desk()
    desk.submit(user("one"), user("two"))
    with pytest.raises(InvalidRequestError, match="at kept message 1: known user 'two', given user 'three'"):
        desk.submit(user("one"), user("three"), whole=True)
    assert desk.texts() == ["one", "two"]


def test_a_transcript_of_mixed_ids_is_laid_beside_what_is_known() -> None:
    desk = Desk()
    desk.submit(user("one", id="a"), user("two"), user("three", id="c"))
    receipt = desk.submit(
        user("one, corrected", id="a"),
        user("two"),
        user("three", id="c"),
        user("four"),
        user("five", id="e"),
        whole=True,
    )
    assert (receipt.known, desk.texts()) == (3, ["one", "two", "three", "four", "five"])


def test_a_message_that_has_got_an_id_since_is_the_one_that_had_none() -> None:
    desk = Desk()
    desk.submit(user("one"), user("two"))
    assert desk.submit(user("one", id="a"), user("two", id="b"), whole=True).status == "nothing_new"
    assert desk.submit(user("one", id="a"), user("two", id="b"), user("three", id="c"), whole=True).known == 2
    assert desk.texts() == ["one", "two", "three"]


def test_a_transcript_without_ids_finds_the_messages_that_had_them() -> None:
    desk = Desk()
    desk.submit(user("one", id="a"), user("two", id="b"))
    desk.submit(user("one"), user("two"), user("three"), whole=True)
    assert desk.texts() == ["one", "two", "three"]


def test_mixed_ids_diverge_where_a_message_without_one_differs() -> None:
    desk = Desk()
    desk.submit(user("one", id="a"), user("two"), user("three"))
    with pytest.raises(InvalidRequestError, match="at kept message 1: known user 'two', given user 'three'"):
        desk.submit(user("one", id="a"), user("three"), whole=True)
    assert desk.texts() == ["one", "two", "three"]


def test_a_new_id_in_the_middle_of_a_transcript_is_a_new_message() -> None:
    desk = Desk()
    desk.submit(user("one", id="a"), user("three", id="c"))
    receipt = desk.submit(user("one", id="a"), user("two", id="b"), user("three", id="c"), whole=True)
    assert (receipt.known, desk.texts()) == (2, ["one", "three", "two"])


def test_the_same_said_again_at_the_same_time_is_new_in_a_longer_transcript() -> None:
    desk = Desk()
    said = user("yes", timestamp=NOON)
    desk.submit(said, whole=True)
    desk.submit(said, said, whole=True)
    desk.submit(said, said, said, whole=True)
    assert desk.texts() == ["yes", "yes", "yes"]
    assert desk.submit(said, said, whole=True).status == "nothing_new"
