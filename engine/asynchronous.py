"""`Memory` for programs that run an event loop: the same methods, awaited, for the embedded store and for a deployment.

Each call runs in a thread, and the threads are bounded: one call more waits, in the loop, until one is free. Whoever
stops waiting (a cancelled task, a hung-up request) cancels a call that has not begun; one that has begun goes on, and
what it has handed over stays accepted.
"""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from memoray.engine.embedded import open_store
from memoray.engine.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from types import TracebackType

P = ParamSpec("P")
T = TypeVar("T")

CALLS_COUNT_MAX = 64


def _awaited(
    method: Callable[Concatenate[Memory, P], T],
) -> Callable[Concatenate[AsyncMemory, P], Coroutine[Any, Any, T]]:
    """The awaitable form of a method, with the same arguments."""

    @functools.wraps(method)
    async def call(self: AsyncMemory, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.run(functools.partial(method, self.memory, *args, **kwargs))

    return call


class AsyncMemory:
    """Any `Memory`, awaited. Belongs to one event loop; close it, or use it in an `async with` statement.

    Attributes:
        memory: what it hands calls to; both may be used side by side.
    """

    def __init__(self, memory: Memory, *, calls_count_max: int = CALLS_COUNT_MAX) -> None:
        """Hand calls to `memory`, at most `calls_count_max` at the same time."""
        self.memory = memory
        self._threads = ThreadPoolExecutor(calls_count_max, "memoray-call")
        self._free = asyncio.Semaphore(calls_count_max)

    submit = _awaited(Memory.submit)
    submit_session = _awaited(Memory.submit_session)
    add = _awaited(Memory.add)
    update = _awaited(Memory.update)
    delete = _awaited(Memory.delete)
    clear = _awaited(Memory.clear)
    apply = _awaited(Memory.apply)
    undo = _awaited(Memory.undo)
    read = _awaited(Memory.read)
    history = _awaited(Memory.history)
    search = _awaited(Memory.search)
    preload = _awaited(Memory.preload)
    status = _awaited(Memory.status)
    wait = _awaited(Memory.wait)

    async def run(self, call: Callable[[], T]) -> T:
        """Run a call in one of the threads, as the methods do."""
        await self._free.acquire()
        running = asyncio.get_running_loop().run_in_executor(self._threads, call)
        # The thread is taken until the call ends, whether anybody still waits for it or not.
        running.add_done_callback(lambda _: self._free.release())
        return await asyncio.shield(running)

    async def close(self) -> bool:
        """Wait for the calls that run, then close what is behind; as `Memory.close`."""
        await asyncio.to_thread(self._threads.shutdown)
        return await asyncio.to_thread(self.memory.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def async_form(build: Callable[P, Memory]) -> Callable[P, Coroutine[Any, Any, AsyncMemory]]:
    """The awaitable form of what opens or connects: the same arguments, an `AsyncMemory` for a `Memory`."""

    @functools.wraps(build)
    async def make(*args: P.args, **kwargs: P.kwargs) -> AsyncMemory:
        return AsyncMemory(await asyncio.to_thread(build, *args, **kwargs))

    return make


open_async = async_form(open_store)
