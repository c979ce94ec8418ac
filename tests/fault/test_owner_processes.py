"""Two and three owners of one store in processes of their own, stalled at each step of a commit and of a takeover.

What anybody was told is in the log once; what the older one syncs after the newer has read is invisible to all; and an
owner that finds a newer one tells nobody anything any more, and never claims again.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from memoray.engine.ids import request_hash
from memoray.errors import FencedError, MemorayError, OutcomeUnknownError
from memoray.points import OPENING, WRITING
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import shard_directory
from memoray.storage.ownership import newest_epoch
from tests.support.driver import Driver, acknowledged, commands, state_of_files

REPOSITORY = Path(__file__).parents[2]
SEED_OF = {"old": 2, "new": 50, "last": 51}


@contextmanager
def stalled(store: Path, name: str, point: str, number: int) -> Generator[tuple[subprocess.Popen[str], list[str]]]:
    """An owner in a process of its own that waits at a point; and the lines that it has said."""
    arguments = [str(store), str(SEED_OF[name]), point, str(number), "stall", name]
    process = subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", "tests.support.driver", *arguments],
        cwd=REPOSITORY,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    said: list[str] = []
    try:
        for line in process.stdout:
            if line.startswith("stalled"):
                break
            said.append(line)
        else:
            pytest.fail(f"{point} was never reached: {said[-3:]}")
        yield process, said
    finally:
        process.kill()
        process.wait()


def go_on(process: subprocess.Popen[str]) -> list[str]:
    """Let a stalled one go on to its end; what it says then."""
    output, _ = process.communicate("go on\n", timeout=60)
    return output.splitlines(keepends=True)


def live(store: Path, name: str) -> tuple[Driver, dict[int, str]]:
    """A whole life of an owner in this process; what it was told."""
    driver = Driver(str(store), prefix=name)
    return driver, {command.number: driver.run(command) for command in commands(SEED_OF[name])}


def requests_of(name: str, told: dict[int, str]) -> set[bytes]:
    """Hashes of the acknowledged writes of an owner."""
    writing = (each for each in commands(SEED_OF[name]) if each.what not in {"search", "reopen", "repeat"})
    return {request_hash(each.user, f"{name}{each.number}") for each in writing if each.number in told}


def epoch_of(store: Path) -> int:
    return newest_epoch(LocalFileSystem(), shard_directory(str(store), 0))


@pytest.mark.parametrize("point", WRITING)
def test_an_owner_that_stalls_in_a_commit_while_another_takes_over(tmp_path: Path, point: str) -> None:
    with stalled(tmp_path, "old", point, 4) as (process, said):
        newer, told = live(tmp_path, "new")
        epoch, (state, requests) = epoch_of(tmp_path), state_of_files(str(tmp_path))
        said.extend(go_on(process))
    assert said[-1].startswith("fenced"), said[-3:]
    old = requests_of("old", acknowledged(said))
    assert old <= set(requests), "what the older one told somebody is not what the newer one knows"
    assert requests_of("new", told) <= set(requests)
    later_state, later_requests = state_of_files(str(tmp_path))
    assert later_requests == requests, "the older one's late writes are visible"
    assert later_state.last_seq == state.last_seq
    assert epoch_of(tmp_path) == epoch, "the fenced one has claimed again"
    newer.check()
    third, told_last = live(tmp_path, "last")
    _, final = state_of_files(str(tmp_path))
    assert old | requests_of("new", told) | requests_of("last", told_last) <= set(final)
    assert len(set(final)) == len(final)
    third.check()


@pytest.mark.parametrize("point", OPENING)
def test_an_owner_that_stalls_in_its_takeover_while_others_go_on(tmp_path: Path, point: str) -> None:
    older = Driver(str(tmp_path), prefix="old")
    sequence = commands(SEED_OF["old"])
    told = {each.number: older.run(each) for each in sequence[:8] if each.what != "reopen"}
    with stalled(tmp_path, "new", point, 1) as (process, said):
        with pytest.raises((FencedError, OutcomeUnknownError)):
            # Now and then a command writes nothing, and may be answered; soon one has to.
            for each in sequence[8:]:
                if each.what in {"add", "submit", "clear"}:
                    older.run(each)
        third, told_last = live(tmp_path, "last")
        said.extend(go_on(process))
    assert not acknowledged(said), "it told somebody something"
    assert said[-1].startswith("fenced"), said[-3:]
    older.bench.shard.close(10.0)
    _, requests = state_of_files(str(tmp_path))
    assert requests_of("old", told) | requests_of("last", told_last) <= set(requests)
    assert len(set(requests)) == len(requests)
    third.check()


def test_an_owner_that_is_fenced_says_so_to_everybody_from_then_on(tmp_path: Path) -> None:
    older = Driver(str(tmp_path), prefix="old")
    first, *others = (each for each in commands(SEED_OF["old"]) if each.what == "add")
    older.run(first)
    newer = Driver(str(tmp_path), prefix="new")
    epoch = epoch_of(tmp_path)
    for each in others:
        with pytest.raises(MemorayError) as caught:
            older.run(each)
        assert isinstance(caught.value, FencedError | OutcomeUnknownError)
    assert epoch_of(tmp_path) == epoch
    assert older.bench.shard.close(10.0)
    newer.check()
