"""The search that reconcile asks: which live entries may already say what an add says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.engine.projections import entries_of
from memoray.engine.vector_bytes import from_bytes
from memoray.entries import EntryId
from memoray.extraction.reconcile import Candidate
from memoray.text import index_terms, jaccard, word_set

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memoray.engine.draft import Draft
    from memoray.engine.projections import Projections
    from memoray.operations import Add

CANDIDATES_COUNT_MAX = 3
PROBE_SCORE_MIN = 0.30
PROBE_JACCARD_MIN = 0.40
LEG_DEPTH = 10


class CandidateFinder:
    """Hybrid search in the indexes, and a scan of what the indexes don't know yet. Called by the writer thread."""

    def __init__(self, projections: Projections, language: str) -> None:
        self._projections = projections
        self._language = language

    def __call__(self, draft: Draft, add: Add, vector: bytes | None) -> list[Candidate]:
        """Up to three live entries, best first: by cosine similarity, then word-set Jaccard, then id."""
        query = None if vector is None else from_bytes(vector)
        words = word_set(add.text)
        found: list[tuple[float, float, Candidate]] = []
        for entry_id in self._near(draft, add, query):
            entry = draft.state.entries.get(entry_id)
            if entry is None:
                continue
            score = 0.0 if query is None else self._cosine(draft, entry_id, query)
            overlap = jaccard(words, word_set(entry.text))
            if score >= PROBE_SCORE_MIN or overlap >= PROBE_JACCARD_MIN:
                found.append((-score, -overlap, Candidate(entry, score)))
        found.sort(key=lambda item: (item[0], item[1], item[2].entry.id))
        return [candidate for _, _, candidate in found[:CANDIDATES_COUNT_MAX]]

    def _near(self, draft: Draft, add: Add, query: npt.NDArray[np.float32] | None) -> list[EntryId]:
        space = entries_of(draft.user)
        ids: dict[str, None] = dict.fromkeys(draft.fresh)
        if query is not None:
            ids.update(dict.fromkeys(self._projections.vectors.search(space, query, LEG_DEPTH)[0]))
        terms = index_terms(add.text, self._language)
        ids.update(dict.fromkeys(self._projections.keywords.search(space, terms, LEG_DEPTH)[0]))
        return [EntryId(key) for key in ids]

    def _cosine(self, draft: Draft, entry_id: EntryId, query: npt.NDArray[np.float32]) -> float:
        if entry_id in draft.fresh:
            fresh = draft.fresh[entry_id]
            return 0.0 if fresh is None else float(from_bytes(fresh) @ query)
        known = self._projections.vectors.vector_of(entries_of(draft.user), entry_id)
        return 0.0 if known is None else float(known @ query)
