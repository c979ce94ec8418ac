"""Memoray: long-term memory for LLM agents, as an event-sourced actor system on Ray.

`import memoray` is cheap: public names are resolved when first used, so that the parts below `actors` never import
Ray.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memoray.actors.client import Client, connect, connect_async
    from memoray.config import AllOf, AnyOf, Interval, MessageCount
    from memoray.engine.asynchronous import AsyncMemory, open_async
    from memoray.engine.embedded import EmbeddedMemory
    from memoray.engine.embedded import open_store as open  # noqa: A004 - memoray.open is what it is called
    from memoray.entries import Entry, Kind
    from memoray.errors import MemorayError
    from memoray.events import Receipt
    from memoray.keys import UserKey
    from memoray.messages import Message
    from memoray.requests import Filters, Hit, SearchAnswer

__version__ = "0.1.0"

_homes = {
    "AsyncMemory": "memoray.engine.asynchronous",
    "AllOf": "memoray.config",
    "AnyOf": "memoray.config",
    "Client": "memoray.actors.client",
    "EmbeddedMemory": "memoray.engine.embedded",
    "Entry": "memoray.entries",
    "Filters": "memoray.requests",
    "Hit": "memoray.requests",
    "Interval": "memoray.config",
    "Kind": "memoray.entries",
    "MemorayError": "memoray.errors",
    "Message": "memoray.messages",
    "MessageCount": "memoray.config",
    "Receipt": "memoray.events",
    "SearchAnswer": "memoray.requests",
    "UserKey": "memoray.keys",
    "connect": "memoray.actors.client",
    "connect_async": "memoray.actors.client",
    "open": "memoray.engine.embedded",
    "open_async": "memoray.engine.asynchronous",
}
_names_there = {"open": "open_store"}

__all__ = [
    "AllOf",
    "AnyOf",
    "AsyncMemory",
    "Client",
    "EmbeddedMemory",
    "Entry",
    "Filters",
    "Hit",
    "Interval",
    "Kind",
    "MemorayError",
    "Message",
    "MessageCount",
    "Receipt",
    "SearchAnswer",
    "UserKey",
    "connect",
    "connect_async",
    "open",
    "open_async",
]


def __getattr__(name: str) -> object:
    home = _homes.get(name)
    if home is None:
        message = f"module 'memoray' has no attribute {name!r}"
        raise AttributeError(message)
    value: object = getattr(importlib.import_module(home), _names_there.get(name, name))
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
