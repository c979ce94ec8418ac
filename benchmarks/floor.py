"""The bare floor, the least that could work: append and sync, a flat FAISS index for each user, one Tantivy index.

No isolation but a term, no outcomes, no history, nothing can be changed. Tantivy is committed before the first search
after a write, because the line is the durable copy; at opening everything is built from the lines again.
"""

from __future__ import annotations

import base64
import json
import os
import re
from typing import TYPE_CHECKING

import faiss
import numpy as np
import tantivy

from benchmarks.workload import DIMENSION

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]

DEPTH = 50
RRF_K = 60
WRITER_HEAP_BYTES = 64_000_000
WORD = re.compile(r"[a-z0-9]+")


class Floor:
    """One store in one folder."""

    def __init__(self, folder: Path) -> None:
        """Open it: read all lines and index them."""
        builder = tantivy.SchemaBuilder()
        builder.add_text_field("user", stored=False, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("key", stored=True, tokenizer_name="raw", index_option="basic")
        builder.add_text_field("text", stored=False, tokenizer_name="en_stem", index_option="freq")
        self._schema = builder.build()
        self._index = tantivy.Index(self._schema, path=None)
        self._index.config_reader(reload_policy="manual")
        self._writer = self._index.writer(WRITER_HEAP_BYTES, 1)
        self._searcher = self._index.searcher()
        self._is_dirty = False
        self._users: dict[str, tuple[faiss.IndexFlatIP, list[str]]] = {}
        path = folder / "log"
        folder.mkdir(parents=True, exist_ok=True)
        if path.exists():
            with path.open() as lines:
                for line in lines:
                    user, ids, texts, packed = json.loads(line)
                    matrix = np.frombuffer(base64.b64decode(packed), np.float32).reshape(-1, DIMENSION)
                    self._put(user, ids, texts, matrix)
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def add(self, user: str, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        """Durable when this returns."""
        line = json.dumps([user, list(ids), list(texts), base64.b64encode(vectors.tobytes()).decode()])
        os.write(self._file, line.encode() + b"\n")
        os.fdatasync(self._file)
        self._put(user, ids, texts, vectors)

    def _put(self, user: str, ids: Sequence[str], texts: Sequence[str], vectors: Vectors) -> None:
        if user not in self._users:
            self._users[user] = faiss.IndexFlatIP(DIMENSION), []
        index, keys = self._users[user]
        index.add(vectors)
        keys.extend(ids)
        for key, text in zip(ids, texts, strict=True):
            self._writer.add_document(tantivy.Document(user=user, key=key, text=text))
        self._is_dirty = True

    def search(self, user: str, text: str, vector: Vectors, k: int) -> list[str]:
        """Ids by reciprocal rank fusion of both indexes, best first."""
        if self._is_dirty:
            self._writer.commit()
            self._index.reload()
            self._searcher = self._index.searcher()
            self._is_dirty = False
        index, keys = self._users[user]
        rows = index.search(vector[None, :], min(DEPTH, len(keys)))[1][0]
        words = self._index.parse_query(" ".join(WORD.findall(text.lower())), ["text"])
        of_user = tantivy.Query.term_query(self._schema, "user", user)
        query = tantivy.Query.boolean_query([(tantivy.Occur.Must, of_user), (tantivy.Occur.Must, words)])
        hits = self._searcher.search(query, DEPTH, count=False).hits
        scores: dict[str, float] = {}
        for ranked in (
            [keys[row] for row in rows if row >= 0],
            [str(self._searcher.doc(address)["key"][0]) for _, address in hits],
        ):
            for rank, key in enumerate(ranked, 1):
                scores[key] = scores.get(key, 0.0) + 1 / (RRF_K + rank)
        return sorted(scores, key=lambda key: -scores[key])[:k]

    def settle(self) -> None:
        """Nothing goes on in the background."""

    def close(self) -> None:
        """Close the log."""
        os.close(self._file)
