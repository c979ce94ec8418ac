"""One Ray for all tests that ask for it, and how hypothesis runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

# Read by Ray when it is imported.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "disabled"

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "memoray", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)
settings.load_profile("memoray")

RAY_NAMESPACE = "test"
TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test with its folder: `pytest -m "not integration"`."""
    for item in items:
        item.add_marker(item.path.relative_to(TESTS).parts[0])


@pytest.fixture(scope="session")
def ray_session() -> Iterator[str]:
    """A Ray on this machine for the whole run; gives the namespace that this process is in."""
    from ray.exceptions import RayError  # noqa: PLC0415 - two seconds that most tests don't need

    from memoray.actors.runtime import start_ray, stop_ray  # noqa: PLC0415 - likewise

    try:
        start_ray(RAY_NAMESPACE)
    except (RuntimeError, TimeoutError, RayError):
        # The raylet gives up when its agent needs more than 15 s to start (ray-project/ray#65983).
        stop_ray()
        start_ray(RAY_NAMESPACE)
    yield RAY_NAMESPACE
    stop_ray()


@pytest.fixture(autouse=True)
def every_shard_is_checked() -> Iterator[None]:
    """What must always be true is looked at for every shard that a test has made, when the test has ended."""
    shards = sys.modules.get("tests.support.shards")
    if shards is not None:
        shards.ShardBench.made.clear()
    yield
    shards = sys.modules.get("tests.support.shards")
    if shards is not None:
        for bench in tuple(shards.ShardBench.made):
            bench.check_at_end()
        shards.ShardBench.made.clear()
