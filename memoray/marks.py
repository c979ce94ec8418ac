"""The lines between which memories stand in a prompt: preload writes them, a delta leaves out what stands there."""

from __future__ import annotations

BLOCK_MARK = "PRELOADED_USER_MEMORIES"
BLOCK_BEGINS = f"{BLOCK_MARK} BEGINS"
BLOCK_ENDS = f"{BLOCK_MARK} ENDS"
