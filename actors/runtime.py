"""Joining or starting Ray as Memoray wants it: authenticated, without usage statistics or dashboard, quiet."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import warnings
from pathlib import Path
from typing import Any

import ray
from ray._raylet import Config  # type: ignore[attr-defined]  # compiled, without a stub

from memoray.actors.ray_size import OBJECT_STORE_BYTES, cpus_count
from memoray.errors import UnavailableError


def start_ray(namespace: str) -> None:
    """Start a Ray of our own on this machine, for this process; it ends with the process or with `stop_ray`."""
    _prepare()
    _init(
        address="local",
        namespace=namespace,
        num_cpus=cpus_count(),
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
    _prepare()
    try:
        _init(address=address or os.environ.get("RAY_ADDRESS") or "auto", namespace=namespace)
    except (ConnectionError, RuntimeError) as error:
        message = f"no Ray cluster answers at {address or 'this machine'}; start one with `memoray up`"
        raise UnavailableError(message) from error


def stop_ray() -> None:
    """Leave Ray, and end it if this process started it."""
    ray.shutdown()


def _prepare() -> None:
    """Say in the environment, which Ray and its processes read, what Ray leaves open.

    Who reaches a Ray port can run code on its machine, so all processes of a cluster show each other a token. Ray 2.60
    asks for one on clusters that a driver starts, later versions on all; so that both ends agree, it is said here,
    unless the user has said something else.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # Ray's future default, so that it does not warn
    if "RAY_AUTH_MODE" not in os.environ:
        os.environ["RAY_AUTH_MODE"] = "token"
        Config.initialize("")  # Ray read the environment when it was imported; this is how it reads it again itself
    if os.environ["RAY_AUTH_MODE"] == "token":
        _ensure_token()


def _ensure_token() -> None:
    """Make the token, readable by this user alone; Ray would make it itself, readable by everybody.

    Raises:
        UnavailableError: it cannot be written.
    """
    if "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ:
        return
    path = Path.home() / ".ray" / "auth_token"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
    except OSError as error:
        message = (
            f"{path}: {error.strerror}; name another place with RAY_AUTH_TOKEN_PATH, or set RAY_AUTH_MODE=disabled"
        )
        raise UnavailableError(message) from error


def _init(**settings: Any) -> None:  # noqa: ANN401 - Ray's own settings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        ray.init(log_to_driver=False, logging_level=logging.ERROR, configure_logging=False, **settings)
