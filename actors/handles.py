"""Handles of named actors: looked up when needed, kept, and looked up again after the actor has died."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import ray

from memoray.errors import ShardUnavailableError

if TYPE_CHECKING:
    from ray.actor import ActorHandle


class NoActorError(ShardUnavailableError):
    """Nobody has this name; an actor that restarts keeps its own.

    Attributes:
        was_there: somebody had it before.
    """

    def __init__(self, message: str, *, was_there: bool) -> None:
        super().__init__(message)
        self.was_there = was_there


class Handles:
    """Handles by name, in one namespace. Safe to share between threads."""

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._handles: dict[str, ActorHandle[Any] | None] = {}  # None: it has died
        self._lock = threading.Lock()

    def get(self, name: str) -> ActorHandle[Any]:
        """The actor of that name.

        Raises:
            NoActorError: there is none.
        """
        with self._lock:
            handle = self._handles.get(name)
        if handle is None:
            try:
                handle = ray.get_actor(name, namespace=self._namespace)
            except ValueError:
                message = (
                    f"no actor {name!r} in namespace {self._namespace!r}; "
                    "start the deployment with `memoray up` or `Cluster.ensure_shards`"
                )
                raise NoActorError(message, was_there=name in self._handles) from None
            with self._lock:
                self._handles[name] = handle
        return handle

    def forget(self, name: str) -> None:
        """Look it up again next time: it has died, and another may have its name."""
        with self._lock:
            self._handles[name] = None
