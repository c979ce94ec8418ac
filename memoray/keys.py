"""User keys: the isolation boundary, their injective encoding, and the hash slots that map them to shards."""

from __future__ import annotations

import hashlib

import msgspec

SLOTS_COUNT = 4096


class UserKey(msgspec.Struct, frozen=True, order=True, cache_hash=True):
    """The boundary that nothing crosses: one application's view of one user.

    Both parts are compared byte for byte (as UTF-8); nothing is trimmed, folded or normalised, so two spellings are
    two users. Validate with `memoray.validation.check_user_key` at the door.
    """

    app_name: str
    user_id: str

    def __str__(self) -> str:
        return f"{self.app_name!r}/{self.user_id!r}"


def length_prefixed(*parts: str) -> bytes:
    """Encode strings so that different tuples never give the same bytes: each as a 4-byte length and its UTF-8."""
    encoded = [part.encode() for part in parts]
    return b"".join([piece for part in encoded for piece in (len(part).to_bytes(4, "big"), part)])


def user_bytes(user: UserKey) -> bytes:
    """A user key as bytes, `length_prefixed`."""
    return length_prefixed(user.app_name, user.user_id)


def slot_of(user: UserKey) -> int:
    """Hash slot of a user key, 0 to 4095: first 8 bytes of BLAKE2b over the length-prefixed key, modulo 4,096."""
    digest = hashlib.blake2b(user_bytes(user)).digest()
    return int.from_bytes(digest[:8], "big") % SLOTS_COUNT


def shard_of_slot(slot: int, shards_count: int) -> int:
    """Shard of a slot when the slots are cut into `shards_count` ranges of (almost) equal size."""
    return slot * shards_count // SLOTS_COUNT


def shard_of(user: UserKey, shards_count: int) -> int:
    """Shard that owns a user key in a store of `shards_count` shards."""
    return shard_of_slot(slot_of(user), shards_count)
