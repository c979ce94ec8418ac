"""The query that looks for what is already known about a delta. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memoray.messages import Turn

QUERY_BYTES_MAX = 7168
_GAP = "\n...\n"


def lookup_query(delta: Sequence[Turn]) -> str:
    """The texts of a delta as one query of at most 7,168 bytes of UTF-8; the middle of a longer one is left out."""
    text = " ".join(turn.text.strip() for turn in delta)
    encoded = text.encode()
    if len(encoded) <= QUERY_BYTES_MAX:
        return text
    half = (QUERY_BYTES_MAX - len(_GAP)) // 2
    head = encoded[:half].decode(errors="ignore").strip()
    tail = encoded[-half:].decode(errors="ignore").strip()
    return head + _GAP + tail
