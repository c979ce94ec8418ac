"""Views of a base's columns as maps (`BaseMap`), one for each map of a state; `memoray.engine.base` has the columns."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import fields

from memoray.engine.layered import Layered
from memoray.engine.state import Answered, SessionState, UserState
from memoray.entries import Entry, EntryId
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.storage.columns import Binary, Keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Columns = Mapping[str, Any]

HASH_BYTES = 16
# Decoded entries, and turns, that are kept for the next who asks; about a kilobyte each.
DECODED_MAX = 20_000

V = TypeVar("V")

_entry_ids = msgspec.msgpack.Decoder(tuple[EntryId, ...])
_answered = msgspec.msgpack.Decoder(Answered)

# What of a session's state is stored as a value: all that is not a map.
SESSION_FIELDS = tuple(field.name for field in fields(SessionState) if field.name != "turn_ids")
SessionValue = msgspec.defstruct(
    "SessionValue",
    [(field.name, field.type, field.default) for field in fields(SessionState) if field.name != "turn_ids"],
    namespace={"datetime": datetime},
    frozen=True,
)
_session = msgspec.msgpack.Decoder(SessionValue)


class _Rows:
    """Rows [start, end) of a table, found by key."""

    def __init__(self, columns: Columns, table: str, start: int, end: int) -> None:
        self._columns = columns
        self._keys = Keys(columns[f"{table}.key"], start, end)
        self._start = start
        self._end = end

    def row(self, key: object) -> int:
        """Row in the table; -1 if the key is not there."""
        row = self._keys.find(key) if isinstance(key, str) else -1
        return row if row < 0 else row + self._start

    def __len__(self) -> int:
        return self._end - self._start

    def __contains__(self, key: object) -> bool:
        return self.row(key) >= 0


class Decoded(Generic[V]):
    """Values of a table that were decoded lately, by the user's first row and the key. Safe to share among threads."""

    def __init__(self, columns: Columns, table: str, decoder: msgspec.msgpack.Decoder[V]) -> None:
        self._values: Binary = columns[f"{table}.value"]
        self._decode = decoder.decode
        self._known: dict[tuple[int, str], V] = {}

    def get(self, start: int, key: str, row_of: Callable[[object], int]) -> V | None:
        """The value of a key of the user whose rows begin at `start`."""
        place = start, key
        value = self._known.get(place)
        if value is None and (row := row_of(key)) >= 0:
            value = self._decode(self._values[row])
            if len(self._known) >= DECODED_MAX:
                self._known.clear()
            self._known[place] = value
        return value


class EntryMap(_Rows):
    """Entries by id."""

    def __init__(self, columns: Columns, start: int, end: int, decoded: Decoded[Entry]) -> None:
        super().__init__(columns, "entry", start, end)
        self._decoded = decoded

    def get(self, key: EntryId) -> Entry | None:
        return self._decoded.get(self._start, key, self.row)

    def keys(self) -> Iterator[EntryId]:
        return (EntryId(key) for key in self._keys)


class IdentityMap:
    """Entry ids by identity."""

    def __init__(self, columns: Columns, start: int, end: int) -> None:
        self._identities = columns["entry.identity"][start:end]
        self._rows = columns["entry.by_identity"][start:end]
        self._entry_keys = columns["entry.key"]

    def _place(self, key: object) -> int:
        place = int(self._identities.searchsorted(key)) if isinstance(key, bytes) and len(self) else -1
        return place if 0 <= place < len(self) and _full(self._identities[place]) == key else -1

    def get(self, key: bytes) -> EntryId | None:
        place = self._place(key)
        return None if place < 0 else EntryId(self._entry_keys[self._rows[place]].decode())

    def __contains__(self, key: object) -> bool:
        return self._place(key) >= 0

    def __len__(self) -> int:
        return len(self._identities)

    def keys(self) -> Iterator[bytes]:
        return (_full(identity) for identity in self._identities.tolist())


def _full(value: bytes) -> bytes:
    """A hash with the zeros at its end, which numpy leaves out."""
    return value.ljust(HASH_BYTES, b"\0")


class RetiredMap(_Rows):
    """Seq at which an entry left, by id."""

    def __init__(self, columns: Columns, start: int, end: int) -> None:
        super().__init__(columns, "retired", start, end)

    def get(self, key: EntryId) -> int | None:
        row = self.row(key)
        return None if row < 0 else int(self._columns["retired.seq"][row])

    def keys(self) -> Iterator[EntryId]:
        return (EntryId(key) for key in self._keys)


class TurnMap(_Rows):
    """Turns by id."""

    def __init__(self, columns: Columns, start: int, end: int, decoded: Decoded[Turn]) -> None:
        super().__init__(columns, "turn", start, end)
        self._decoded = decoded

    def get(self, key: TurnId) -> Turn | None:
        return self._decoded.get(self._start, key, self.row)

    def keys(self) -> Iterator[TurnId]:
        return (TurnId(key) for key in self._keys)


class _SomeTurns(_Rows):
    """A map of those rows of a table that have something, `count` of them."""

    def __init__(self, columns: Columns, table: str, start: int, end: int, count: int) -> None:
        super().__init__(columns, table, start, end)
        self._count = count

    def __len__(self) -> int:
        return self._count

    def __contains__(self, key: object) -> bool:
        row = self.row(key) if self._count else -1
        return row >= 0 and self._has(row)

    def _has(self, row: int) -> bool:
        raise NotImplementedError

    def _having(self) -> Iterator[int]:
        if not self._count:
            return iter(())
        return (row for row in range(self._start, self._end) if self._has(row))


