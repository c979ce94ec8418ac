"""When a delta is extracted: strictly more messages, strictly longer ago, all of, any of."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from memoray.config import AllOf, AnyOf, CheckerRule, EngineConfig, Interval, MessageCount
from memoray.errors import CheckerFailedError, InvalidRequestError
from memoray.extraction.checkers import ask, checker_of
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.protocols import Check

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
YES, NO = MessageCount(0), MessageCount(1000)


def check(count: int = 1, *, last: datetime | None = None, now: datetime = NOON) -> Check:
    turns = tuple(Turn(TurnId(f"t{n}"), "s", n, "user", "hi", NOON, NOON) for n in range(count))
    return Check(UserKey("app", "ana"), "s", turns, last, now)


def says(rule: CheckerRule, shown: Check) -> bool:
    return checker_of(rule)(shown)


@pytest.mark.parametrize(("count", "expected"), [(0, False), (2, False), (3, True)])
def test_a_message_count_is_passed_strictly(count: int, expected: bool) -> None:
    assert says(MessageCount(2), check(count)) is expected


def test_an_interval_is_passed_strictly_and_a_session_never_extracted_always() -> None:
    tick = timedelta(microseconds=1)
    minute = timedelta(seconds=60)
    assert says(Interval(60), check(last=None))
    assert not says(Interval(60), check(last=NOON - minute))
    assert says(Interval(60), check(last=NOON - minute - tick))
    assert not says(Interval(60), check(last=NOON))
    assert says(Interval(0), check(last=NOON - tick))
    assert not says(Interval(0), check(last=NOON))


@pytest.mark.parametrize(
    ("parts", "of_all", "of_any"),
    [
        ((), True, False),
        ((YES,), True, True),
        ((NO,), False, False),
        ((YES, NO), False, True),
        ((NO, NO), False, False),
    ],
)
def test_all_of_none_is_yes_and_any_of_none_is_no(parts: tuple[CheckerRule, ...], of_all: bool, of_any: bool) -> None:
    assert says(AllOf(parts), check()) is of_all
    assert says(AnyOf(parts), check()) is of_any
    assert says(AnyOf((AllOf(parts), NO)), check()) is of_all
    assert says(AllOf((AnyOf(parts), YES)), check()) is of_any


def test_without_a_checker_the_answer_is_yes() -> None:
    assert ask(None, check(0))


@pytest.mark.parametrize(
    "rule",
    [
        MessageCount(-1),
        Interval(-0.5),
        Interval(float("nan")),
        Interval(float("inf")),
        AllOf((AnyOf((MessageCount(-1),)),)),
    ],
)
def test_a_rule_that_cannot_be_is_refused_with_its_number(rule: CheckerRule) -> None:
    with pytest.raises(InvalidRequestError, match=r"give 0 or more"):
        checker_of(rule)


def test_rules_cross_processes_in_the_config() -> None:
    rule = AnyOf((AllOf((MessageCount(4), Interval(600.0))), Interval(86400.0)))
    config = EngineConfig(checker=rule)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(config), type=EngineConfig) == config
    assert msgspec.json.decode(msgspec.json.encode(config), type=EngineConfig) == config


def test_what_a_checker_raises_is_the_cause_of_a_refusal() -> None:
    def broken(_check: Check) -> bool:
        raise KeyError("colour")

    with pytest.raises(CheckerFailedError, match=r"raised KeyError: 'colour'; nothing was accepted") as failed:
        ask(broken, check())
    assert isinstance(failed.value.__cause__, KeyError)
