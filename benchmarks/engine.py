"""The engine without Ray beside the bare floor, in one run: `python -m benchmarks.engine [USERSxENTRIES …]`.

Both are given the same texts, vectors and queries, in turns of small blocks, so that whatever else the machine does
hits both. Vectors are given; entries only; every store in a fresh folder. Times are medians of one run on one machine;
the ratios are what to look at.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import faiss
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.floor import Floor
from benchmarks.workload import DIMENSION, Query, Workload
from memoray.config import EngineConfig
from memoray.engine.clock import SystemClock
from memoray.engine.projections import entries_of
from memoray.engine.shard import Shard
from memoray.keys import UserKey
from memoray.operations import Add
from memoray.requests import OperationsRequest, SearchRequest
from memoray.retrieval.search import answer
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import Manifest, create_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

BATCH = 100
BLOCK = 10
K = 10
DEFAULT_SIZES = ("1x1000", "1x10000", "1000x100")
SETTLE_SECONDS_MAX = 600.0
# Most that the engine may take, in times of the floor; by what is measured and entries of one user.
AIMS = {
    "search": {1000: 1.1, 10_000: 0.6, 100_000: 0.25},
    "bulk add": {1000: 1.5, 10_000: 1.5, 100_000: 1.5},
}


class Given:
    """An embedder that gives the vectors which were handed over for these texts."""

    name = "given"
    dimension = DIMENSION

    def __init__(self) -> None:
        self.known: dict[str, Vectors] = {}

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> Vectors:  # noqa: ARG002 - drawn, not made
        """As `Embedder.embed`."""
        return np.stack([self.known[text] for text in texts])


class Engine:
    """One shard on local files."""

    def __init__(self, folder: Path) -> None:
        """Open it."""
        self._embedder = Given()
        self._fs = LocalFileSystem()
        self._root = str(folder)
        wanted = Manifest(
            store_id="bench",
            cluster_id="bench",
            shards_count=1,
            embedder_name=self._embedder.name,
            embedder_dimension=DIMENSION,
            embedder_fingerprint="",
        )
        self._manifest = create_manifest(self._fs, self._root, wanted)
        self._requests = time.monotonic_ns()
        self._shard = Shard(
            self._fs,
            self._root,
            self._manifest,
            0,
            config=EngineConfig(),
            clock=SystemClock(),
            embedder=self._embedder,
            extractor=None,
        )

    def add(self, user: str, _ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> list[str]:
        """Durable when this returns; gives the entry ids."""
        self._embedder.known = dict(zip(texts, vectors, strict=True))
        self._requests += 1
        request = OperationsRequest(UserKey("bench", user), tuple(Add(text) for text in texts), f"r{self._requests}")
        return [str(outcome.entry_id) for outcome in self._shard.apply(request).outcomes]

    def search(self, user: str, text: str, vector: Vectors, k: int, *, dedupe: bool = False) -> list[str]:
        """Ids of a hybrid search, best first; without dropping repeats it does what the floor does."""
        request = SearchRequest(UserKey("bench", user), text, limit=k, turns=False, dedupe=dedupe)
        return [hit.id for hit in answer(request, self._shard.find(request, vector.tobytes())).hits]

    def nearest(self, user: str, vector: Vectors, k: int) -> list[str]:
        """Ids of the vector leg alone."""
        return self._shard.projections.vectors.search(entries_of(UserKey("bench", user)), vector, k)[0]

    def settle(self) -> None:
        """Let a snapshot be made, as it is by itself when nothing is written for a while."""
        self._shard.seal(SETTLE_SECONDS_MAX)

    def close(self) -> None:
        """End the shard."""
        self._shard.close()


class Loaded(NamedTuple):
    """What one user was given."""

    texts: list[str]
    vectors: Vectors
    ids: dict[str, list[str]]


class Timer:
    """Times by store and by what was done, in milliseconds."""

    def __init__(self) -> None:
        self.times: dict[tuple[str, str], list[float]] = {}

    def run(self, store: str, what: str, step: Callable[[], Any]) -> Any:  # noqa: ANN401 - whatever the step gives
        """Do a step and note how long it took."""
        begun = time.perf_counter()
        result = step()
        self.times.setdefault((store, what), []).append((time.perf_counter() - begun) * 1000)
        return result

    def median(self, store: str, what: str) -> float:
        """The middle one."""
        return statistics.median(self.times[store, what])

    def total(self, store: str, what: str) -> float:
        """All of them together."""
        return sum(self.times[store, what])


class Scenario:
    """One size, measured."""

    def __init__(self, users: int, entries: int, folder: Path, rounds: int, progress: Progress) -> None:
        self._users, self._entries, self._rounds = users, entries, rounds
        self._folder = folder
        self._workload = Workload()
        self._timer = Timer()
        self._progress = progress
        self._stores: dict[str, Engine | Floor] = {
            "engine": Engine(folder / "engine"),
            "floor": Floor(folder / "floor"),
        }

    def run(self) -> dict[str, Any]:
        """All that the issue of speed is about; ratios are engine : floor."""
        task = self._progress.add_task(f"{self._users} x {self._entries}", total=self._users * self._entries)
        loaded = {f"u{number}": self._load(f"u{number}", task) for number in range(self._users)}
        for name, store in self._stores.items():
            self._timer.run(name, "settle", store.settle)
        queries = self._queries(loaded)
        found = self._search(queries, loaded)
        recall = self._recall(queries, loaded)
        self._singles(loaded)
        self._timer.run("engine", "settle", self._stores["engine"].settle)
        self._reopen(queries[0])
        return self._report(found, recall)

    def _load(self, user: str, task: Any) -> Loaded:  # noqa: ANN401 - rich's task id
        texts, parts, ids = list[str](), list[Any](), dict[str, list[str]]()
        for start in range(0, self._entries, BATCH):
            count = min(BATCH, self._entries - start)
            new, vectors = self._workload.texts(count), self._workload.vectors(count)
            keys = [f"e{start + number}" for number in range(count)]
            for name, store in self._stores.items():
                made = self._timer.run(name, "bulk add", lambda: store.add(user, keys, new, vectors))  # noqa: B023 - now
                ids.setdefault(name, []).extend(made or keys)
            texts += new
            parts.append(vectors)
            self._progress.advance(task, count)
        return Loaded(texts, np.concatenate(parts), ids)

    def _queries(self, loaded: dict[str, Loaded]) -> list[tuple[str, Query]]:
        users = list(loaded)
        chosen = [users[number % len(users)] for number in range(self._rounds)]
        return [(user, self._workload.query(loaded[user].texts, loaded[user].vectors)) for user in chosen]

    def _search(self, queries: list[tuple[str, Query]], loaded: dict[str, Loaded]) -> dict[str, float]:
        hits = dict.fromkeys(self._stores, 0)
        for start in range(0, len(queries), BLOCK):
            for name, store in self._stores.items():
                for user, query in queries[start : start + BLOCK]:
                    step = lambda: store.search(user, query.text, query.vector, K)  # noqa: B023, E731 - run now
                    hits[name] += loaded[user].ids[name][query.planted] in self._timer.run(name, "search", step)
            for user, query in queries[start : start + BLOCK]:
                self._timer.run("engine", "search without repeats", partial(self._deduped, user, query))
        return {name: count / len(queries) for name, count in hits.items()}

    def _deduped(self, user: str, query: Query) -> None:
        engine = self._stores["engine"]
        assert isinstance(engine, Engine), "only the engine drops repeats"
        engine.search(user, query.text, query.vector, K, dedupe=True)

    def _recall(self, queries: list[tuple[str, Query]], loaded: dict[str, Loaded]) -> float:
        """Share of the ten nearest that the engine's vector leg has among its first ten."""
        engine = self._stores["engine"]
        assert isinstance(engine, Engine), "the engine has a vector leg of its own"
        shares: list[float] = []
        for user, query in queries:
            known = loaded[user]
            best = np.argsort(-(known.vectors @ query.vector), kind="stable")[:K]
            wanted = {known.ids["engine"][row] for row in best.tolist()}
            shares.append(len(wanted & set(engine.nearest(user, query.vector, K))) / len(wanted))
        return statistics.mean(shares)

    def _singles(self, loaded: dict[str, Loaded]) -> None:
        users = list(loaded)
        for number in range(self._rounds):
            user, word = users[number % len(users)], f"zz{number}q"
            text, vector = f"single entry {word} {self._workload.texts(1)[0]}", self._workload.vectors(1)
            for name, store in self._stores.items():
                add = lambda: store.add(user, [f"s{number}"], [text], vector)  # noqa: B023, E731 - run now
                made = self._timer.run(name, "durable single add", add) or [f"s{number}"]
                search = lambda: store.search(user, word, vector[0], K)  # noqa: B023, E731 - run now
                found = self._timer.run(name, "search right after an add", search)
                assert made[0] in found, f"{name} does not find what it was just given"

    def _reopen(self, query: tuple[str, Query]) -> None:
        user, asked = query
        for name, store in self._stores.items():
            store.close()
            kind = type(store)

            def step() -> Engine | Floor:
                opened = kind(self._folder / name)  # noqa: B023 - run now
                opened.search(user, asked.text, asked.vector, K)
                return opened

            self._timer.run(name, "reopen to first search", step).close()

    def _report(self, found: dict[str, float], recall: float) -> dict[str, Any]:
        rows: dict[str, dict[str, float]] = {}
        for what in ("durable single add", "bulk add", "search", "search right after an add", "reopen to first search"):
            count = self._users * self._entries if what == "bulk add" else 1
            taken = self._timer.total if what == "bulk add" else self._timer.median
            ours, floor = taken("engine", what) / count, taken("floor", what) / count
            rows[what] = {"engine_ms": ours, "floor_ms": floor, "ratio": ours / floor}
            aim = AIMS.get(what, {}).get(self._entries if self._users == 1 else 0)
            if aim is not None:
                rows[what]["aim"] = aim
        deduped, floor = self._timer.median("engine", "search without repeats"), rows["search"]["floor_ms"]
        rows["search, repeats dropped"] = {"engine_ms": deduped, "floor_ms": floor, "ratio": deduped / floor}
        rows["search right after an add"]["times_of_a_search"] = (
            rows["search right after an add"]["engine_ms"] / rows["search"]["engine_ms"]
        )
        return {
            "scenario": f"{self._users}x{self._entries}",
            "dimension": DIMENSION,
            "cores": os.cpu_count(),
            "rows": rows,
            "settle_s": self._timer.total("engine", "settle") / 1000,
            "recall@10": recall,
            "hit@10": found,
            "disk_bytes": {name: _disk_bytes(self._folder / name) for name in self._stores},
            "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }


def _disk_bytes(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _show(report: dict[str, Any], console: Console) -> None:
    table = Table(title=f"{report['scenario']} entries, {report['dimension']} dimensions, {report['cores']} cores")
    for name in ("", "Memoray, ms", "bare floor, ms", "ratio", "aim"):
        table.add_column(name, justify="right" if name else "left")
    for what, row in report["rows"].items():
        aim = f"≤ {row['aim']}" if "aim" in row else ""
        table.add_row(what, f"{row['engine_ms']:.3f}", f"{row['floor_ms']:.3f}", f"{row['ratio']:.2f}", aim)
    console.print(table)
    rows, disk = report["rows"], report["disk_bytes"]
    after, memory = rows["search right after an add"]["times_of_a_search"], report["peak_memory_bytes"]
    console.print(f"a search right after an add takes {after:.2f} × a search (aim ≤ 1.5)")
    console.print(
        f"recall@10 of the vector leg {report['recall@10']:.3f} (aim ≥ 0.99); planted found {report['hit@10']}"
    )
    console.print(f"snapshots took {report['settle_s']:.1f} s beyond the loading")
    console.print(
        f"disk {disk['engine'] / 2**20:.0f} MiB beside {disk['floor'] / 2**20:.0f}; peak memory of both together "
        f"{memory / 2**20:.0f} MiB"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure each size with both and print them side by side."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.engine", description=__doc__)
    parser.add_argument("sizes", nargs="*", default=DEFAULT_SIZES, help="USERSxENTRIES, such as 1x100000")
    parser.add_argument("--rounds", type=int, default=200, help="searches, and single adds, of each store")
    parser.add_argument("--json", action="store_true", help="one JSON object a line instead of tables")
    chosen = parser.parse_args(arguments)
    faiss.omp_set_num_threads(1)
    console = Console(file=sys.stderr if chosen.json else sys.stdout)
    for size in chosen.sizes:
        users, entries = (int(part) for part in size.split("x"))
        with tempfile.TemporaryDirectory() as folder, Progress(console=console, transient=True) as progress:
            report = Scenario(users, entries, Path(folder), chosen.rounds, progress).run()
        if chosen.json:
            print(json.dumps(report))
        else:
            _show(report, console)


if __name__ == "__main__":
    main()
