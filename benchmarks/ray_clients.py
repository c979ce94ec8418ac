"""Requests a second of one deployment on Ray, with one client and with many: `python -m benchmarks.ray_clients`.

Rates are of one run on one machine: compare them with the rate of empty calls beside them, and many clients with one.
Clients are threads; `--drivers N` spreads them over N processes of their own. `submit` is a message, `add` a memory,
each durable when it is answered; `search` finds ten hits among 1,000 memories with both legs, its queries embedded
before. Vectors are drawn, not computed, unless `--embedder minilm` is asked for: then a model of some hundred texts a
second, whose own rate stands below, bounds `add`, and takes time from everything else.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import threading
import time
import zlib
from typing import TYPE_CHECKING, Any, cast

import msgspec
import numpy as np
import ray
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.actors.models import RemoteEmbedder
from memoray.actors.naming import EMBEDDER_NAME, retriever_name, shard_name
from memoray.actors.runtime import join_ray, start_ray, stop_ray
from memoray.actors.wire import encode
from memoray.config import EngineConfig
from memoray.engine.binding import EmbedderCard
from memoray.keys import UserKey, shard_of
from memoray.messages import Message
from memoray.operations import Add

if TYPE_CHECKING:
    from collections.abc import Callable

NAMESPACE = "bench"
DIMENSION = 384
ENTRIES_COUNT = 1000
QUERIES_COUNT = 50
WORDS = (
    "amber birch cobalt delta ember fjord garnet harbour indigo juniper kelp lagoon maple nectar onyx pewter".split()
)
KINDS = ("empty call", "search", "add", "submit")


class Rate(msgspec.Struct, frozen=True):
    """What one kind of request came to.

    Attributes:
        p50_ms: of a single request, as a client sees it; likewise `p99_ms`.
        cpu_us: microseconds of processor time for each request, by process; of other load on the machine it knows less
            than the rates. A shard does one thing at a time: its share bounds what one shard can do.
    """

    kind: str
    clients: int
    per_second: float
    p50_ms: float
    p99_ms: float
    cpu_us: dict[str, float]


def text_of(number: int) -> str:
    """A sentence of its own for each number."""
    picked = [WORDS[(number // len(WORDS) ** power) % len(WORDS)] for power in range(3)]
    return f"The {picked[0]} box number {number} stands behind the {picked[1]} door with the {picked[2]} key"


def user_of(app: str, shard: int, shards_count: int) -> UserKey:
    """A user of an app who lives on a shard."""
    candidates = (UserKey(app, f"user-{number}") for number in range(100_000))
    return next(user for user in candidates if shard_of(user, shards_count) == shard)


class DrawnEmbedder:
    """In place of the embedder actor: a unit vector for each text, drawn with the text as seed."""

    def name(self) -> bytes:
        """As of the embedder actor."""
        return encode("drawn")

    def card(self) -> bytes:
        """As of the embedder actor."""
        return encode(EmbedderCard("drawn", DIMENSION, b""))

    def embed(self, texts: list[str], _is_query: bool) -> bytes:  # noqa: FBT001 - as of the actor
        """As of the embedder actor."""
        made = np.array([np.random.default_rng(zlib.crc32(text.encode())).standard_normal(DIMENSION) for text in texts])
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), "<f4").tobytes()


class Clients:
    """Clients of one process: threads that share a `Client`."""

    def __init__(self, number: int = 0) -> None:
        self._number = number
        self._client = Client(NAMESPACE)
        shards_count = self._client.plan.shards_count
        self._users = [user_of("writing", shard, shards_count) for shard in range(shards_count)]
        self._readers = [user_of("reading", shard, shards_count) for shard in range(shards_count)]
        self._shards = [ray.get_actor(shard_name(shard), namespace=NAMESPACE) for shard in range(shards_count)]

    def run(self, kind: str, clients: int, seconds: float) -> list[float]:
        """Ask as fast as the answers come; seconds that each request took."""
        step, took = self._steps()[kind], [list[float]() for _ in range(clients)]
        ends = time.perf_counter() + seconds

        def work(client: int) -> None:
            number = 0
            while (begun := time.perf_counter()) < ends:
                step(client, number)
                took[client].append(time.perf_counter() - begun)
                number += 1

        threads = [threading.Thread(target=work, args=(client,)) for client in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return [one for each in took for one in each]

    def _steps(self) -> dict[str, Callable[[int, int], object]]:
        users, readers, shards, client = self._users, self._readers, self._shards, self._client
        run = f"{self._number}-{time.time_ns()}"

        def empty(mine: int, _number: int) -> object:
            return ray.get(cast("Any", shards[mine % len(shards)]).pid.remote())

        def submit(mine: int, number: int) -> object:
            said = Message("user", text_of(mine * 1_000_003 + number), id=f"{run}-{mine}-{number}")
            return client.submit(users[mine % len(users)], f"session-{run}-{mine}", [said])

        def add(mine: int, number: int) -> object:
            return client.add(users[mine % len(users)], f"{text_of(mine * 1_000_003 + number)} ({run})")

        def search(mine: int, number: int) -> object:
            return client.search(readers[mine % len(readers)], text_of((mine + number) % QUERIES_COUNT), turns=False)

        return {"empty call": empty, "submit": submit, "add": add, "search": search}


class Bench:
    """A deployment, and the clients on it."""

    def __init__(self, store: str, shards_count: int, drivers: int, embedder: str) -> None:
        if embedder == "drawn":
            options = {"name": EMBEDDER_NAME, "namespace": NAMESPACE, "lifetime": "detached", "num_cpus": 0}
            self._embedder = ray.remote(DrawnEmbedder).options(**options).remote()
        config = ClusterConfig(
            store=store,
            shards_count=shards_count,
            namespace=NAMESPACE,
            extractor="none",
            engine=EngineConfig(jobs_count_max=10**6),
        )
        self.cluster = Cluster(config)
        self.cluster.ensure_shards()
        self._here = Clients()
        host = ray.remote(Clients)
        hosts = range(drivers) if drivers > 1 else ()
        self._hosts: list[Any] = [host.options(num_cpus=0).remote(number + 1) for number in hosts]
        self._actors = {
            name: ray.get_actor(name, namespace=NAMESPACE)
            for name in (*(shard_name(shard) for shard in range(shards_count)), retriever_name(0), EMBEDDER_NAME)
        }

    def _cpu_seconds(self) -> dict[str, float]:
        def spent(_actor: object) -> float:
            return time.process_time()

        spent_there: dict[str, Any] = {name: handle.__ray_call__.remote(spent) for name, handle in self._actors.items()}
        return {"client": time.process_time(), **{name: float(ray.get(reply)) for name, reply in spent_there.items()}}

    def fill(self) -> None:
        """Memories to search, and queries embedded."""
        client = Client(NAMESPACE)
        for shard in range(self.cluster.config.shards_count):
            user = user_of("reading", shard, self.cluster.config.shards_count)
            for start in range(0, ENTRIES_COUNT, 100):
                client.apply(user, [Add(text_of(number)) for number in range(start, start + 100)])
            for number in range(QUERIES_COUNT):
                client.search(user, text_of(number), turns=False)

    def measure(self, kind: str, clients: int, seconds: float) -> Rate:
        """One kind of request with so many clients."""
        cpu, begun = self._cpu_seconds(), time.perf_counter()
        if clients == 1 or not self._hosts:
            took = self._here.run(kind, clients, seconds)
        else:
            share = clients // len(self._hosts)
            runs = [host.run.remote(kind, share, seconds) for host in self._hosts]
            took = [one for each in cast("list[list[float]]", ray.get(runs)) for one in each]
        elapsed = time.perf_counter() - begun
        cpu_us = {name: (end - cpu[name]) / len(took) * 1e6 for name, end in self._cpu_seconds().items()}
        took.sort()
        return Rate(kind, clients, len(took) / elapsed, _ms(took, 0.5), _ms(took, 0.99), cpu_us)

    def texts_per_second(self, seconds: float) -> float:
        """The embedder's own rate, many texts a call."""
        embedder = RemoteEmbedder(Client(NAMESPACE).plan.card, NAMESPACE)
        done, begun = 0, time.perf_counter()
        while time.perf_counter() - begun < seconds:
            embedder.embed([text_of(number) for number in range(done, done + 64)])
            done += 64
        return done / (time.perf_counter() - begun)


