"""Persistent maps: what a state is made of. A plain one is rpds's; a layered one is a sealed base below changes.

A change gives a new map that shares what did not change; a reader that holds a map sees one moment for as long as it
likes. The base of a layered map is a view of a mapped file: nothing of it is in memory before it is asked for. Pure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, overload

from rpds import HashTrieMap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")
V_co = TypeVar("V_co", covariant=True)


class BaseMap(Protocol[K, V_co]):
    """What lies below: never changes, and no value is None."""

    def get(self, key: K) -> V_co | None:
        """The value of a key, if it has one."""
        ...

    def __contains__(self, key: object) -> bool: ...
    def __len__(self) -> int: ...
    def keys(self) -> Iterator[K]:
        """Keys, in no order."""
        ...


class Layered(Generic[K, V]):
    """A persistent map over a base: with changes above it, and without what is gone.

    Attributes:
        base: what lies below.
        changed: values that are new or other than the base's.
        gone: keys of the base that the map no longer has.
    """

    __slots__ = ("_length", "base", "changed", "gone")

    def __init__(self, base: BaseMap[K, V]) -> None:
        """Have what the base has."""
        self.base = base
        self.changed: HashTrieMap[K, V] = HashTrieMap()
        self.gone: HashTrieMap[K, bool] = HashTrieMap()
        self._length = len(base)

    def _with(self, changed: HashTrieMap[K, V], gone: HashTrieMap[K, bool], length: int) -> Layered[K, V]:
        made: Layered[K, V] = Layered.__new__(type(self))
        made.base, made.changed, made.gone, made._length = self.base, changed, gone, length
        return made

    @overload
    def get(self, key: K, /) -> V | None: ...
    @overload
    def get(self, key: K, default: V | D, /) -> V | D: ...
    def get(self, key: K, default: V | D | None = None, /) -> V | D | None:
        """The value of a key, or the default."""
        value = self.changed.get(key)
        if value is None and key not in self.gone:
            value = self.base.get(key)
        return default if value is None else value

    def __getitem__(self, key: K, /) -> V:
        value = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object, /) -> bool:
        return key in self.changed or (key not in self.gone and key in self.base)

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[K]:
        yield from self.changed
        changed, gone = self.changed, self.gone
        yield from (key for key in self.base.keys() if key not in changed and key not in gone)  # noqa: SIM118 - no dict

    def keys(self) -> Iterable[K]:
        """Keys, in no order."""
        return iter(self)

    def values(self) -> Iterable[V]:
        """Values, in the order of the keys."""
        return (value for _, value in self.items())

    def items(self) -> Iterable[tuple[K, V]]:
        """Keys and values."""
        return ((key, self[key]) for key in self)

    def insert(self, key: K, value: V, /) -> Layered[K, V]:
        """The map with a value for a key, in place of one that it had."""
        length = self._length + (key not in self)
        return self._with(self.changed.insert(key, value), self.gone.discard(key), length)

    def remove(self, key: K, /) -> Layered[K, V]:
        """The map without a key; `KeyError` if it is not there."""
        if key not in self:
            raise KeyError(key)
        gone = self.gone.insert(key, True) if key in self.base else self.gone
        return self._with(self.changed.discard(key), gone, self._length - 1)

    def discard(self, key: K, /) -> Layered[K, V]:
        """The map without a key, if it is there."""
        return self.remove(key) if key in self else self


if TYPE_CHECKING:
    # A persistent map of either make.
    Map = HashTrieMap[K, V] | Layered[K, V]
else:
    Map = Layered  # rpds's cannot be subscribed to when annotations are read
