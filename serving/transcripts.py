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
        return _grouped([_line(line, where, number) for number, line in _lines(text)], where, session_id)
    data = _json(text, where, 1)
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
    # Not `splitlines`: JSON strings may hold the other line ends of Unicode as they are.
    return [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def _is_lines(text: str) -> bool:
    """Whether the first line is an object by itself, and not a whole file on one line."""
    lines = _lines(text)
    if not lines or not lines[0][1].lstrip().startswith("{"):
        return False
    try:
        first: Any = json.loads(lines[0][1])
    except (ValueError, RecursionError):
        return False
    return len(lines) > 1 or "role" in first


def _json(text: str, where: str, line: int) -> Any:  # noqa: ANN401 - whatever the file holds
    """JSON that begins at a line of a file."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        message = f"{where}, line {line + error.lineno - 1}: not JSON: {error.msg}"
    except (ValueError, RecursionError) as error:  # a number of thousands of digits; brackets thousands deep
        message = f"{where}, line {line}: JSON that cannot be read: {error}"
    raise InvalidRequestError(message)


def _line(line: str, where: str, number: int) -> tuple[str | None, Message]:
    data = _json(line, where, number)
    place = f"{where}, line {number}"
    return _session_id(_expect(data, dict, place), place), _message(data, place)


def _session(data: Any, where: str, session_id: str) -> list[Session]:  # noqa: ANN401 - whatever the file holds
    named = session_id
    if isinstance(data, dict):
        named = _session_id(data, where) or session_id
        data = data.get("messages")
    items = _expect(data, list, f"{where}: messages")
    pairs: list[tuple[str | None, Message]] = []
    for number, item in enumerate(items):
        place = f"{where}: message {number}"
        pairs.append((_session_id(_expect(item, dict, place), place), _message(item, place)))
    return _grouped(pairs, where, named)


def _grouped(pairs: list[tuple[str | None, Message]], where: str, session_id: str) -> list[Session]:
    if not pairs:
        message = f"{where}: no messages in it"
        raise InvalidRequestError(message)
    sessions: dict[str, list[Message]] = {}
    for named, item in pairs:
        sessions.setdefault(named or session_id, []).append(item)
    return [Session(name, tuple(messages)) for name, messages in sessions.items()]


def _session_id(item: dict[str, Any], where: str) -> str | None:
    return _string(item.get("session_id"), f"{where}: session_id")


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
        tool_calls=tuple(_call_name(call) for call in _expect(calls, list, f"{where}: tool_calls")),
        tool_call_id=_string(item.get("tool_call_id"), f"{where}: tool_call_id"),
    )


def _call_name(call: Any) -> str:  # noqa: ANN401 - whatever the file holds
    """Name of the tool that is called: `call` is that, or OpenAI's object around it."""
    if isinstance(call, dict):
        function = call.get("function")
        return str(function.get("name", "")) if isinstance(function, dict) else str(call.get("name", ""))
    return str(call)


def _text(content: Any, where: str) -> str:  # noqa: ANN401 - whatever the file holds
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    texts: list[str] = []
    for number, part in enumerate(_expect(content, list, f"{where}: content")):
        place = f"{where}: content part {number}"
        text = part if isinstance(part, str) else _expect(part, dict, place).get("text")
        if text is not None and not isinstance(text, str):
            message = f"{place}: text {str(text)[:60]!r}; give a string"
            raise InvalidRequestError(message)
        if text:
            texts.append(text)
    return "\n".join(texts)


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
