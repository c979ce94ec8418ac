"""SIGKILL of a shard's process, everywhere between a receipt and the end of the job that it promised."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from memoray.events import DeltaAccepted
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import shard_directory
from memoray.storage.recovery import read_batches
from tests.support.dying_shard import WORDS

REPOSITORY = Path(__file__).parents[2]


def start(store: Path, point: str, number: int) -> subprocess.Popen[str]:
    return subprocess.Popen(  # noqa: S603 - our own module
        [sys.executable, "-m", "tests.support.dying_shard", str(store), point, str(number)],
        cwd=REPOSITORY,
        stdout=subprocess.PIPE,
        text=True,
    )


def acknowledged(output: str) -> dict[int, str]:
    """Receipt line by delta; a line that the kill cut short is no receipt."""
    lines = [line.split() for line in output.splitlines() if line.startswith("ack ")]
    return {int(parts[1]): " ".join(parts[2:]) for parts in lines if len(parts) == 4}


def assert_kept(store: Path, receipts: dict[int, str]) -> None:
    """What was acknowledged is in the files, before anybody opens them for writing or says it again."""
    recovered = read_batches(LocalFileSystem(), shard_directory(str(store), 0), shard=0)
    deltas = [event for batch in recovered.batches for event in batch.events if isinstance(event, DeltaAccepted)]
    kept = [turn.message_id for event in deltas for turn in event.turns]
    assert len(set(kept)) == len(kept), "a delta is in the log twice"
    assert {f"message-{index}" for index in receipts} <= set(kept), "an acknowledged delta is not in the log"


def finish(store: Path, receipts: dict[int, str]) -> None:
    """Let a last owner work everything off; then each delta is there exactly once, and every receipt still holds."""
    assert_kept(store, receipts)
    process = start(store, "never", 0)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    summary = json.loads(output.splitlines()[-1])
    assert summary["violations"] == []
    expected = {f"The crate is labelled {word}" for word in WORDS}
    texts = Counter(text for texts in summary["texts"].values() for text in texts)
    assert texts == Counter(expected)
    assert Counter(summary["turns"]) == Counter(expected)
    repeated = acknowledged(output)
    assert {index: repeated[index] for index in receipts} == receipts


POINTS = [
    *(("extract", number) for number in (1, 2, 9)),
    *(("propose", number) for number in (1, 3, 9)),
    *(("write", number) for number in (1, 2, 4, 8)),
    *(("half-write", number) for number in (1, 2, 4, 8)),
    *(("sync", number) for number in (1, 2, 4, 8)),
    *(("synced", number) for number in (1, 2, 4, 8)),
]


@pytest.mark.parametrize(("point", "number"), POINTS)
def test_killed_at_a_named_point(tmp_path: Path, point: str, number: int) -> None:
    process = start(tmp_path, point, number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == -9, "the point was never reached"
    finish(tmp_path, acknowledged(output))


@pytest.mark.parametrize("seed", range(3))
def test_killed_again_and_again_at_random_moments(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    receipts: dict[int, str] = {}
    killed = 0
    for _ in range(12):
        process = start(tmp_path, "slowly", 0)
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(chance.random() * 0.6)
        killed += process.poll() is None
        process.kill()
        output, _ = process.communicate(timeout=60)
        now = acknowledged(first + output)
        assert all(now.get(index, receipt) == receipt for index, receipt in receipts.items())
        receipts |= now
        assert_kept(tmp_path, receipts)
    assert killed >= 10, "processes were done before they could be killed; the load is too small"
    finish(tmp_path, receipts)
