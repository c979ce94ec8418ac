"""When a delta is extracted: the checkers that can be written down as rules, as functions. Pure.

A checker sees the user key, the delta and the time of the session's last extraction, and says yes or no. No loses
nothing: the messages stay pending, and the next check sees them too. Without a checker the answer is yes.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from memoray.config import AllOf, AnyOf, CheckerRule, Interval, MessageCount
from memoray.errors import CheckerFailedError, InvalidRequestError

if TYPE_CHECKING:
    from memoray.protocols import Check, Checker


def checker_of(rule: CheckerRule) -> Checker:
    """The checker that a rule describes.

    Raises:
        InvalidRequestError: a number in it is below 0 or no number.
    """
    _check_rule(rule)
    return functools.partial(_follows_rule, rule)


def _check_rule(rule: CheckerRule) -> None:
    match rule:
        case MessageCount():
            if rule.more_than < 0:
                message = f"a checker for more than {rule.more_than} messages; give 0 or more"
                raise InvalidRequestError(message)
        case Interval():
            if not 0 <= rule.seconds < math.inf:
                message = f"a checker for an interval of {rule.seconds} s; give 0 or more"
                raise InvalidRequestError(message)
        case AllOf() | AnyOf():
            for part in rule.checkers:
                _check_rule(part)


def _follows_rule(rule: CheckerRule, check: Check) -> bool:
    match rule:
        case MessageCount():
            return len(check.turns) > rule.more_than
        case Interval():
            last = check.extracted_at
            return last is None or (check.now - last).total_seconds() > rule.seconds
        case AllOf():
            return all(_follows_rule(part, check) for part in rule.checkers)
        case AnyOf():
            return any(_follows_rule(part, check) for part in rule.checkers)


def ask(checker: Checker | None, check: Check) -> bool:
    """What a checker says; without one, yes.

    Raises:
        CheckerFailedError: it raised; its error is the cause.
    """
    if checker is None:
        return True
    try:
        return bool(checker(check))
    except Exception as error:  # the host's own code: whatever it raises is an answer to the host
        message = f"the checker raised {type(error).__name__}: {error}; nothing was accepted"
        raise CheckerFailedError(message) from error
