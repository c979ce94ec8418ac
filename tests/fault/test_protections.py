"""A protection taken away is noticed: by the driver, or by what is checked after it. The log's own are with the log."""

from __future__ import annotations

from pathlib import Path

import pytest

from memoray.engine import base, change, seal, submit
from memoray.requests import SearchRequest
from tests.support.driver import USERS, Command, Driver, commands

REPEATING = next(seed for seed in range(100) if [each.what for each in commands(seed)].count("repeat") > 3)


def forget(*_: object) -> None:
    """Know of no request."""


def prefix_of_all(*_: object) -> str:
    """One prefix for everybody's terms."""
    return "everybody:"


def drive(store: Path, seed: int) -> Driver:
    driver = Driver(str(store))
    for command in commands(seed):
        driver.run(command)
    return driver


ADDS = [Command(number, "add", USERS[number % 2]) for number in range(24)]


def found_by_others(store: Path) -> list[str]:
    """What each user finds by words that only the other has, in a sealed index."""
    driver = Driver(str(store))
    for command in ADDS:
        driver.run(command)
    assert driver.bench.shard.seal(20.0)
    found: list[str] = []
    for command in ADDS:
        other = next(user for user in USERS if user != command.user)
        request = SearchRequest(other, f"alpha{command.number}")
        found += [key for leg in driver.bench.shard.find(request, None).legs for key in leg.ids]
    driver.check()
    return found


def test_with_all_protections_the_driver_is_content(tmp_path: Path) -> None:
    drive(tmp_path / "repeats", REPEATING).check()
    assert found_by_others(tmp_path / "terms") == []


def test_without_the_window_of_requests_a_repeat_takes_effect_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (change, submit):
        monkeypatch.setattr(module, "answer_of_repeat", forget)
    with pytest.raises(AssertionError, match="a repeat was told something else"):
        drive(tmp_path, REPEATING)


def test_without_terms_of_their_own_users_find_each_others_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (base, seal):
        monkeypatch.setattr(module, "keyword_prefix", prefix_of_all)
    with pytest.raises((AssertionError, IndexError, ValueError)):
        assert found_by_others(tmp_path) == []
