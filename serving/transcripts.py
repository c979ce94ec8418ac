"""Conversations in files: JSON, JSON lines and LoCoMo, as sessions of messages. Errors name file, place and value.

JSON is a list of messages, `{"session_id": …, "messages": […]}`, or `{"sessions": [that, …]}`. JSON lines are messages,
one each, perhaps with a `session_id`. A message has `role` and `content` (a string, or parts whose texts are joined),
and may have `id`, `timestamp` (ISO 8601), `name`, `tool_calls` and `tool_call_id`, as OpenAI's do.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import msgspec

from memoray.errors import InvalidRequestError, NotFoundError
from memoray.messages import Message
from memoray.serving.locomo import is_locomo, load_locomo

if TYPE_CHECKING:
    from pathlib import Path

FORMATS = ("auto", "json", "jsonl", "locomo")


class Session(msgspec.Struct, frozen=True):
    """One conversation of a file."""

    session_id: str
    messages: tuple[Message, ...]


def load_transcript(path: Path, form: str = "auto", session_id: str | None = None) -> list[Session]:
    """Sessions of a file, in order.

    Args:
        path: the file; UTF-8.
        form: one of `FORMATS`; auto goes by the contents.
        session_id: for messages that don't name their session; None: the file's name without its ending.

    Raises:
        NotFoundError: there is no such file.
        InvalidRequestError: the file is not of that form; says where.
    """
    if form not in FORMATS:
        message = f"format {form!r}; give one of {', '.join(FORMATS)}"
        raise InvalidRequestError(message)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        message = f"{path}: no such file"
        raise NotFoundError(message) from None
    except (OSError, UnicodeDecodeError) as error:
        message = f"{path}: cannot be read as UTF-8 text: {error}"
        raise InvalidRequestError(message) from error
    return parse_transcript(text, str(path), form, session_id or path.stem)


def parse_transcript(text: str, where: str, form: str, session_id: str) -> list[Session]:
    """As `load_transcript`, of a text; `where` stands for the file in messages."""
    if form == "jsonl" or (form == "auto" and _is_lines(text)):
        return _grouped([_line(line, f"{where}, line {number}") for number, line in _lines(text)], where, session_id)
    try:
        data: Any = json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{where}, line {error.lineno}: not JSON: {error.msg}"
        raise InvalidRequestError(message) from None
    if form == "locomo" or (form == "auto" and is_locomo(data)):
        return [Session(name, messages) for name, messages in load_locomo(data, where)]
    if isinstance(data, dict) and "sessions" in data:
        sessions = _expect(data["sessions"], list, f"{where}: sessions")
        return [
            item
            for part in enumerate(sessions)
            for item in _session(part[1], f"{where}: session {part[0]}", session_id)
        ]
    return _session(data, where, session_id)


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _is_lines(text: str) -> bool:
    lines = _lines(text)
    if len(lines) < 2 or not lines[0][1].lstrip().startswith("{"):  # noqa: PLR2004 - one line is a JSON file
        return False
    try:
        json.loads(lines[0][1])
    except json.JSONDecodeError:
        return False
    return True


def _line(line: str, where: str) -> tuple[str | None, Message]:
    try:
        data: Any = json.loads(line)
    except json.JSONDecodeError as error:
        message = f"{where}: not JSON: {error.msg}"
        raise InvalidRequestError(message) from None
    named = _expect(data, dict, where).get("session_id")
    return (None if named is None else str(named)), _message(data, where)


def _session(data: Any, where: str, session_id: str) -> list[Session]:  # noqa: ANN401 - whatever the file holds
    named = session_id
    if isinstance(data, dict):
        named = str(data.get("session_id") or session_id)
        data = data.get("messages")
    items = _expect(data, list, f"{where}: messages")
    pairs: list[tuple[str | None, Message]] = []
    for number, item in enumerate(items):
        own = _expect(item, dict, f"{where}: message {number}").get("session_id")
        pairs.append((None if own is None else str(own), _message(item, f"{where}: message {number}")))
    return _grouped(pairs, where, named)


def _grouped(pairs: list[tuple[str | None, Message]], where: str, session_id: str) -> list[Session]:
    if not pairs:
        message = f"{where}: no messages in it"
        raise InvalidRequestError(message)
    sessions: dict[str, list[Message]] = {}
    for named, item in pairs:
        sessions.setdefault(named or session_id, []).append(item)
    return [Session(name, tuple(messages)) for name, messages in sessions.items()]


def _message(data: Any, where: str) -> Message:  # noqa: ANN401 - whatever the file holds
    item = _expect(data, dict, where)
    role = item.get("role")
    if not isinstance(role, str) or not role:
        message = f"{where}: role {role!r}; a message needs one, such as 'user'"
        raise InvalidRequestError(message)
    calls = item.get("tool_calls") or []
    return Message(
        role=role,
        text=_text(item.get("content", item.get("text")), where),
        id=_string(item.get("id"), f"{where}: id"),
        timestamp=_time(item.get("timestamp"), where),
        name=_string(item.get("name"), f"{where}: name"),
        tool_calls=tuple(str(call) for call in _expect(calls, list, f"{where}: tool_calls")),
        tool_call_id=_string(item.get("tool_call_id"), f"{where}: tool_call_id"),
    )


def _text(content: Any, where: str) -> str:  # noqa: ANN401 - whatever the file holds
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    parts = _expect(content, list, f"{where}: content")
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def _time(value: Any, where: str) -> datetime | None:  # noqa: ANN401 - whatever the file holds
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        message = f"{where}: timestamp {value!r}; give ISO 8601, such as '2026-03-02T09:30:00+01:00'"
        raise InvalidRequestError(message) from None


def _string(value: Any, where: str) -> str | None:  # noqa: ANN401 - whatever the file holds
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    message = f"{where}: {value!r}; give a string"
    raise InvalidRequestError(message)


def _expect(value: Any, kind: type[list[Any] | dict[str, Any]], where: str) -> Any:  # noqa: ANN401 - whatever the file holds
    if not isinstance(value, kind):
        wanted = "a list" if kind is list else "an object"
        message = f"{where}: {type(value).__name__} {str(value)[:60]!r} where {wanted} should be"
        raise InvalidRequestError(message)
    return value