def _ms(took: list[float], part: float) -> float:
    return took[min(len(took) - 1, int(len(took) * part))] * 1000


class Result(msgspec.Struct, frozen=True):
    """What a run came to: for each kind the rate of one client, and that of many."""

    cores: int
    texts_embedded_per_second: float
    rates: dict[str, tuple[Rate, Rate]]


def run(chosen: argparse.Namespace, progress: Progress) -> Result:
    """Measure on the Ray that this process has joined."""
    kinds, rates = chosen.only or KINDS, dict[str, tuple[Rate, Rate]]()
    with tempfile.TemporaryDirectory() as folder:
        task = progress.add_task("Starting", total=2 * len(kinds) + 1)
        bench = Bench(f"{folder}/store", chosen.shards, chosen.drivers, chosen.embedder)
        try:
            bench.fill()
            progress.update(task, advance=1)

            def measured(kind: str, clients: int) -> Rate:
                progress.update(task, description=f"{kind}, {clients} clients")
                bench.measure(kind, clients, min(1.0, chosen.seconds))  # warm up
                rate = bench.measure(kind, clients, chosen.seconds)
                progress.update(task, advance=1)
                return rate

            for kind in kinds:
                rates[kind] = measured(kind, 1), measured(kind, chosen.clients)
            embedded = bench.texts_per_second(min(2.0, chosen.seconds))
        finally:
            bench.cluster.stop()
    return Result(os.cpu_count() or 1, embedded, rates)


