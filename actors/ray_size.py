"""How large a Ray of our own is. Without Ray, so that the command line is quick to start."""

from __future__ import annotations

import os

OBJECT_STORE_BYTES = 256 * 2**20
_CPUS_COUNT_MIN = 4


def cpus_count() -> int:
    """CPUs that Ray is told of: a number for its scheduler; our actors ask for none of them."""
    return max(_CPUS_COUNT_MIN, os.cpu_count() or 1)
