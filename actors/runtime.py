"""Joining or starting Ray with the settings that Memoray wants: no usage statistics, no dashboard, quiet workers."""

from __future__ import annotations

import logging
import os
import warnings
from typing import Any

# Read by Ray when it is imported or started, so set before either.
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# Future default of Ray; set here so that it does not warn, and because shards ask for no accelerators.
os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")

import ray

from memoray.errors import UnavailableError

OBJECT_STORE_BYTES = 256 * 2**20


def start_ray(namespace: str, *, num_cpus: int | None = None) -> None:
    """Start a Ray of our own on this machine, for this process; it ends with the process or with `stop_ray`."""
    _init(
        address="local",
        namespace=namespace,
        num_cpus=num_cpus or max(4, os.cpu_count() or 1),
        object_store_memory=OBJECT_STORE_BYTES,
        include_dashboard=False,
    )


def join_ray(namespace: str, address: str | None = None) -> None:
    """Join a Ray that runs; does nothing in a process that has joined one.

    Args:
        namespace: of the deployment.
        address: of the Ray cluster; None: RAY_ADDRESS, else the one on this machine.

    Raises:
        UnavailableError: none was found there.
    """
    if ray.is_initialized():
        return
    try:
        _init(address=address or os.environ.get("RAY_ADDRESS") or "auto", namespace=namespace)
    except ConnectionError as error:
        message = f"no Ray cluster at {address or 'this machine'}; start one with `memoray up`"
        raise UnavailableError(message) from error


def stop_ray() -> None:
    """Leave Ray, and end it if this process started it."""
    ray.shutdown()


def _init(**settings: Any) -> None:  # noqa: ANN401 - Ray's own settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        ray.init(log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **settings)
