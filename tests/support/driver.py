"""Drives a shard through generated commands, here or in a process that is killed, and knows what must come of them.

Every command has a request id of its own and its texts share no word with any other's, so nothing is ever merged: what
the commands lead to is told by a dictionary (`Expected`). Targets of updates and deletes are named by the command that
added them; a process that starts again learns their ids by repeating that command.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import msgspec

from memoray.config import EngineConfig
from memoray.engine.checker import violations
from memoray.engine.ids import request_hash
from memoray.engine.projections import Projections
from memoray.engine.replay import begin, replay
from memoray.engine.state import ShardState
from memoray.entries import EntryId
from memoray.errors import FencedError, OutcomeUnknownError
from memoray.events import RequestAnswered
from memoray.keys import UserKey
from memoray.messages import Message
from memoray.operations import Add, Clear, Delete, Operation, Update
from memoray.points import install
from memoray.requests import OperationsRequest, SearchRequest, SubmitRequest
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import read_manifest, shard_directory
from memoray.storage.recovery import read_batches
from tests.support.shards import START, ManualClock, ScriptedExtractor, ShardBench

USERS = (UserKey("app", "ana"), UserKey("app", "ben"))
KINDS = ("add", "add", "add", "submit", "submit", "update", "delete", "clear", "repeat", "search", "reopen")
SEAL_ROWS_MIN = 8


class Command(NamedTuple):
    """One step.

    Attributes:
        number: of the command; part of its request id.
        what: one of `KINDS`.
        user: whose.
        target: number of the add that an update or delete is about, or of the command that is repeated.
    """

    number: int
    what: str
    user: UserKey
    target: int = 0

    @property
    def text(self) -> str:
        """What it says: words of its own."""
        return f"alpha{self.number} beta{self.number} gamma{self.number}"


def commands(seed: int, count: int = 24) -> list[Command]:
    """A sequence: the same for the same seed."""
    chance = random.Random(seed)
    made: list[Command] = []
    for number in range(count):
        what, user = chance.choice(KINDS), chance.choice(USERS)
        if what in {"update", "delete", "search"}:
            adds = [known for known in made if known.what == "add" and known.user == user]
            what, target = (what, chance.choice(adds).number) if adds else ("add", 0)
        elif what == "repeat":
            written = [known for known in made if known.what not in {"search", "reopen", "repeat"}]
            what, target = (what, chance.choice(written).number) if written else ("add", 0)
        else:
            target = 0
        made.append(Command(number, what, user, target))
    return made


class Expected:
    """What a dictionary would hold."""

    def __init__(self) -> None:
        self.entries: dict[UserKey, dict[int, str]] = {user: {} for user in USERS}
        self.turns: dict[UserKey, set[str]] = {user: set() for user in USERS}

    def take(self, command: Command, *, is_extracted: bool = True) -> None:
        """Do a command."""
        known = self.entries[command.user]
        match command.what:
            case "add":
                known[command.number] = command.text
            case "submit":
                self.turns[command.user].add(command.text)
                if is_extracted:
                    known[command.number] = command.text
            case "update" if command.target in known:
                known[command.target] = command.text
            case "delete":
                known.pop(command.target, None)
            case "clear":
                known.clear()
            case _:
                pass

    def equals(self, state: ShardState) -> bool:
        """Whether a state holds this."""
        return all(
            sorted(entry.text for entry in state.user(user).entries.values()) == sorted(self.entries[user].values())
            and {turn.text for turn in state.user(user).turns.values()} == self.turns[user]
            for user in USERS
        )


class Driver:
    """Runs commands against a shard on local files.

    Attributes:
        answers: what each command was told, as JSON, by number.
    """

    def __init__(
        self, store: str, *, seal_rows_min: int = SEAL_ROWS_MIN, prefix: str = "r", is_first: bool = True
    ) -> None:
        """Open the store; `is_first`: what is written was not written before, so what was added can be searched."""
        self._is_first = is_first
        config = EngineConfig(backoff_seconds=0.01, backoff_seconds_max=0.02, seal_rows_min=seal_rows_min)
        self.bench = ShardBench(
            LocalFileSystem(), root=store, config=config, clock=ManualClock(), extractor=ScriptedExtractor()
        )
        self.answers: dict[int, str] = {}
        self._prefix = prefix
        self._ids: dict[int, EntryId] = {}
        self._expected = Expected()
        self._commands: dict[int, Command] = {}

    def run(self, command: Command) -> str:
        """Do a command; gives what it was told."""
        self._commands[command.number] = command
        told = self._run(command)
        self.answers[command.number] = told
        self._expected.take(command)
        return told

    def _run(self, command: Command) -> str:
        match command.what:
            case "submit":
                message = Message("user", command.text, id=f"m{command.number}", timestamp=START)
                submit = SubmitRequest(command.user, "s", (message,), self.request_id(command))
                receipt = self.bench.shard.submit(submit)
                self.bench.settle()
                return msgspec.json.encode((receipt.status, receipt.seq, receipt.turn_ids)).decode()
            case "repeat":
                told = self._run(self._commands[command.target])
                assert told == self.answers[command.target], "a repeat was told something else"
                return told
            case "search":
                text = self._expected.entries[command.user].get(command.target)
                if text is not None and self._is_first:
                    self._assert_found(command.user, text)
                return ""
            case "reopen":
                self.bench.reopen()
                return ""
            case _:
                request = OperationsRequest(command.user, (self._operation(command),), self.request_id(command))
                answer = self.bench.shard.apply(request)
                outcome = answer.outcomes[0]
                if command.what == "add" and outcome.entry_id is not None:
                    self._ids[command.number] = outcome.entry_id
                return msgspec.json.encode(answer).decode()

    def _operation(self, command: Command) -> Operation:
        match command.what:
            case "add":
                return Add(command.text)
            case "update":
                return Update(self._ids[command.target], text=command.text)
            case "delete":
                return Delete(self._ids[command.target])
            case _:
                return Clear()

    def _assert_found(self, user: UserKey, text: str) -> None:
        vector = self.bench.embedder.embed([text])[0].tobytes()
        found = self.bench.shard.find(SearchRequest(user, text, turns=False), vector)
        assert text in {entry.text for entry in found.entries.values()}, f"{text!r} is not found"

    def request_id(self, command: Command) -> str:
        """Of a command."""
        return f"{self._prefix}{command.number}"

    def check(self) -> None:
        """Everything that must always be true, now and after another opening."""
        self.bench.check()
        assert self.bench.shard.seal(20.0)
        self.bench.shard.close(20.0)


def state_of_files(store: str) -> tuple[ShardState, list[bytes]]:
    """The state that a store's files say, and the hashes of the requests in it, in order. Opens nothing for writing."""
    recovered = read_batches(LocalFileSystem(), shard_directory(store, 0), shard=0)
    manifest = read_manifest(LocalFileSystem(), store)
    requests = [
        event.request for batch in recovered.batches for event in batch.events if isinstance(event, RequestAnswered)
    ]
    projections = Projections(manifest.embedder_dimension, "english")
    state = replay(begin(manifest, 0), recovered.batches, projections)
    problems = violations(recovered.batches, state, projections)
    assert not problems, problems
    return state, requests