class WithdrawnMap(_SomeTurns):
    """Seq at which a turn was withdrawn, by id."""

    def __init__(self, columns: Columns, start: int, end: int, count: int) -> None:
        super().__init__(columns, "turn", start, end, count)

    def _has(self, row: int) -> bool:
        return bool(self._columns["turn.withdrawn"][row])

    def get(self, key: TurnId) -> int | None:
        row = self.row(key) if self._count else -1
        return None if row < 0 else int(self._columns["turn.withdrawn"][row]) or None

    def keys(self) -> Iterator[TurnId]:
        return (TurnId(self._keys[row - self._start]) for row in self._having())


class SupportMap(_SomeTurns):
    """Entries that were drawn from a turn, by turn id."""

    def __init__(self, columns: Columns, start: int, end: int, count: int) -> None:
        super().__init__(columns, "turn", start, end, count)

    def _has(self, row: int) -> bool:
        return bool(self._columns["turn.supports"][row])

    def get(self, key: TurnId) -> tuple[EntryId, ...] | None:
        row = self.row(key) if self._count else -1
        found = b"" if row < 0 else self._columns["turn.supports"][row]
        return _entry_ids.decode(found) if found else None

    def keys(self) -> Iterator[TurnId]:
        return (TurnId(self._keys[row - self._start]) for row in self._having())


class UnembeddedMap(_SomeTurns):
    """Ids of live entries, or searchable turns, that lack a vector."""

    def __init__(self, columns: Columns, table: str, start: int, end: int, count: int) -> None:
        super().__init__(columns, table, start, end, count)
        self._has_vector = columns[f"{table}.has_vector"]
        self._withdrawn = columns["turn.withdrawn"] if table == "turn" else None

    def _has(self, row: int) -> bool:
        return not self._has_vector[row] and (self._withdrawn is None or not self._withdrawn[row])

    def get(self, key: Any) -> bool | None:  # noqa: ANN401 - an entry id or a turn id
        return True if key in self else None

    def keys(self) -> Iterator[Any]:
        return (self._keys[row - self._start] for row in self._having())


class SessionTurns:
    """Turn ids of a session by position."""

    def __init__(self, columns: Columns, first: int, length: int) -> None:
        self._columns = columns
        self._first = first
        self._length = length

    def get(self, key: int) -> TurnId | None:
        if key not in self:
            return None
        row = self._columns["turn.by_place"][self._first + key]
        return TurnId(self._columns["turn.key"][row].decode())

    def __contains__(self, key: object) -> bool:
        return isinstance(key, int) and 0 <= key < self._length

    def __len__(self) -> int:
        return self._length

    def keys(self) -> Iterator[int]:
        return iter(range(self._length))


class SessionMap:
    """Sessions by id."""

    def __init__(self, columns: Columns, start: int, end: int) -> None:
        self._columns = columns
        self._start = start
        self._end = end

    def _row(self, key: object) -> int:
        if not isinstance(key, str):
            return -1
        keys: Binary = self._columns["session.key"]
        return keys.find(key.encode(), self._start, self._end)

    def get(self, key: str) -> SessionState | None:
        row = self._row(key)
        if row < 0:
            return None
        value = _session.decode(self._columns["session.value"][row])
        known = {name: getattr(value, name) for name in SESSION_FIELDS}
        turns = SessionTurns(self._columns, int(self._columns["session.first"][row]), known["length"])
        return SessionState(**known, turn_ids=Layered(turns))

    def __contains__(self, key: object) -> bool:
        return self._row(key) >= 0

    def __len__(self) -> int:
        return self._end - self._start

    def keys(self) -> Iterator[str]:
        keys: Binary = self._columns["session.key"]
        return (keys[row].decode() for row in range(self._start, self._end))


class Users(Protocol):
    """What a base knows of its users, by number."""

    @property
    def users_count(self) -> int:
        """How many there are."""
        ...

    def number_of(self, user: UserKey) -> int:
        """A user's number; -1 if there is none."""
        ...

    def user_key(self, number: int) -> UserKey:
        """The user of a number."""
        ...

    def user_state(self, number: int) -> UserState:
        """The state of one."""
        ...


class UserMap:
    """User states by user key."""

    def __init__(self, base: Users) -> None:
        self._base = base

    def get(self, key: UserKey) -> UserState | None:
        number = self._base.number_of(key)
        return None if number < 0 else self._base.user_state(number)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, UserKey) and self._base.number_of(key) >= 0

    def __len__(self) -> int:
        return self._base.users_count

    def keys(self) -> Iterator[UserKey]:
        return (self._base.user_key(number) for number in range(len(self)))


class RequestMap:
    """Answers by request hash."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._by_key = columns["request.by_key"]
        self._sorted = columns["request.sorted"]

    def _row(self, key: object) -> int:
        place = int(self._sorted.searchsorted(key)) if isinstance(key, bytes) and len(self) else -1
        is_there = 0 <= place < len(self) and _full(self._sorted[place]) == key
        return int(self._by_key[place]) if is_there else -1

    def get(self, key: bytes) -> Answered | None:
        row = self._row(key)
        return None if row < 0 else _answered.decode(self._columns["request.value"][row])

    def __contains__(self, key: object) -> bool:
        return self._row(key) >= 0

    def __len__(self) -> int:
        return len(self._sorted)

    def keys(self) -> Iterator[bytes]:
        return (_full(key) for key in self._sorted.tolist())


class RequestOrder:
    """Request hashes by number of arrival."""

    def __init__(self, columns: Columns, first: int) -> None:
        self._keys = columns["request.key"]
        self._first = first

    def get(self, key: int) -> bytes | None:
        return _full(self._keys[key - self._first]) if key in self else None

    def __contains__(self, key: object) -> bool:
        return isinstance(key, int) and 0 <= key - self._first < len(self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def keys(self) -> Iterator[int]:
        return iter(range(self._first, self._first + len(self._keys)))
