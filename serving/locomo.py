"""Conversations of the LoCoMo benchmark (Maharana et al., ACL 2024) as messages.

Both public forms are read: one file for a conversation, and one list of them.

The first speaker is the user, the second the assistant, both by name. A turn's `dia_id` is its message id. Its text is
`text` (or `clean_text`), with the caption of a picture that was shared behind it in brackets. All turns of a session
carry the session's time, a second apart, so that their order is in them.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

from memoray.errors import InvalidRequestError
from memoray.messages import Message

_SESSION = re.compile(r"session_(\d+)")
_TIME_FORMS = ("%I:%M %p on %d %B, %Y", "%I:%M %p on %d %B %Y")


def is_locomo(data: Any) -> bool:  # noqa: ANN401 - whatever a file holds
    """Whether JSON data looks like LoCoMo."""
    if isinstance(data, list):
        return bool(data) and isinstance(data[0], dict) and "conversation" in data[0]
    return isinstance(data, dict) and ("speaker_a" in data or "conversation" in data)


def load_locomo(data: Any, where: str) -> list[tuple[str, tuple[Message, ...]]]:  # noqa: ANN401 - whatever a file holds
    """Sessions of LoCoMo data: id and messages, in order. With several conversations, ids begin with their sample's.

    Raises:
        InvalidRequestError: it is not LoCoMo; says where.
    """
    items = data if isinstance(data, list) else [data]
    sessions: list[tuple[str, tuple[Message, ...]]] = []
    for item in items:
        if not is_locomo(item):
            message = f"{where}: not a LoCoMo conversation: no speaker_a in {str(item)[:60]!r}"
            raise InvalidRequestError(message)
        conversation = item.get("conversation", item)
        if not isinstance(conversation, dict):
            message = f"{where}: conversation {str(conversation)[:60]!r}; give an object with session_1, session_2, …"
            raise InvalidRequestError(message)
        prefix = f"{item.get('sample_id', '')}/" if len(items) > 1 else ""
        numbers = sorted(int(match[1]) for key in conversation if (match := _SESSION.fullmatch(key)))
        for number in numbers:
            name = f"session_{number}"
            if messages := _messages(conversation, name, where):
                sessions.append((prefix + name, messages))
    if not sessions:
        message = f"{where}: no session_N with turns in it"
        raise InvalidRequestError(message)
    return sessions


def _messages(conversation: dict[str, Any], name: str, where: str) -> tuple[Message, ...]:
    turns = conversation[name]
    if not isinstance(turns, list):
        message = f"{where}: {name} {str(turns)[:60]!r}; give a list of turns"
        raise InvalidRequestError(message)
    begun = _time(conversation.get(f"{name}_date_time"), f"{where}: {name}_date_time")
    first = conversation.get("speaker_a")
    messages: list[Message] = []
    for position, turn in enumerate(turns):
        if not isinstance(turn, dict) or "dia_id" not in turn:
            message = f"{where}: {name}, turn {position}: no dia_id in {str(turn)[:60]!r}"
            raise InvalidRequestError(message)
        speaker = str(turn.get("speaker", ""))
        text = str(turn.get("text") or turn.get("clean_text") or "")
        caption = turn.get("blip_caption")
        if caption:
            text = f"{text} [image: {caption}]".strip()
        messages.append(
            Message(
                role="user" if speaker == first else "assistant",
                text=text,
                id=str(turn["dia_id"]),
                timestamp=begun + timedelta(seconds=position),
                name=speaker or None,
            )
        )
    return tuple(messages)


def _time(value: Any, where: str) -> datetime:  # noqa: ANN401 - whatever a file holds
    for form in _TIME_FORMS:
        try:
            return datetime.strptime(str(value), form).replace(tzinfo=UTC)
        except ValueError:
            continue
    message = f"{where}: {value!r}; expected a time such as '1:56 pm on 8 May, 2023'"
    raise InvalidRequestError(message)