def assert_files_keep(store: str, sequence: Sequence[Command], told: dict[int, str], prefix: str = "r") -> None:
    """What was told is in the files exactly once, and the rest wholly or not at all."""
    state, requests = state_of_files(store)
    assert len(set(requests)) == len(requests), "a request took effect twice"
    numbers = {request_hash(each.user, f"{prefix}{each.number}"): each.number for each in sequence}
    done = {numbers[request] for request in requests if request in numbers}
    writing = [each for each in sequence if each.what not in {"search", "reopen", "repeat"}]
    missing = {each.number for each in writing if each.number in told} - done
    assert not missing, f"commands {sorted(missing)} were acknowledged and are not in the files"
    options: list[Expected] = []
    for is_last_extracted in (True, False):
        expected = Expected()
        in_effect = [each for each in writing if each.number in done]
        for each in in_effect:
            expected.take(each, is_extracted=is_last_extracted or each is not in_effect[-1])
        options.append(expected)
    assert any(expected.equals(state) for expected in options), "the files hold something else than a dictionary would"


def finish(store: str, sequence: Sequence[Command], told: dict[int, str]) -> None:
    """Run the whole sequence again, as a new owner: what was told is told again, and all is as a dictionary says."""
    driver, expected = Driver(store, is_first=False), Expected()
    for command in sequence:
        answer = driver.run(command)
        assert told.get(command.number, answer) == answer, f"command {command.number} was told something else before"
        expected.take(command)
    assert expected.equals(driver.bench.shard.state())
    driver.check()


Act = Callable[[str], None]


def at(point: str, number: int, act: Act) -> Act:
    """A hook that does something at the n-th reach of a point, and counts them all in `reached`."""
    left = number

    def hook(reached: str) -> None:
        nonlocal left
        if reached == point:
            left -= 1
            if left == 0:
                act(point)

    return hook


def kill(_point: str) -> None:
    """As `kill -9`."""
    os.kill(os.getpid(), signal.SIGKILL)


def fail(point: str) -> None:
    """As a disk that refuses."""
    raise OSError(5, f"made to fail at {point}")


def stall(point: str) -> None:
    """Tell the parent, and wait until it says something."""
    say(f"stalled {point}")
    sys.stdin.readline()


def main(store: str, seed: str, point: str, number: str, act: str, prefix: str) -> None:
    """Run a sequence and say what each command was told, or that nobody knows; a fenced owner says so and ends."""
    install(at(point, int(number), {"kill": kill, "stall": stall}[act]))
    try:
        driver = Driver(store, prefix=prefix)
        for command in commands(int(seed)):
            try:
                told = driver.run(command)
            except OutcomeUnknownError:
                say(f"unknown {command.number}")
            else:
                say(f"ack {json.dumps([command.number, told])}")
        driver.bench.shard.seal(20.0)
        driver.bench.shard.close(20.0)
    except FencedError as error:
        say(f"fenced {error.epoch} {error.newer_epoch}")
    os._exit(0)


def say(line: str) -> None:
    """Tell the parent."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def acknowledged(lines: Iterable[str]) -> dict[int, str]:
    """What commands were told, by number; a line that a kill cut short tells nothing."""
    whole = (line for line in lines if line.startswith("ack ") and line.endswith("\n"))
    return dict(json.loads(line[len("ack ") :]) for line in whole)


if __name__ == "__main__":
    main(*sys.argv[1:])
