"""A store in one process: the client's interface on the same files; who owns it is respected."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import memoray
from memoray.config import EngineConfig
from memoray.engine.embedded import EmbeddedMemory
from memoray.errors import BusyError, FencedError, InvalidRequestError, OutcomeUnknownError, OwnedElsewhereError
from memoray.protocols import Check, Extraction, ExtractionRequest
from tests.support.fake_embedder import FakeEmbedder
from tests.support.shards import ScriptedExtractor

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
        with pytest.raises(OwnedElsewhereError, match="opened without Ray"):
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


class Gated(ScriptedExtractor):
    """Answers once it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def extract(self, request: ExtractionRequest) -> Extraction:
        assert self.go.wait(20)
        return super().extract(request)


def say(text: str) -> list[memoray.Message]:
    return [memoray.Message("user", text)]


def test_after_a_refusal_later_calls_are_refused_until_it_is_repeated(tmp_path: Path) -> None:
    extractor = Gated()
    config = EngineConfig(jobs_count_max=1)
    with open_fake(tmp_path / "store", extractor=extractor, config=config) as memory:
        memory.submit(ANA, "s1", say("one"))
        with pytest.raises(BusyError) as refused:
            memory.submit(ANA, "s1", say("two"))
        extractor.go.set()
        memory.wait(ANA)
        with pytest.raises(BusyError, match="repeat that one first"):
            memory.submit(ANA, "s1", say("three"), request_id="r3")
        assert memory.submit(ANA, "s2", say("elsewhere")).status == "accepted"
        memory.wait(ANA)
        memory.submit(ANA, "s1", say("two"), request_id=refused.value.request_id)
        memory.wait(ANA)
        memory.submit(ANA, "s1", say("three"), request_id="r3")
        memory.wait(ANA)
        assert [turn.text for request in extractor.requests for turn in request.turns] == [
            *("one", "elsewhere", "two", "three")
        ]


def test_a_whole_session_leaves_no_gap_so_it_passes_after_a_refusal(tmp_path: Path) -> None:
    extractor = Gated()
    with open_fake(tmp_path / "store", extractor=extractor, config=EngineConfig(jobs_count_max=1)) as memory:
        memory.submit(ANA, "s1", say("one"))
        with pytest.raises(BusyError):
            memory.submit(ANA, "s1", say("two"))
        extractor.go.set()
        memory.wait(ANA)
        assert memory.submit_session(ANA, "s1", say("one") + say("two") + say("three")).known == 1
        memory.wait(ANA)
        assert memory.submit(ANA, "s1", say("four")).status == "accepted"


def test_a_flood_past_the_bounds_opens_no_gap(tmp_path: Path) -> None:
    extractor = Gated()
    config = EngineConfig(jobs_count_max=5, user_jobs_count_max=100)
    with open_fake(tmp_path / "store", extractor=extractor, config=config) as memory:
        refused: list[int] = []
        for number in range(40):
            try:
                memory.submit(ANA, "s1", say(f"message {number}"), request_id=str(number))
            except BusyError:
                refused.append(number)
        assert refused == list(range(5, 40))
        extractor.go.set()
        memory.wait(ANA)
        for number in refused:
            with contextlib.suppress(BusyError):  # whoever comes again before its turn changes nothing
                memory.submit(ANA, "s1", say("message 39"), request_id="39")
            memory.submit(ANA, "s1", say(f"message {number}"), request_id=str(number))
            memory.wait(ANA)
        offered = [turn.text for request in extractor.requests for turn in request.turns]
        assert offered == [f"message {number}" for number in range(40)]


@pytest.mark.parametrize("as_rule", [True, False])
def test_a_checker_is_given_as_a_rule_or_as_a_function(tmp_path: Path, as_rule: bool) -> None:
    def more_than_two(check: Check) -> bool:
        return len(check.turns) > 2

    checker = memoray.AnyOf((memoray.MessageCount(2),)) if as_rule else more_than_two
    with open_fake(tmp_path / "store", checker=checker) as memory:
        first = memory.submit(ANA, "s1", say("I keep my bicycle in the shed.") + say("It is blue."))
        assert (first.job_id, first.reason) == (None, "the checker said no: the messages stay pending")
        status = memory.wait(ANA)
        assert [session.pending for session in status.sessions] == [2]
        assert memory.search(ANA, "bicycle").hits[0].type == "turn"
        assert memory.submit(ANA, "s1", say("It has two locks.")).job_id is not None
        status = memory.wait(ANA)
        assert [(session.pending, session.extracted) for session in status.sessions] == [(0, 3)]
        assert status.sessions[0].cursor_time is not None
        assert status.sessions[0].cursor_seq > 0


def test_without_an_extractor_nothing_but_keeping_happens(tmp_path: Path) -> None:
    with open_fake(tmp_path / "store", extractor="none") as memory:
        receipt = memory.submit(ANA, "s1", say("I keep my bicycle in the shed."))
        assert (receipt.status, receipt.job_id, receipt.reason) == ("accepted", None, "no extractor is configured")
        assert memory.wait(ANA).jobs_count == 0
        assert [hit.text for hit in memory.search(ANA, "bicycle").hits] == ["I keep my bicycle in the shed."]
    with open_fake(tmp_path / "store") as memory:
        memory.submit(ANA, "s1", say("I also have a boat."))
        assert memory.wait(ANA).sessions[0].extracted == 2


def test_a_checker_that_cannot_be_is_refused_at_the_opening(tmp_path: Path) -> None:
    with pytest.raises(InvalidRequestError, match="more than -1 messages"):
        open_fake(tmp_path / "store", checker=memoray.MessageCount(-1))
    with pytest.raises(InvalidRequestError, match="more than -1 messages"):
        open_fake(tmp_path / "store", config=EngineConfig(checker=memoray.MessageCount(-1)))
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


def test_a_store_keeps_the_language_that_it_was_made_with(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with open_fake(path, config=EngineConfig(language="german")) as memory:
        memory.add(ANA, "Mag Katzen")
        memory.add(ANA, "Mag Hunde")
    for config in (None, EngineConfig(), EngineConfig(language="german")):
        with open_fake(path, config=config) as memory:
            hits = memory.search(ANA, "Katze", explain=True).hits
            assert [share.leg for share in hits[0].shares] == ["entry_keyword", "entry_vector"]
            assert hits[0].text == "Mag Katzen"
    with pytest.raises(InvalidRequestError, match=r"'german'.*'english'.*leave the language out"):
        open_fake(path, config=EngineConfig(language="english"))
    with pytest.raises(InvalidRequestError, match="klingon"):
        open_fake(tmp_path / "other", config=EngineConfig(language="klingon"))
    assert not (tmp_path / "other").exists()


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
