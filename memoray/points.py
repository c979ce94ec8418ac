"""Named points of the write path, for tests that kill, stall or fail a process there.

In production nothing is installed, and a point costs the call of a function that returns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

OPENING = ("claimed", "recovered", "header_written", "header_synced", "owned")
WRITING = (
    "decided",
    "before_append",
    "after_append",
    "after_sync",
    "after_look",
    "keywords_applied",
    "vectors_applied",
    "visible",
    "answered",
)
JOBS = ("proposed", "embedded", "job_committed")
SEALING = ("seal_begun", "seal_written", "seal_synced", "seal_renamed", "seal_folded", "seal_exchanged", "seal_done")
POINTS = (*OPENING, *WRITING, *JOBS, *SEALING)

_hooks: list[Callable[[str], None]] = []


def reach(point: str) -> None:
    """Be at a point."""
    if _hooks:
        _hooks[-1](point)


def install(hook: Callable[[str], None] | None) -> None:
    """Have a function called, in whatever thread, at every point that is reached; None: no more. For tests."""
    _hooks[:] = [] if hook is None else [hook]
