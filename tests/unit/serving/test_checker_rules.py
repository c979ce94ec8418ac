"""Checkers on the command line."""

from __future__ import annotations

import pytest

from memoray.config import AllOf, AnyOf, CheckerRule, Interval, MessageCount
from memoray.errors import InvalidRequestError
from memoray.serving.checker_rules import parse_rule, shown_rule

RULES = [
    ("messages > 4", MessageCount(4)),
    ("seconds > 0.5", Interval(0.5)),
    ("messages > 4 and seconds > 600", AllOf((MessageCount(4), Interval(600)))),
    (
        "messages > 4 and seconds > 600 or seconds > 86400",
        AnyOf((AllOf((MessageCount(4), Interval(600))), Interval(86400))),
    ),
]


@pytest.mark.parametrize(("text", "rule"), RULES)
def test_a_rule_is_read_and_shown_as_it_is_written(text: str, rule: CheckerRule) -> None:
    assert parse_rule(text) == rule
    assert parse_rule(text.replace(" > ", ">")) == rule
    assert shown_rule(rule) == text


@pytest.mark.parametrize(
    "text", ["", "always", "messages >= 4", "messages > -1", "messages > 1.5", "seconds > x", "messages > 4 or", "and"]
)
def test_what_is_no_condition_is_named(text: str) -> None:
    with pytest.raises(InvalidRequestError, match=r"is no condition; give 'messages > 4'"):
        parse_rule(text)


def test_rules_that_the_command_line_cannot_write_are_shown() -> None:
    assert shown_rule(None) == "always"
    assert shown_rule(AllOf((AnyOf((MessageCount(1), Interval(2))), Interval(3)))) == (
        "(messages > 1 or seconds > 2) and seconds > 3"
    )
    assert (shown_rule(AllOf(())), shown_rule(AnyOf(()))) == ("always", "never")
