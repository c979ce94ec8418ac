"""Who owns a store that a deployment runs on: takeovers, restarts, and what clients are told."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ray
from ray.exceptions import RayError

import memoray
from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.actors.naming import shard_name
from memoray.errors import OutcomeUnknownError, OwnedElsewhereError, ShardUnavailableError

pytestmark = pytest.mark.usefixtures("ray_session")

USER = memoray.UserKey("app", "ana")


def until(holds: Callable[[], bool], what: str, seconds_max: float = 30.0) -> None:
    deadline = time.monotonic() + seconds_max
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def shard_of(namespace: str) -> Any:  # noqa: ANN401 - an actor handle has the methods of its class
    return ray.get_actor(shard_name(0), namespace=namespace)


def is_there(namespace: str) -> bool:
    """Whether the owner lives or restarts; only one that Ray does not restart gives up its name."""
    try:
        shard_of(namespace)
    except ValueError:
        return False
    return True


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def claims(store: Path) -> list[str]:
    return sorted(path.name for path in (store / "shards" / "0000").glob("*.claim"))


def test_a_deployment_that_is_taken_over_leaves_and_no_claim_war_begins(tmp_path: Path) -> None:
    store, namespace = tmp_path / "store", "taken-over"
    cluster = Cluster(ClusterConfig(store=str(store), namespace=namespace, extractor="none"))
    cluster.ensure_shards()
    try:
        client, hasty = Client(namespace, timeout=20), Client(namespace, timeout=2)
        assert [entry.text for entry in hasty.read(USER).entries] == []
        client.add(USER, "Before")
        pid = int(ray.get(shard_of(namespace).pid.remote(), timeout=30))
        with pytest.raises(OwnedElsewhereError, match=f"process {pid} .deployment {namespace} on the Ray at"):
            memoray.open(store)
        with memoray.open(store, takes_over=True) as second:
            with pytest.raises(OutcomeUnknownError, match="claimed") as raised:
                client.add(USER, "Too late", request_id="late")
            assert raised.value.request_id == "late"
            until(lambda: not is_there(namespace), "Ray keeps the fenced owner")
            until(lambda: not is_alive(pid), "the fenced owner still runs")
            with pytest.raises(ShardUnavailableError, match="no actor"):
                hasty.read(USER)
            second.add(USER, "After")
            assert second.status()[0].epoch == 2
            assert sorted(entry.text for entry in second.read(USER).entries) == ["After", "Before"]
        assert len(claims(store)) == 2, "somebody claimed again"
    finally:
        cluster.stop()


def test_a_deployment_that_once_took_over_does_not_when_it_is_restarted(tmp_path: Path) -> None:
    store, namespace = tmp_path / "store", "takes-over"
    cluster = Cluster(ClusterConfig(store=str(store), namespace=namespace, extractor="none", takes_over=True))
    older = memoray.open(store)
    try:
        older.add(USER, "Before")
        assert cluster.ensure_shards()[0].epoch == 2
        client = Client(namespace, timeout=30)
        client.add(USER, "After")
        pid = int(ray.get(shard_of(namespace).pid.remote(), timeout=30))
        os.kill(pid, signal.SIGKILL)
        # The older owner's process has the lock still, as one that took over from the deployment would.
        until(lambda: state_of(namespace).startswith("OwnedElsewhereError"), "it took over again")
        assert len(claims(store)) == 2
        older.close()
        until(lambda: state_of(namespace) == "", "it does not come back")
        assert sorted(entry.text for entry in client.read(USER).entries) == ["After", "Before"]
        assert client.status()[0].epoch == 3
    finally:
        older.close()
        cluster.stop()


def state_of(namespace: str) -> str:
    """The error that keeps shard 0 from serving; "" if it serves."""
    try:
        return Client(namespace, timeout=10).status()[0].error
    except (RayError, ShardUnavailableError) as error:
        return f"restarting: {error}"


def test_a_deployment_started_anew_under_the_same_name_is_found_by_the_same_client(tmp_path: Path) -> None:
    namespace = "anew"
    cluster = Cluster(ClusterConfig(store=str(tmp_path / "store"), namespace=namespace, extractor="none"))
    cluster.ensure_shards()
    try:
        client = Client(namespace, timeout=60)
        client.add(USER, "Before")
        cluster.stop()
        cluster.ensure_shards()
        assert client.add(USER, "After").status == "applied"
        assert len(client.search(USER, "before after").hits) == 2
        assert client.status()[0].epoch == 2
    finally:
        cluster.stop()
