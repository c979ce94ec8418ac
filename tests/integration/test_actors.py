"""The deployment on a real Ray: calls, kills, restarts, damage."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import RayError

from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.actors.naming import shard_name
from memoray.entries import Kind
from memoray.errors import (
    CorruptionError,
    InvalidRequestError,
    MemorayError,
    OutcomeUnknownError,
    ShardUnavailableError,
    UnavailableError,
)
from memoray.keys import UserKey, shard_of
from memoray.messages import Message

pytestmark = pytest.mark.usefixtures("ray_session")

NAMESPACE = "actors-test"
SHARDS_COUNT = 2
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def user_of(shard: int, name: str = "user") -> UserKey:
    """A user who lives on a shard."""
    candidates = (UserKey("app", f"{name}-{number}") for number in range(1000))
    return next(user for user in candidates if shard_of(user, SHARDS_COUNT) == shard)


@pytest.fixture(scope="module")
def deployment(ray_session: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Cluster, Client]]:
    """Two shards and what they need, once for this module."""
    assert ray_session is not None
    store = tmp_path_factory.mktemp("actors") / "store"
    cluster = Cluster(ClusterConfig(store=str(store), shards_count=SHARDS_COUNT, namespace=NAMESPACE))
    statuses = cluster.ensure_shards()
    assert [status.state for status in statuses] == ["serving"] * SHARDS_COUNT
    yield cluster, Client(NAMESPACE, timeout=60)
    cluster.stop()


@pytest.fixture
def client(deployment: tuple[Cluster, Client]) -> Client:
    return deployment[1]


def handle(shard: int) -> Any:  # noqa: ANN401 - an actor handle has the methods of its class
    return ray.get_actor(shard_name(shard), namespace=NAMESPACE)


def pid_of(shard: int) -> int:
    return int(ray.get(handle(shard).pid.remote(), timeout=30))


def kill_process(shard: int) -> None:
    """SIGKILL, as the kernel would; Ray restarts the actor."""
    pid = pid_of(shard)
    os.kill(pid, signal.SIGKILL)
    deadline = time.monotonic() + 30
    while True:
        try:
            if pid_of(shard) != pid:
                return
        except RayError:
            assert time.monotonic() < deadline, "the shard did not come back"
            time.sleep(0.05)


def say(*texts: str) -> list[Message]:
    return [Message("user", text, timestamp=NOON, id=f"m-{text}") for text in texts]


def test_a_conversation_is_remembered_and_found_with_its_messages(client: Client) -> None:
    user = user_of(0, "found")
    receipt = client.submit(user, "s1", say("I keep my bicycle in the blue shed behind the bakery."))
    assert receipt.status == "accepted"
    assert client.wait(user).sessions[0].extracted == 1
    hits = client.search(user, "Where is the bike?").hits
    assert any("blue shed" in hit.text for hit in hits)
    assert all(source.session_id == "s1" for hit in hits for source in hit.sources)


def test_the_callers_own_memories(client: Client) -> None:
    user = user_of(1, "own")
    added = client.add(user, "Prefers window seats", kind=Kind.FACT, topics=["travel"])
    assert (added.status, added.action, added.version) == ("applied", "add", 1)
    assert added.entry_id is not None
    assert client.update(user, added.entry_id, text="Prefers aisle seats").version == 2
    entry = client.read(user).entries[0]
    assert (entry.text, entry.topics) == ("Prefers aisle seats", ("travel",))
    assert client.delete(user, added.entry_id).status == "applied"
    assert client.delete(user, added.entry_id).reason == "target deleted"
    assert client.add(user, "One more").status == "applied"
    assert client.clear(user).count == 1
    assert client.read(user).entries == ()


def test_several_queries_and_pages_of_one_answer(client: Client) -> None:
    user = user_of(1, "asks")
    client.submit(user, "s1", say("My sister Lena lives in Bergen.", "We take the night train to see her."))
    client.wait(user)
    both = client.search(user, ["Where does Lena live?", "How do they travel?"], explain=True)
    assert {share.query for hit in both.hits for share in hit.shares} == {0, 1}
    assert {source.message_id for hit in both.hits for source in hit.sources} >= {
        "m-My sister Lena lives in Bergen.",
        "m-We take the night train to see her.",
    }
    first = client.search(user, "Lena", limit=1, dedupe=False)
    second = client.search(user, "Lena", limit=1, dedupe=False, page=first.next_page)
    assert first.hits[0].id != second.hits[0].id
    client.add(user, "Lena likes skiing")
    with pytest.raises(InvalidRequestError, match="search again from the first page"):
        client.search(user, "Lena", limit=1, dedupe=False, page=first.next_page)


def test_errors_arrive_as_themselves(client: Client) -> None:
    with pytest.raises(InvalidRequestError, match="memory text required"):
        client.add(UserKey("app", "x"), "   ")
    with pytest.raises(InvalidRequestError, match="app name required"):
        client.read(UserKey("", "x"))
    with pytest.raises(InvalidRequestError, match="limit 0"):
        client.search(UserKey("app", "x"), "q", limit=0)


def test_a_raw_handle_takes_json_and_answers_json() -> None:
    user = user_of(0, "raw")
    request = {
        "user": {"app_name": user.app_name, "user_id": user.user_id},
        "session_id": "s1",
        "request_id": "raw-1",
        "messages": [{"role": "user", "text": "The spare key is under the fern."}],
    }
    receipt = json.loads(ray.get(handle(0).submit.remote(json.dumps(request).encode()), timeout=30))
    assert receipt["status"] == "accepted"
    assert len(receipt["turn_ids"]) == 1
    again = json.loads(ray.get(handle(0).submit.remote(json.dumps(request).encode()), timeout=30))
    assert again == receipt


def test_a_raw_handle_of_the_wrong_shard_names_the_right_one() -> None:
    user = user_of(1, "lost")
    request = {"user": {"app_name": user.app_name, "user_id": user.user_id}}
    with pytest.raises(InvalidRequestError, match="belongs to shard 1"):
        ray.get(handle(0).read.remote(json.dumps(request).encode()), timeout=30)


def test_bytes_that_are_no_request_are_refused_with_the_place() -> None:
    for bad in (b"", b"{", b"\xc1", b'{"user": 3}', b'{"user": {"app_name": "a", "user_id": "b"}, "limitt": 3}'):
        with pytest.raises(InvalidRequestError, match="not a ReadRequest"):
            ray.get(handle(0).read.remote(bad), timeout=30)


def test_a_killed_shard_comes_back_with_all_that_was_acknowledged(client: Client) -> None:
    user = user_of(0, "killed")
    words = ["heron", "osprey", "bittern", "plover", "dunlin", "curlew"]
    receipts = []
    for number, word in enumerate(words):
        receipts.append(client.submit(user, "s1", say(f"The boat is called {word}"), request_id=f"k{number}"))
        if number % 2:
            kill_process(0)
    client.wait(user)
    for number, word in enumerate(words):
        assert client.submit(user, "s1", say(f"The boat is called {word}"), request_id=f"k{number}") == receipts[number]
    session = client.status(user)[0].sessions[0]
    assert (session.length, session.extracted) == (6, 6)
    texts = [entry.text for entry in client.read(user).entries]
    assert all(sum(word in text for text in texts) == 1 for word in words)
    assert client.search(user, "boat heron").hits


def test_a_call_during_the_restart_is_answered_by_the_next_owner(client: Client) -> None:
    user = user_of(1, "during")
    pid = pid_of(1)
    os.kill(pid, signal.SIGKILL)
    assert client.add(user, "Said while nobody was in").status == "applied"
    assert [entry.text for entry in client.read(user).entries] == ["Said while nobody was in"]


def test_starting_again_changes_nothing(deployment: tuple[Cluster, Client]) -> None:
    cluster, client = deployment
    before = [pid_of(shard) for shard in range(SHARDS_COUNT)]
    cluster.ensure_shards()
    assert [pid_of(shard) for shard in range(SHARDS_COUNT)] == before
    assert len(client.status()) == SHARDS_COUNT


def test_another_shard_count_is_refused(deployment: tuple[Cluster, Client]) -> None:
    cluster, _ = deployment
    other = Cluster(ClusterConfig(store=cluster.config.store, shards_count=3, namespace=NAMESPACE))
    with pytest.raises(InvalidRequestError, match="has 2 shards, not 3"):
        other.ensure_shards()


def test_no_deployment_is_said_with_the_way_out(ray_session: object) -> None:
    assert ray_session is not None
    with pytest.raises(ShardUnavailableError, match="memoray up"):
        Client("nobody-here", timeout=5)


def test_a_write_that_is_not_answered_is_an_unknown_outcome(client: Client) -> None:
    user = user_of(1, "unknown")
    pid = pid_of(1)
    os.kill(pid, signal.SIGSTOP)
    hasty = Client(NAMESPACE, timeout=1.0)
    try:
        with pytest.raises(OutcomeUnknownError, match="unknown-1") as raised:
            hasty.add(user, "Perhaps", request_id="unknown-1")
        assert raised.value.request_id == "unknown-1"
    finally:
        os.kill(pid, signal.SIGCONT)
    assert client.add(user, "Perhaps", request_id="unknown-1").status == "applied"
    assert len(client.read(user).entries) == 1


def test_a_write_that_comes_too_late_is_not_done_and_that_is_said(client: Client) -> None:
    user = user_of(1, "late")
    pid = pid_of(1)
    os.kill(pid, signal.SIGSTOP)
    hasty = Client(NAMESPACE, timeout=2.0)
    with ThreadPoolExecutor(2) as pool:
        added = pool.submit(hasty.add, user, "Too late", request_id="late-add")
        said = pool.submit(hasty.submit, user, "s1", say("Too late as well"), request_id="late-submit")
        time.sleep(2.5)  # their deadline, and not yet the end of the time in which they ask what became of it
        os.kill(pid, signal.SIGCONT)
        for refused in (added, said):
            with pytest.raises(UnavailableError, match=r"deadline .* had passed") as raised:
                refused.result(60)
            assert not isinstance(raised.value, OutcomeUnknownError)
    assert client.read(user).entries == ()
    assert client.status(user)[0].turns_count == 0


def test_many_clients_at_once_are_each_answered_and_share_calls(client: Client) -> None:
    users = [user_of(shard, f"crowd-{number}") for number in range(8) for shard in range(SHARDS_COUNT)]

    def work(user: UserKey) -> list[str]:
        for number in range(5):
            assert client.add(user, f"Thing {number} of {user.user_id}").status == "applied"
            with pytest.raises(InvalidRequestError, match="memory text required"):
                client.add(user, " ")
            hits = client.search(user, f"thing {number}").hits
            assert all(user.user_id in hit.text for hit in hits)
            assert any(f"Thing {number} " in hit.text for hit in hits)
        return sorted(entry.text for entry in client.read(user).entries)

    with ThreadPoolExecutor(len(users)) as pool:
        kept = list(pool.map(work, users))
    assert kept == [[f"Thing {number} of {user.user_id}" for number in range(5)] for user in users]


@pytest.mark.usefixtures("deployment")
def test_a_bad_request_among_many_is_the_only_one_refused() -> None:
    user = user_of(0, "batch")
    asked = [
        {"user": {"app_name": user.app_name, "user_id": user.user_id}, "request_id": f"b{number}", "operations": [add]}
        for number, add in enumerate({"op": "add", "text": f"Kept {number}"} for number in range(3))
    ]
    requests = [json.dumps(request).encode() for request in asked]
    requests[1] = b"{}"
    replies = ray.get(handle(0).many.remote("apply", requests), timeout=30)
    assert [type(reply) for reply in replies] == [bytes, InvalidRequestError, bytes]
    assert json.loads(replies[2])["outcomes"][0]["status"] == "applied"
    with pytest.raises(InvalidRequestError, match="there are: submit, apply, undo, describe"):
        ray.get(handle(0).many.remote("close", [b""]), timeout=30)


@pytest.mark.usefixtures("deployment")
def test_a_shard_has_one_thread_for_its_indexes() -> None:
    def threads_count(_shard: object) -> str:
        return os.environ["OMP_NUM_THREADS"]

    assert ray.get(handle(0).__ray_call__.remote(threads_count), timeout=30) == "1"


def test_a_damaged_log_is_reported_and_the_other_shards_serve(ray_session: object, tmp_path: Path) -> None:
    assert ray_session is not None
    config = ClusterConfig(store=str(tmp_path / "store"), shards_count=2, namespace="damage-test", extractor="none")
    cluster = Cluster(config)
    cluster.ensure_shards()
    try:
        client = Client("damage-test", timeout=20)
        for shard in (0, 1):
            client.add(user_of(shard), "Something to damage")
        cluster.stop()
        segment = next((tmp_path / "store" / "shards" / "0000").glob("*.segment"))
        content = bytearray(segment.read_bytes())
        content[len(content) // 2] ^= 0x40
        segment.write_bytes(content)
        statuses = cluster.ensure_shards()
        assert [status.state for status in statuses] == ["stopped", "serving"]
        assert segment.name in statuses[0].error
        client = Client("damage-test", timeout=20)
        with pytest.raises(CorruptionError) as raised:
            client.read(user_of(0))
        assert raised.value.path.endswith(segment.name)
        assert len(client.read(user_of(1)).entries) == 1
    finally:
        cluster.stop()


def test_a_store_that_comes_back_is_opened_without_a_restart(ray_session: object, tmp_path: Path) -> None:
    assert ray_session is not None
    store = tmp_path / "store"
    cluster = Cluster(ClusterConfig(store=str(store), namespace="absent-test", extractor="none"))
    cluster.ensure_shards()
    user = UserKey("app", "ana")
    Client("absent-test", timeout=20).add(user, "Kept")
    cluster.stop()
    folder, away = store / "shards" / "0000", tmp_path / "away"
    folder.rename(away)
    folder.write_text("not a folder", encoding="utf-8")
    try:
        assert cluster.ensure_shards()[0].state == "stopped"
        client = Client("absent-test", timeout=20)
        folder.unlink()
        away.rename(folder)
        deadline = time.monotonic() + 30
        while client.status()[0].state != "serving":
            assert time.monotonic() < deadline, client.status()[0].error
            time.sleep(0.2)
        assert [entry.text for entry in client.read(user).entries] == ["Kept"]
    finally:
        cluster.stop()


def test_a_fenced_owner_leaves_and_does_not_come_back(ray_session: object, tmp_path: Path) -> None:
    assert ray_session is not None
    store = str(tmp_path / "store")
    older = Cluster(ClusterConfig(store=store, namespace="older-test", extractor="none"))
    newer = Cluster(ClusterConfig(store=store, namespace="newer-test", extractor="none", takes_over=True))
    user = UserKey("app", "ana")
    older.ensure_shards()
    try:
        first = Client("older-test", timeout=10)
        first.add(user, "Before")
        newer.ensure_shards()
        with pytest.raises(MemorayError):
            first.add(user, "Too late", request_id="late")
        second = Client("newer-test", timeout=20)
        assert [entry.text for entry in second.read(user).entries] == ["Before"]
        deadline = time.monotonic() + 20
        while True:
            try:
                ray.get_actor(shard_name(0), namespace="older-test")
            except ValueError:
                break
            assert time.monotonic() < deadline, "the fenced owner is still there"
            time.sleep(0.1)
        assert second.add(user, "After").status == "applied"
        assert second.status()[0].epoch == 2
    finally:
        older.stop()
        newer.stop()
