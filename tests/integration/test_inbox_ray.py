"""The inbox over Ray: rules that cross to the shard's process, and one caller's order whatever Ray does with it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
import ray

from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.actors.naming import shard_name
from memoray.config import AnyOf, EngineConfig, Interval, MessageCount
from memoray.errors import BusyError
from memoray.keys import UserKey
from memoray.messages import Message

pytestmark = pytest.mark.usefixtures("ray_session")

NAMESPACE = "inbox-test"
ANA = UserKey("app", "ana")


@pytest.fixture(scope="module")
def client(ray_session: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """One shard that extracts at every third message of a session, or when that was never extracted or a day ago.

    Its inbox is always full: who hands over what is extracted is answered when it has been.
    """
    assert ray_session is not None
    rule = AnyOf((MessageCount(2), Interval(86400.0)))
    config = EngineConfig(checker=rule, skips_polluted=True, user_jobs_count_max=0)
    store = str(tmp_path_factory.mktemp("inbox") / "store")
    cluster = Cluster(ClusterConfig(store=store, namespace=NAMESPACE, engine=config))
    cluster.ensure_shards()
    yield Client(NAMESPACE, timeout=60)
    cluster.stop()


def test_the_rule_and_the_guard_hold_in_the_shards_process(client: Client) -> None:
    def say(text: str, *, is_polluted: bool = False) -> str:
        return client.submit(ANA, "s1", [Message("user", text)], is_polluted=is_polluted).reason

    assert say("I keep my bicycle in the shed.") == ""  # never extracted: the interval says yes
    assert [session.extracted for session in client.status(ANA)[0].sessions] == [1]
    assert [say(text) for text in ("It is blue.", "It is old.")] == [
        "the checker said no: the messages stay pending"
    ] * 2
    assert [session.pending for session in client.status(ANA)[0].sessions] == [2]
    assert say("It has two locks.") == ""
    assert client.status(ANA)[0].sessions[0].extracted == 4
    assert say("From a web page.", is_polluted=True) == "the session is marked as polluted by outside content"
    assert client.status(ANA)[0].sessions[0].is_polluted


def test_a_callers_own_deadline_goes_with_it(client: Client) -> None:
    passed = datetime.now(UTC) - timedelta(seconds=1)
    receipt = client.submit(ANA, "late", [Message("user", "Too late.")], deadline=passed)
    assert (receipt.status, receipt.turn_ids) == ("skipped", ())
    assert all(session.session_id != "late" for session in client.status(ANA)[0].sessions)


def test_calls_that_ray_runs_in_any_order_take_effect_in_the_callers(client: Client) -> None:
    assert client.plan.config.checker is not None
    shard: Any = ray.get_actor(shard_name(0), namespace=NAMESPACE)
    count = 20
    requests = [
        {
            "user": {"app_name": "app", "user_id": "pipeline"},
            "session_id": "s1",
            "request_id": f"r{number}",
            "messages": [{"role": "user", "text": f"message {number}"}],
            **({"follows": f"r{number - 1}"} if number else {}),
        }
        for number in range(count)
    ]
    waiting, seqs, refusals = set(range(count)), dict[int, int](), 0
    deadline = time.monotonic() + 60
    while waiting:
        assert time.monotonic() < deadline, f"{len(waiting)} requests are still refused"
        replies: dict[int, Any] = {
            number: shard.submit.remote(json.dumps(requests[number]).encode())
            for number in sorted(waiting, reverse=True)  # the last one first
        }
        for number, reply in replies.items():
            try:
                seqs[number] = json.loads(cast("bytes", ray.get(reply, timeout=30)))["seq"]
            except BusyError:
                refusals += 1
            else:
                waiting.discard(number)
    assert refusals > 0, "the calls did not come in another order"
    assert [number for number, _ in sorted(seqs.items(), key=lambda item: item[1])] == list(range(count))
