"""What enters a delta: which messages of a conversation are kept, and what of their text. Pure.

Kept: user and assistant messages with text; an assistant message with text and tool calls keeps its text. Left out,
and counted by reason: system messages, tool results, messages that only call tools, other roles, blank text, and
text that is nothing but memories which we put into the prompt ourselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoray.errors import InvalidRequestError
from memoray.marks import BLOCK_BEGINS, BLOCK_ENDS, PLAYBOOK
from memoray.validation import check_id, clean_text, is_blank

if TYPE_CHECKING:
    from memoray.messages import Message

MESSAGE_BYTES_MAX = 1024 * 1024


def kept_text(message: Message, position: int) -> tuple[str, str | None]:
    """Text of a message as it is kept, and None; or "" and why the message is left out.

    Args:
        message: as the caller gave it.
        position: its place in the call, for error messages.

    Raises:
        InvalidRequestError: the text is over 1 MiB of UTF-8, or an id of the message cannot be stored.
    """
    if message.id is not None:
        check_id(f"id of message {position}", message.id)
    if message.name is not None:
        check_id(f"name of message {position}", message.name)
    if message.tool_call_id is not None or message.role == "tool":
        return "", "tool result"
    if message.role == "system":
        return "", "system"
    if message.role not in {"user", "assistant"}:
        return "", "other role"
    text = without_preloaded(clean_text(message.text))
    if is_blank(text):
        if message.tool_calls:
            return "", "tool call"
        return "", "blank" if is_blank(message.text) else "preloaded memories"
    size = len(text.encode())
    if size > MESSAGE_BYTES_MAX:
        hint = f"message {position} has {size} bytes of text; at most {MESSAGE_BYTES_MAX} are kept, split it"
        raise InvalidRequestError(hint)
    return text, None


def without_preloaded(text: str) -> str:
    """Text without the memory blocks that we injected, and our guidance before them.

    An unclosed block reaches to the end. A playbook of the caller's own cannot be told from what was said.
    """
    if BLOCK_BEGINS not in text:
        return text
    kept: list[str] = []
    is_inside = False
    for line in text.splitlines():
        mark = line.strip()
        if mark == BLOCK_BEGINS:
            is_inside = True
        elif mark == BLOCK_ENDS and is_inside:
            is_inside = False
        elif not is_inside and mark != PLAYBOOK:
            kept.append(line)
    return "\n".join(kept).strip()
