"""Ids and fingerprints, derived from what they name, so that replay and retries give the same ones."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from memoray.entries import EntryId
from memoray.keys import UserKey, length_prefixed
from memoray.messages import TurnId

if TYPE_CHECKING:
    from datetime import datetime


def _short(prefix: str, *parts: str) -> str:
    digest = hashlib.blake2b(length_prefixed(*parts), digest_size=15).digest()
    return prefix + base64.b32encode(digest).decode().lower()


def entry_id(log_id: str, seq: int) -> EntryId:
    """Id of the entry that the event at `seq` of a log adds. A log never repeats a seq, so no id is ever reused."""
    return EntryId(_short("m", log_id, str(seq)))


def job_id(log_id: str, seq: int) -> str:
    """Id of the job that covers the delta accepted at `seq`."""
    return _short("j", log_id, str(seq))


def turn_id_of_message(user: UserKey, session_id: str, message_id: str) -> TurnId:
    """Id of the turn that a message with a caller's id becomes."""
    return TurnId(_short("t", user.app_name, user.user_id, session_id, "id", message_id))


def turn_id_of_content(
    user: UserKey, session_id: str, role: str, text: str, timestamp: datetime | None, ordinal: int
) -> TurnId:
    """Id of the turn that a message without an id becomes: `ordinal` tells equal ones apart."""
    when = "" if timestamp is None else timestamp.isoformat()
    parts = (user.app_name, user.user_id, session_id, "content", role, text, when, str(ordinal))
    return TurnId(_short("t", *parts))


def request_hash(user: UserKey, request_id: str) -> bytes:
    """What is remembered of a request id: 16 bytes that don't reveal it."""
    return hashlib.blake2b(length_prefixed(user.app_name, user.user_id, request_id), digest_size=16).digest()


def body_hash(body: bytes) -> bytes:
    """Fingerprint of a request's contents, to tell a repeat from another request under the same id."""
    return hashlib.blake2b(body, digest_size=16).digest()
