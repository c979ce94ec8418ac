"""The engine without Ray beside the bare floor, in one run: `python -m benchmarks.engine [ENTRIES …]`.

The floor does the least that could work: append and fdatasync the same bytes, one flat FAISS index, one Tantivy index
that is committed before a search. No isolation, no outcomes, no history. Figures are medians of one run on one machine;
the ratios are what to look at. Vectors are given; texts are made of a Zipf-like vocabulary.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import faiss
import numpy as np
import tantivy
from rich.console import Console
from rich.progress import track
from rich.table import Table

from memoray.config import EngineConfig
from memoray.engine.clock import SystemClock
from memoray.engine.shard import Shard
from memoray.keys import UserKey
from memoray.operations import Add
from memoray.requests import OperationsRequest, SearchRequest
from memoray.retrieval.fusion import Leg, fuse
from memoray.retrieval.search import answer
from memoray.storage.filesystem import LocalFileSystem
from memoray.storage.manifest import Manifest, create_manifest
from memoray.text import index_terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

DIMENSION = 384
BATCH = 500
ROUNDS = 100
USER = UserKey("bench", "user")


class Texts:
    """Texts and vectors, the same in every run."""

    def __init__(self) -> None:
        self._random = np.random.default_rng(7)
        self._made: dict[str, npt.NDArray[np.float32]] = {}

    def text(self) -> str:
        """Twelve words, common ones more often."""
        return " ".join(f"word{int(number) % 5000}" for number in self._random.zipf(1.4, 12))

    @property
    def name(self) -> str:
        """As an embedder."""
        return "given"

    @property
    def dimension(self) -> int:
        """As an embedder."""
        return DIMENSION

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """A random unit vector for each text, as an embedder."""
        made = self._random.standard_normal((len(texts), DIMENSION)).astype(np.float32)
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)


class Engine:
    """One shard on local files."""

    def __init__(self, root: str, texts: Texts) -> None:
        self._texts = texts
        self._number = 0
        fs = LocalFileSystem()
        manifest = Manifest(
            store_id="bench",
            cluster_id="bench",
            shards_count=1,
            embedder_name=texts.name,
            embedder_dimension=DIMENSION,
            embedder_fingerprint="",
        )
        create_manifest(fs, root, manifest)
        parts = {"config": EngineConfig(), "clock": SystemClock(), "embedder": texts, "extractor": None}
        self._open: Callable[[], Shard] = lambda: Shard(fs, root, manifest, 0, **parts)  # type: ignore[arg-type]  # as named
        self._shard = self._open()

    def add(self, texts: Sequence[str]) -> None:
        """Durable when this returns."""
        self._number += 1
        self._shard.apply(OperationsRequest(USER, tuple(Add(text) for text in texts), f"r{self._number}"))

    def search(self, text: str, vector: npt.NDArray[np.float32]) -> int:
        """Hybrid search, ten hits."""
        request = SearchRequest(USER, text, turns=False, dedupe=False)
        return len(answer(request, self._shard.find(request, vector.tobytes())).hits)

    def reopen(self) -> None:
        """Close, and open up to the first search."""
        self._shard.close()
        self._shard = self._open()

    def close(self) -> None:
        """End the shard."""
        self._shard.close()


class Floor:
    """The least that could work."""

    def __init__(self, root: str, texts: Texts) -> None:
        self._texts = texts
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("key", stored=True, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("text", stored=False, tokenizer_name="en_stem", index_option="freq")
        self._schema = builder.build()
        self._path = Path(root) / "log"
        self._path.parent.mkdir(parents=True)
        self._start()

    def _start(self) -> None:
        self._vectors = faiss.IndexFlatIP(DIMENSION)
        self._index = tantivy.Index(self._schema, path=None)
        self._index.config_reader(reload_policy="manual")
        self._writer = self._index.writer(64_000_000, 1)
        self._count = 0
        self._is_dirty = False
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def add(self, texts: Sequence[str]) -> None:
        """Durable when this returns."""
        vectors = self._texts.embed(texts)
        os.write(self._file, json.dumps([list(texts), vectors.tobytes().hex()]).encode() + b"\n")
        os.fdatasync(self._file)
        self._index_all(texts, vectors)

    def _index_all(self, texts: Sequence[str], vectors: npt.NDArray[np.float32]) -> None:
        self._vectors.add(vectors)
        for text in texts:
            self._writer.add_document(tantivy.Document(key=str(self._count), text=text))
            self._count += 1
        self._is_dirty = True

    def search(self, text: str, vector: npt.NDArray[np.float32]) -> int:
        """Hybrid search, ten hits."""
        if self._is_dirty:
            self._writer.commit()
            self._index.reload()
            self._is_dirty = False
        scores, rows = self._vectors.search(vector[None, :], min(50, self._count))
        searcher = self._index.searcher()
        query = self._index.parse_query(" ".join(index_terms(text)), ["text"])
        found = searcher.search(query, 50, count=False).hits
        keys = [str(searcher.doc(address)["key"][0]) for _, address in found]
        legs = [
            Leg("vector", tuple(str(row) for row in rows[0]), tuple(float(score) for score in scores[0])),
            Leg("keyword", tuple(keys), tuple(float(score) for score, _ in found)),
        ]
        return len(fuse(legs)[:10])

    def reopen(self) -> None:
        """Read the log again, up to the first search."""
        os.close(self._file)
        self._start()
        for line in self._path.read_bytes().splitlines():
            texts, vectors = json.loads(line)
            self._index_all(texts, np.frombuffer(bytes.fromhex(vectors), np.float32).reshape(-1, DIMENSION))

    def close(self) -> None:
        """Close the log."""
        os.close(self._file)


def _median_ms(step: Callable[[], object], rounds: int = ROUNDS) -> float:
    times: list[float] = []
    for _ in range(rounds):
        start = time.perf_counter()
        step()
        times.append((time.perf_counter() - start) * 1000)
    return statistics.median(times)


def measure(store: Engine | Floor, texts: Texts, entries: int) -> dict[str, float]:
    """Milliseconds by what was done; for `bulk add` per entry."""
    start = time.perf_counter()
    for _ in track(range(0, entries, BATCH), description=f"{type(store).__name__} {entries}", transient=True):
        store.add([texts.text() for _ in range(BATCH)])
    bulk = (time.perf_counter() - start) * 1000 / entries
    vector = texts.embed(["query"])[0]
    store.search(texts.text(), vector)
    search = _median_ms(lambda: store.search(texts.text(), vector))

    def add_and_search() -> float:
        store.add([texts.text()])
        begun = time.perf_counter()
        store.search(texts.text(), vector)
        return (time.perf_counter() - begun) * 1000

    after_add = statistics.median(add_and_search() for _ in range(ROUNDS))
    single = _median_ms(lambda: store.add([texts.text()]))
    begun = time.perf_counter()
    store.reopen()
    store.search(texts.text(), vector)
    reopen = (time.perf_counter() - begun) * 1000
    return {
        "bulk add, one entry": bulk,
        "durable single add": single,
        "hybrid search": search,
        "search right after an add": after_add,
        "reopen to first search": reopen,
    }


def main(sizes: Sequence[int]) -> None:
    """Measure each size with both and print them side by side."""
    faiss.omp_set_num_threads(1)
    for entries in sizes:
        with tempfile.TemporaryDirectory() as folder:
            texts = Texts()
            engine, floor = Engine(f"{folder}/engine", texts), Floor(f"{folder}/floor", texts)
            ours, bare = measure(engine, texts, entries), measure(floor, texts, entries)
            engine.close()
            floor.close()
        table = Table(title=f"1 user x {entries} entries, {DIMENSION} dimensions, {os.cpu_count()} cores")
        for name in ("", "Memoray, ms", "bare floor, ms", "ratio"):
            table.add_column(name, justify="right" if name else "left")
        for name, value in ours.items():
            table.add_row(name, f"{value:.3f}", f"{bare[name]:.3f}", f"{value / bare[name]:.2f}")
        Console().print(table)


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [1000, 10_000])
