"""The clock of the wall, for whoever runs an engine outside a test."""

from __future__ import annotations

from datetime import UTC, datetime


class SystemClock:
    """The wall clock."""

    def now(self) -> datetime:
        """Wall-clock time; aware, UTC."""
        return datetime.now(UTC)
