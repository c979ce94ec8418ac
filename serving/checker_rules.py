"""Checkers as they are written on the command line: `messages > 4 and seconds > 600 or seconds > 86400`. Pure."""

from __future__ import annotations

import re

from memoray.config import AllOf, AnyOf, CheckerRule, Interval, MessageCount
from memoray.errors import InvalidRequestError
from memoray.extraction.checkers import checker_of

_PART = re.compile(r"\s*(messages|seconds)\s*>\s*(\d+(?:\.\d+)?)\s*")


def parse_rule(text: str) -> CheckerRule:
    """The rule that a text describes; `and` binds closer than `or`.

    Raises:
        InvalidRequestError: it is none; says which part is not understood.
    """
    alternatives = [
        [_part(part, text) for part in re.split(r"\band\b", alternative)] for alternative in re.split(r"\bor\b", text)
    ]
    rules = [parts[0] if len(parts) == 1 else AllOf(tuple(parts)) for parts in alternatives]
    rule = rules[0] if len(rules) == 1 else AnyOf(tuple(rules))
    checker_of(rule)
    return rule


def _part(part: str, text: str) -> CheckerRule:
    match = _PART.fullmatch(part)
    if match is None or (match[1] == "messages" and "." in match[2]):
        message = (
            f"{part.strip()!r} in {text!r} is no condition; give 'messages > 4' or 'seconds > 600', joined by and, or"
        )
        raise InvalidRequestError(message)
    return MessageCount(int(match[2])) if match[1] == "messages" else Interval(float(match[2]))


def shown_rule(rule: CheckerRule | None) -> str:
    """A rule as `parse_rule` takes it, in brackets where that has none; "always" for None."""
    match rule:
        case None:
            return "always"
        case MessageCount():
            return f"messages > {rule.more_than}"
        case Interval():
            return f"seconds > {rule.seconds:g}"
        case AllOf():
            return " and ".join(_shown_part(part) for part in rule.checkers) or "always"
        case AnyOf():
            return " or ".join(shown_rule(part) for part in rule.checkers) or "never"


def _shown_part(part: CheckerRule) -> str:
    return f"({shown_rule(part)})" if isinstance(part, AnyOf) else shown_rule(part)