def parse(arguments: list[str]) -> argparse.Namespace:
    """What to measure."""
    parser = argparse.ArgumentParser(prog="benchmarks.ray_clients", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--address", help="of a Ray that runs; default: one of its own")
    parser.add_argument("--clients", type=int, default=64, help="beside one client")
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--drivers", type=int, default=1, help="processes that the clients are spread over")
    parser.add_argument("--embedder", choices=("drawn", "minilm"), default="drawn")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each measurement")
    parser.add_argument("--only", choices=KINDS, action="append", help="may be given several times")
    parser.add_argument("--json", action="store_true", help="print JSON, and nothing else, to standard output")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> None:
    """Measure and print."""
    chosen = parse(arguments)
    if chosen.address is None:
        start_ray(NAMESPACE)
    else:
        join_ray(NAMESPACE, chosen.address)
    with Progress(console=Console(stderr=True), disable=chosen.json) as progress:
        result = run(chosen, progress)
    stop_ray()
    if chosen.json:
        sys.stdout.write(msgspec.json.encode(result).decode() + "\n")
        return
    title = f"{chosen.shards} shards, {chosen.drivers} drivers, {result.cores} cores; requests a second"
    embedder = f"the embedder alone: {result.texts_embedded_per_second:.0f} texts a second"
    table = Table(title=title, caption=embedder)
    many_clients = f"{chosen.clients} clients"
    for name in ("", "1 client", "p50, p99 ms", many_clients, "p50, p99 ms", "ratio"):
        table.add_column(name, justify="right" if name else "left")
    processes = sorted({name for rates in result.rates.values() for name in rates[1].cpu_us})
    spent = Table(title=f"microseconds of processor time for each request, {many_clients}")
    for name in ("", *processes):
        spent.add_column(name, justify="right" if name else "left")
    for kind, (one, many) in result.rates.items():
        pairs = [(f"{rate.per_second:.0f}", f"{rate.p50_ms:.1f}, {rate.p99_ms:.1f}") for rate in (one, many)]
        table.add_row(kind, *pairs[0], *pairs[1], f"{many.per_second / one.per_second:.1f}")
        spent.add_row(kind, *(f"{many.cpu_us[name]:.0f}" for name in processes))
    Console().print(table, spent)


if __name__ == "__main__":
    main(sys.argv[1:])
