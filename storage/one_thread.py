"""FAISS on the calling thread alone.

Our searches are of one query each, for which a team of threads gains next to nothing; and a process that forked after a
team was made hangs in the child's first search. The setting is OpenMP's, per thread, and put back afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ParamSpec, TypeVar

import faiss

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
R = TypeVar("R")


def on_one_thread(call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function of FAISS."""
    before = faiss.omp_get_max_threads()
    if before == 1:
        return call(*args, **kwargs)
    faiss.omp_set_num_threads(1)
    try:
        return call(*args, **kwargs)
    finally:
        faiss.omp_set_num_threads(before)
