"""The awaited form: the same names and arguments, bounded threads, and what a cancelled task leaves behind."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import memoray
from memoray.engine.asynchronous import AsyncMemory
from memoray.engine.memory import Memory
from tests.support.fake_embedder import FakeEmbedder

ANA = memoray.UserKey("app", "ana")
LONG = 20.0


def test_every_method_has_its_awaited_form_with_the_same_arguments() -> None:
    names = [name for name, _ in inspect.getmembers(Memory, inspect.isfunction) if not name.startswith("_")]
    for name in names:
        awaited = getattr(AsyncMemory, name)
        assert inspect.iscoroutinefunction(awaited), name
        plain = inspect.signature(getattr(Memory, name)).parameters
        assert list(inspect.signature(awaited).parameters.values())[1:] == list(plain.values())[1:]
    assert len(names) > 10


class Gate:
    """Calls that wait until they are let through; counts them."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.begun = 0
        self.ended = 0
        self._lock = threading.Lock()

    def pass_through(self) -> int:
        with self._lock:
            self.begun += 1
        assert self.opened.wait(LONG)
        with self._lock:
            self.ended += 1
            return self.ended


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memoray.open(tmp_path / "store", embedder=FakeEmbedder(), extractor="none") as opened:
        yield opened


async def until(gate: Gate, begun: int) -> None:
    async with asyncio.timeout(LONG):
        while gate.begun < begun:  # noqa: ASYNC110 - it is threads that come by
            await asyncio.sleep(0.001)


def test_calls_are_bounded_and_the_rest_waits_in_the_loop(memory: Memory) -> None:
    async def run() -> None:
        gate = Gate()
        async with AsyncMemory(memory, calls_count_max=2) as awaited:
            tasks = [asyncio.create_task(awaited.run(gate.pass_through)) for _ in range(5)]
            await until(gate, 2)
            await asyncio.sleep(0.05)
            assert gate.begun == 2
            gate.opened.set()
            assert sorted(await asyncio.gather(*tasks)) == [1, 2, 3, 4, 5]

    asyncio.run(run())


def test_whoever_hangs_up_cancels_what_has_not_begun_and_nothing_else(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    handed_over: list[object] = []
    submit = ThreadPoolExecutor.submit

    def counted(pool: ThreadPoolExecutor, call: Callable[[], int]) -> Future[int]:
        handed_over.append(call)
        return submit(pool, call)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", counted)

    async def run() -> None:
        gate = Gate()
        async with AsyncMemory(memory, calls_count_max=1) as awaited:
            begun = asyncio.create_task(awaited.run(gate.pass_through))
            await until(gate, 1)
            waiting = [asyncio.create_task(awaited.run(gate.pass_through)) for _ in range(3)]
            await asyncio.sleep(0.01)
            for task in (begun, waiting[0]):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await asyncio.sleep(0.05)
            assert len(handed_over) == 1, "the thread of a cancelled call is not free before the call ends"
            gate.opened.set()
            await asyncio.gather(*waiting[1:])
            assert (gate.begun, gate.ended) == (3, 3)

    asyncio.run(run())


def test_what_a_cancelled_task_has_handed_over_stays(tmp_path: Path) -> None:
    async def run() -> list[str]:
        opened = await memoray.open_async(tmp_path / "store", embedder=FakeEmbedder(), extractor="none")
        async with opened as awaited:
            task = asyncio.create_task(awaited.add(ANA, "Kept all the same", request_id="r1"))
            await asyncio.sleep(0)  # it has begun
            task.cancel()
            again = await awaited.add(ANA, "Kept all the same", request_id="r1")
            assert again.status == "applied"
            return [entry.text for entry in (await awaited.read(ANA)).entries]

    assert asyncio.run(run()) == ["Kept all the same"]
