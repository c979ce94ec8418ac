"""One Ray for all tests that ask for it, and how hypothesis runs."""

from __future__ import annotations

import os
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
