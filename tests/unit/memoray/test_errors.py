"""Errors cross processes whole."""

from __future__ import annotations

import pickle

import pytest

from memoray import errors
from memoray.errors import (
    BusyError,
    CorruptionError,
    FencedError,
    InvalidRequestError,
    MemorayError,
    OutcomeUnknownError,
    UnavailableError,
)

SPECIAL: dict[type[MemorayError], MemorayError] = {
    BusyError: BusyError("full", retry_after=2.5),
    OutcomeUnknownError: OutcomeUnknownError("lost", request_id="r1"),
    FencedError: FencedError("newer owner", epoch=3, newer_epoch=4),
    CorruptionError: CorruptionError("/a/b", 17, expected="crc 1", found="crc 2"),
}


def all_errors() -> list[type[MemorayError]]:
    return [item for item in vars(errors).values() if isinstance(item, type) and issubclass(item, MemorayError)]


@pytest.mark.parametrize("kind", all_errors(), ids=lambda kind: kind.__name__)
def test_every_error_survives_pickling_with_its_fields(kind: type[MemorayError]) -> None:
    error = SPECIAL.get(kind) or kind("what was wrong")
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(again) is kind
    assert (again.args, vars(again), str(again)) == (error.args, vars(error), str(error))


def test_branches_say_who_must_act() -> None:
    assert issubclass(BusyError, UnavailableError)
    assert not issubclass(CorruptionError, UnavailableError)
    assert not issubclass(InvalidRequestError, UnavailableError)
    assert "/a/b" in str(SPECIAL[CorruptionError])
    assert "17" in str(SPECIAL[CorruptionError])
