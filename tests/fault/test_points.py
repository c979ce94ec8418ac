"""Killed, or refused by the disk, at every named point of the write path: a dictionary says what must be left."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoray.errors import MemorayError
from memoray.points import POINTS, install
from tests.support.driver import Driver, acknowledged, assert_files_keep, at, commands, fail, finish

REPOSITORY = Path(__file__).parents[2]
SEED = 2  # every kind of command, jobs and snapshots: each point is reached


@pytest.fixture(autouse=True)
def no_hook() -> Iterator[None]:
    yield
    install(None)


def run_and_die(store: Path, seed: int, point: str, number: int) -> dict[int, str]:
    """A process of its own that is killed; gives what it was told."""
    process = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", "tests.support.driver", str(store), str(seed), point, str(number), "kill", "r"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert process.returncode == -9, f"the point was never reached: {process.stdout[-300:]} {process.stderr[-2000:]}"
    return acknowledged(process.stdout.splitlines(keepends=True))


def run_and_fail(store: Path, seed: int, point: str, number: int) -> dict[int, str]:
    """The same here, with a disk that refuses once; gives what it was told before the shard stopped."""
    install(at(point, number, fail))
    told: dict[int, str] = {}
    driver: Driver | None = None
    try:
        driver = Driver(str(store))
        for command in commands(seed):
            told[command.number] = driver.run(command)
    except (MemorayError, AssertionError):
        pass  # the shard has stopped, or a job cannot end any more; the files tell the rest
    finally:
        install(None)
        if driver is not None:
            driver.bench.shard.close(10.0)
    return told


@pytest.mark.parametrize("point", POINTS)
def test_killed_at_every_point(tmp_path: Path, point: str) -> None:
    told = run_and_die(tmp_path, SEED, point, 1 if point.startswith("seal") else 2)
    assert_files_keep(str(tmp_path), commands(SEED), told)
    finish(str(tmp_path), commands(SEED), told)


@pytest.mark.parametrize("seed", range(6))
def test_killed_anywhere_in_any_sequence(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    told = run_and_die(tmp_path, 100 + seed, chance.choice(("after_append", "after_sync", "visible")), 3 + seed)
    assert_files_keep(str(tmp_path), commands(100 + seed), told)
    finish(str(tmp_path), commands(100 + seed), told)


@pytest.mark.parametrize("point", POINTS)
def test_the_disk_refuses_at_every_point(tmp_path: Path, point: str) -> None:
    told = run_and_fail(tmp_path, SEED, point, 1 if point.startswith("seal") else 2)
    assert_files_keep(str(tmp_path), commands(SEED), told)
    finish(str(tmp_path), commands(SEED), told)


@pytest.mark.parametrize("point", ["seal_begun", "seal_written", "seal_synced"])
def test_a_snapshot_that_could_not_be_made_leaves_nothing_behind(tmp_path: Path, point: str) -> None:
    run_and_fail(tmp_path, SEED, point, 1)
    assert list((tmp_path / "shards" / "0000" / "snapshots").glob("*.new")) == []
