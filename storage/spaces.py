"""The spaces of an index: those that differ from a sealed base, and lately asked ones that do not.

One thread writes, any number read without a lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

S = TypeVar("S")

# Spaces of the base that are kept for the next who asks; each is a few views and counts.
UNCHANGED_MAX = 1024


class Spaces(Generic[S]):
    """Spaces by name.

    Attributes:
        changed: those that may differ from the base; the writer's.
    """

    def __init__(self, sealed: Callable[[Hashable], S]) -> None:
        """Begin with what `sealed` makes of the base, when a space is asked for."""
        self.changed: dict[Hashable, S] = {}
        self._sealed = sealed
        self._unchanged: dict[Hashable, S] = {}

    def to_change(self, space: Hashable) -> S:
        """A space for the writer."""
        home = self.changed.get(space)
        if home is None:
            home = self.changed[space] = self.to_read(space)
            self._unchanged.pop(space, None)
        return home

    def to_read(self, space: Hashable) -> S:
        """A space for a reader."""
        home = self.changed.get(space) or self._unchanged.get(space)
        if home is None:
            home = self._sealed(space)
            if len(self._unchanged) >= UNCHANGED_MAX:
                self._unchanged.clear()
            self._unchanged[space] = home
        return home
