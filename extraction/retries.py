"""When to ask a service again, and after how long. Pure."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIMEOUT, _CONFLICT, _TOO_MANY, _SERVER_ERRORS = 408, 409, 429, 500


class UnreadableAnswerError(Exception):
    """The body of an answer is not what was asked for; the next may be."""


class RetryRule(msgspec.Struct, frozen=True):
    """How often a request is sent, and how long between.

    Attributes:
        attempts_max: how often it is sent at most.
        wait_seconds: after the first failure; doubles with each further one.
        wait_seconds_max: bound of that wait.
    """

    attempts_max: int = 4
    wait_seconds: float = 0.5
    wait_seconds_max: float = 8.0

    def wait(self, failures: int, retry_after: float | None, draw: float) -> float:
        """Seconds to wait after that many failures, from 1; never less than what the service asked for.

        Args:
            failures: so far.
            retry_after: seconds that the service asked for; None: it did not.
            draw: chance, from 0 to 1: callers that failed together come back apart.
        """
        longest = min(self.wait_seconds_max, self.wait_seconds * 2.0 ** (failures - 1))
        if retry_after is None:
            return longest * (1 + draw) / 2
        return retry_after + self.wait_seconds * draw


def is_passing(status: int) -> bool:
    """Whether a refusal with this HTTP status may be gone the next time."""
    return status in {_TIMEOUT, _CONFLICT, _TOO_MANY} or status >= _SERVER_ERRORS


def retry_after_seconds(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds that a service asks to wait for: `retry-after-ms`, or `retry-after` in seconds or as a date.

    Args:
        headers: of its answer, names in lower case.
        now: aware.

    Returns:
        Not below 0; None where nothing readable is asked for.
    """
    for name, unit_seconds in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit_seconds
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        until = parsedate_to_datetime(headers.get("retry-after", ""))
    except ValueError:
        return None
    # RFC 9110: always in GMT; a date that does not say so is read so.
    aware = until if until.tzinfo is not None else until.replace(tzinfo=UTC)
    return max(0.0, (aware - now).total_seconds())
