"""A client of a deployment, in both forms, and the way to the awaited one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import memoray
from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.engine.memory import Memory
from tests.support.memory_contract import MemoryContract, in_form

NAMESPACE = "contract-test"


@pytest.fixture(scope="module")
def deployment(ray_session: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert ray_session
    store = str(tmp_path_factory.mktemp("contract") / "store")
    cluster = Cluster(ClusterConfig(store=store, shards_count=2, namespace=NAMESPACE))
    cluster.ensure_shards()
    yield NAMESPACE
    cluster.stop()


class TestClient(MemoryContract):
    @pytest.fixture(params=["plain", "awaited"])
    def memory(self, request: pytest.FixtureRequest, deployment: str) -> Iterator[Memory]:
        yield from in_form(request.param, Client(deployment))


def test_many_requests_of_one_loop_are_under_way_together(deployment: str) -> None:
    users = [memoray.UserKey("loop", f"user-{number}") for number in range(20)]

    async def work(memory: memoray.AsyncMemory, user: memoray.UserKey) -> list[str]:
        await asyncio.gather(*(memory.add(user, f"Thing {number} of {user.user_id}") for number in range(5)))
        return sorted(entry.text for entry in (await memory.read(user)).entries)

    async def run() -> list[list[str]]:
        async with await memoray.connect_async(namespace=deployment) as memory:
            return await asyncio.gather(*(work(memory, user) for user in users))

    kept = asyncio.run(run())
    assert kept == [[f"Thing {number} of {user.user_id}" for number in range(5)] for user in users]
