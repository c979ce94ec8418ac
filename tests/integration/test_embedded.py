"""A store in one process: the client's interface on the same files; who owns it is respected."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoray
from memoray.engine.embedded import EmbeddedMemory
from memoray.errors import FencedError, InvalidRequestError, OutcomeUnknownError, OwnedElsewhereError
from tests.support.fake_embedder import FakeEmbedder

ANA = memoray.UserKey("app", "ana")


def open_fake(path: Path, **options: object) -> EmbeddedMemory:
    return memoray.open(path, embedder=FakeEmbedder(), **options)  # type: ignore[arg-type]  # options of open


def test_what_was_said_is_there_at_the_next_open_and_is_found(tmp_path: Path) -> None:
    with open_fake(tmp_path / "store", shards_count=3) as memory:
        receipt = memory.submit(ANA, "s1", [memoray.Message("user", "I keep my bicycle in the blue shed.")])
        memory.wait(ANA)
    with open_fake(tmp_path / "store") as memory:
        hits = memory.search(ANA, "bicycle", dedupe=False).hits
        assert {hit.type for hit in hits} == {"entry", "turn"}
        assert all(hit.sources[0].turn_id == receipt.turn_ids[0] for hit in hits)
        assert "blue shed" in memory.preload(ANA, "bicycle").text
        assert [status.epoch for status in memory.status()] == [2, 2, 2]


def test_changes_by_hand_and_their_refusals(tmp_path: Path) -> None:
    with open_fake(tmp_path / "store") as memory:
        added = memory.add(ANA, "Prefers tea", request_id="r1")
        assert memory.add(ANA, "Prefers tea", request_id="r1") == added
        assert added.entry_id is not None
        assert memory.update(ANA, added.entry_id, text="Prefers green tea").version == 2
        assert memory.delete(ANA, added.entry_id).status == "applied"
        with pytest.raises(InvalidRequestError, match="memory text required"):
            memory.add(ANA, " ")
        with pytest.raises(InvalidRequestError, match="another request"):
            memory.add(ANA, "Prefers coffee", request_id="r1")


def test_a_second_opening_in_the_same_process_is_refused(tmp_path: Path) -> None:
    with open_fake(tmp_path / "store") as memory:
        with pytest.raises(OwnedElsewhereError, match="opening"):
            open_fake(tmp_path / "store")
        assert memory.add(ANA, "Still there").status == "applied"
    open_fake(tmp_path / "store").close()


def test_another_embedder_or_shard_count_is_refused(tmp_path: Path) -> None:
    open_fake(tmp_path / "store").close()
    with pytest.raises(InvalidRequestError, match="has 1 shards, not 2"):
        open_fake(tmp_path / "store", shards_count=2)
    with pytest.raises(InvalidRequestError, match="would mix vectors"):
        memoray.open(tmp_path / "store", embedder=FakeEmbedder(32, "other"))
    open_fake(tmp_path / "store").close()


HOLDER = """
import sys, time, memoray
from tests.support.fake_embedder import FakeEmbedder
memory = memoray.open(sys.argv[1], embedder=FakeEmbedder())
memory.add(memoray.UserKey("app", "ana"), "From the holder")
print("open", flush=True)
for line in sys.stdin:
    try:
        memory.add(memoray.UserKey("app", "ana"), line.strip(), request_id=line.strip())
        print("added", flush=True)
    except memoray.MemorayError as error:
        print(type(error).__name__, flush=True)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the store open."""
    with subprocess.Popen(  # noqa: S603 - python
        [sys.executable, "-c", HOLDER, str(tmp_path / "store")],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        yield process
        process.kill()


def ask(process: subprocess.Popen[str], text: str) -> str:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(text + "\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_a_live_owner_is_not_fenced_by_accident(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    with pytest.raises(OwnedElsewhereError, match=f"process {holder.pid}"):
        open_fake(tmp_path / "store")
    assert ask(holder, "Still there") == "added"
    holder.kill()
    holder.wait()
    with open_fake(tmp_path / "store") as memory:
        assert sorted(entry.text for entry in memory.read(ANA).entries) == ["From the holder", "Still there"]


def test_taking_over_ends_the_older_owner_and_loses_nothing(tmp_path: Path, holder: subprocess.Popen[str]) -> None:
    assert ask(holder, "Before") == "added"
    with open_fake(tmp_path / "store", takes_over=True) as memory:
        assert ask(holder, "Too late") in {OutcomeUnknownError.__name__, FencedError.__name__}
        assert ask(holder, "Later still") == FencedError.__name__
        memory.add(ANA, "After")
        texts = sorted(entry.text for entry in memory.read(ANA).entries)
        assert texts == ["After", "Before", "From the holder"]
        with pytest.raises(OwnedElsewhereError):
            open_in_another_process(tmp_path / "store")
        holder.kill()
        holder.wait()
        # The lock was the older owner's; now that it has ended it is ours.
        deadline = time.monotonic() + 10
        while "signed" not in note_of(tmp_path / "store", memory):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def open_in_another_process(path: Path) -> None:
    """Open the store where no lock of this process counts as one's own."""
    code = (
        "import sys, memoray; from tests.support.fake_embedder import FakeEmbedder as Fake; "
        "memoray.open(sys.argv[1], embedder=Fake())"
    )
    done = subprocess.run(  # noqa: S603 - python
        [sys.executable, "-c", code, str(path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    if "OwnedElsewhereError" in done.stderr:
        raise OwnedElsewhereError(done.stderr)
    assert done.returncode == 0, done.stderr


def note_of(path: Path, memory: EmbeddedMemory) -> str:
    import os  # noqa: PLC0415 - used once

    assert memory.status()[0].state == "serving"
    note = (path / "shards" / "0000" / "owner.lock").read_text(encoding="utf-8")
    return "signed" if str(os.getpid()) in note else note


def test_importing_it_brings_no_ray(tmp_path: Path) -> None:
    code = "import sys, memoray; memoray.open; sys.exit('ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True, timeout=60)  # noqa: S603 - python
