"""One table of a base in the making: old rows that stay, new rows, and both in order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from memoray.engine.base_maps import HASH_BYTES
from memoray.storage.columns import Binary, Keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from memoray.engine.layered import Map

    Vectors = npt.NDArray[np.float32]
    Integers = npt.NDArray[np.int64]

# What a table has besides key and value; `bytes` stands for a `Binary`. Identities come as they lie beside the rows.
COLUMNS: dict[str, dict[str, type]] = {
    "entry": {"identity": np.bytes_, "length": np.int32, "terms": bytes},
    "turn": {
        "withdrawn": np.int64,
        "supports": bytes,
        "session": bytes,
        "position": np.int64,
        "length": np.int32,
        "terms": bytes,
    },
    "session": {},
    "retired": {"seq": np.int64},
}
# Sessions have names of the caller's, of any length.
HAS_ANY_KEYS = {"session"}
HAS_VALUES = {"entry", "turn", "session"}


class NewRow(NamedTuple):
    """A row that the old base does not have in this form."""

    user: int
    key: bytes
    value: bytes
    extra: Mapping[str, Any]
    vector: Vectors | None = None


class Table:
    """Rows of one table, sorted by user and key in the end."""

    def __init__(
        self, name: str, columns: Mapping[str, Any] | None, new_number: Integers, dimension: int | None
    ) -> None:
        """Begin with the rows of a base.

        Args:
            name: of the table.
            columns: of the base; None: there is none.
            new_number: new number of each of its users; int64, shape (users,).
            dimension: of the vectors; None: the table has none.
        """
        self._name = name
        self._old = columns
        self._new_number = new_number
        self._dimension = dimension
        self._starts = np.zeros(1, np.int64) if columns is None else columns[f"user.{name}"]
        self._is_kept = np.ones(int(self._starts[-1]), np.bool_)
        self._new: list[NewRow] = []

    def old_start(self, number: int) -> int:
        """First row of a user of the base."""
        return int(self._starts[number]) if number >= 0 else 0

    def old_row(self, number: int, key: str) -> int | None:
        """Row of a key of a user of the base, if it is there."""
        if number < 0 or self._old is None:
            return None
        start, end = int(self._starts[number]), int(self._starts[number + 1])
        if self._name in HAS_ANY_KEYS:
            row = self._old[f"{self._name}.key"].find(key.encode(), start, end)
        else:
            row = Keys(self._old[f"{self._name}.key"], start, end).find(key)
            row = row if row < 0 else row + start
        return row if row >= 0 else None

    def old_vector(self, row: int) -> Vectors | None:
        """Vector of an old row, if it has one."""
        assert self._old is not None, "an old row comes from a base"
        vector: Vectors = self._old[f"{self._name}.vector"][row]
        return vector if self._old[f"{self._name}.has_vector"][row] else None

    def old_document(self, row: int) -> tuple[int, bytes]:
        """Length and terms of an old row."""
        assert self._old is not None, "an old row comes from a base"
        return int(self._old[f"{self._name}.length"][row]), self._old[f"{self._name}.terms"][row]

    def leave_out(self, number: int, changes: Sequence[set[Any] | None], main: Map[Any, Any]) -> Iterable[Any]:
        """Leave out what has changed of a user of the base; gives the keys that have to be added anew.

        Args:
            number: of the user in the base; -1: it has none.
            changes: keys that have changed in each map that a row is made of; None: it does not lie over the base.
            main: the map whose keys the table has.
        """
        over_base = [keys for keys in changes if keys is not None]
        if len(over_base) < len(changes):
            if number >= 0:
                self._is_kept[int(self._starts[number]) : int(self._starts[number + 1])] = False
            return list(main.keys())
        keys = set[Any]().union(*over_base)
        for key in keys:
            row = self.old_row(number, key)
            if row is not None:
                self._is_kept[row] = False
        return keys

    def add(self, row: NewRow) -> None:
        """Add a row."""
        self._new.append(row)

    def columns(self, users_count: int) -> dict[str, Any]:
        """The columns, by name, and where each user's rows begin."""
        kept = self._is_kept.nonzero()[0]
        users = np.concatenate(
            [
                np.repeat(self._new_number, np.diff(self._starts))[kept],
                np.array([row.user for row in self._new], np.int64),
            ]
        )
        order = self._order(kept, users)
        made: dict[str, Any] = {f"user.{self._name}": users[order].searchsorted(np.arange(users_count + 1))}
        made[f"{self._name}.key"] = self._keys(kept, order)
        if self._name in HAS_VALUES:
            made[f"{self._name}.value"] = self._binary("value", kept, order, [row.value for row in self._new])
        for column, kind in COLUMNS[self._name].items():
            values = [row.extra[column] for row in self._new]
            if kind is bytes:
                made[f"{self._name}.{column}"] = self._binary(column, kept, order, values)
            elif kind is np.bytes_:
                new = np.array(values, f"S{HASH_BYTES}")
                made[f"{self._name}.{column}"] = np.concatenate([self._old_identities()[kept], new])[order]
            else:
                old = np.empty(0, kind) if self._old is None else self._old[f"{self._name}.{column}"][kept]
                made[f"{self._name}.{column}"] = np.concatenate([old, np.array(values, kind)])[order]
        if self._dimension is not None:
            made.update(self._vectors(kept, order, self._dimension))
        return made

    def _order(self, kept: Integers, users: Integers) -> Integers:
        if self._name in HAS_ANY_KEYS:
            old: Binary | None = None if self._old is None else self._old[f"{self._name}.key"]
            names = [] if old is None else [old[row] for row in kept.tolist()]
            names += [row.key for row in self._new]
            pairs = list(zip(users.tolist(), names, strict=True))
            return np.array(sorted(range(len(pairs)), key=pairs.__getitem__), np.int64)
        return np.lexsort((self._fixed_keys(kept), users))

    def _keys(self, kept: Integers, order: Integers) -> Any:  # noqa: ANN401 - an array or a Binary
        if self._name in HAS_ANY_KEYS:
            return self._binary("key", kept, order, [row.key for row in self._new])
        return self._fixed_keys(kept)[order]

    def _fixed_keys(self, kept: Integers) -> npt.NDArray[np.bytes_]:
        new = np.array([row.key for row in self._new], np.bytes_)
        return new if self._old is None else np.concatenate([self._old[f"{self._name}.key"][kept], new])

    def _binary(self, column: str, kept: Integers, order: Integers, new: Sequence[bytes]) -> Binary:
        if self._old is None:
            return Binary.of([new[row] for row in order.tolist()])
        old: Binary = self._old[f"{self._name}.{column}"]
        rows = np.concatenate([kept, np.arange(len(old), len(old) + len(new))])
        return old.followed_by(new, rows[order])

    def _old_identities(self) -> npt.NDArray[np.bytes_]:
        if self._old is None:
            return np.empty(0, f"S{HASH_BYTES}")
        beside = np.empty(len(self._is_kept), f"S{HASH_BYTES}")
        beside[self._old["entry.by_identity"]] = self._old["entry.identity"]
        return beside

    def _vectors(self, kept: Integers, order: Integers, dimension: int) -> dict[str, Any]:
        is_new = order >= len(kept)
        matrix = np.zeros((len(order), dimension), np.float32)
        has_vector = np.ones(len(order), np.uint8)
        if self._old is not None:
            rows = kept[order[~is_new]]
            matrix[~is_new] = self._old[f"{self._name}.vector"][rows]
            has_vector[~is_new] = self._old[f"{self._name}.has_vector"][rows]
        for place in is_new.nonzero()[0].tolist():
            vector = self._new[int(order[place]) - len(kept)].vector
            if vector is None:
                has_vector[place] = 0
            else:
                matrix[place] = vector
        return {f"{self._name}.vector": matrix, f"{self._name}.has_vector": has_vector}


_terms = msgspec.msgpack.Decoder(dict[str, int])


def unpacked(terms: bytes) -> dict[str, int]:
    """Count by term, from what a column of terms holds."""
    return _terms.decode(terms)
