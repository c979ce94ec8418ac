"""Memories for a prompt: how many, which, and how they are written down. Pure but for the two reads passed in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, Protocol, cast

from memoray.entries import Entry, Precision
from memoray.errors import InvalidRequestError, UnavailableError
from memoray.marks import BLOCK_BEGINS, BLOCK_ENDS, BLOCK_MARK, PLAYBOOK
from memoray.requests import PreloadAnswer
from memoray.text import fold, normalise
from memoray.validation import is_blank

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


class Read(Protocol):
    """The most recently updated entries, at most `limit`; None: all."""

    def __call__(self, limit: int | None) -> Sequence[Entry]:
        """Read."""
        ...


def preload(
    limit: int,
    query: str,
    *,
    read: Read,
    search: Callable[[str, int], Sequence[Entry]],
    playbook: str | None = None,
) -> PreloadAnswer:
    """Choose memories for a prompt. A store that does not answer gives none, and the request goes on.

    Args:
        limit: 0 none, -1 all, N: all when there are at most N; when there are more, the N that fit the query best, or
            the N most recent where the query is blank or finds nothing.
        query: the current user message.
        read: see `Read`.
        search: entries for a query, best first, at most so many.
        playbook: guidance before the memories; None or blank: ours.

    Raises:
        InvalidRequestError: the limit is below -1.
    """
    if limit < -1:
        message = f"limit {limit}; give 0 for none, -1 for all, or a positive number"
        raise InvalidRequestError(message)
    if limit == 0:
        return PreloadAnswer(how="off")
    try:
        entries, how = _choose(limit, query, read, search)
    except UnavailableError:
        entries, how = (), "nothing"
    if not entries:
        return PreloadAnswer(how="nothing")
    return PreloadAnswer(render(entries, playbook), tuple(entries), how)


def _choose(
    limit: int, query: str, read: Read, search: Callable[[str, int], Sequence[Entry]]
) -> tuple[Sequence[Entry], str]:
    if limit == -1:
        return read(None), "all"
    recent = read(limit + 1)
    if len(recent) <= limit:
        return recent, "all"
    if not is_blank(query):
        try:
            found = search(query, limit)
        except UnavailableError:
            found = ()
        if found:
            return found, "search"
    return recent[:limit], "recent"


def render(entries: Sequence[Entry], playbook: str | None = None) -> str:
    """The block for a prompt: the playbook, then the memories between two marks that no memory can imitate."""
    guidance = PLAYBOOK if playbook is None or is_blank(playbook) else playbook
    return "\n\n".join((guidance, BLOCK_BEGINS, "\n".join(_line(entry) for entry in entries), BLOCK_ENDS))


# As exactly as it is known: "in 2024" must not read as the first of January.
_DATE_FORMATS = {Precision.MONTH: "%Y-%m", Precision.YEAR: "%Y"}


def _line(entry: Entry) -> str:
    about = [f"kind={entry.kind.value}"]
    when = entry.local_event_time
    if when is not None:
        about.append(f"date={when:{_DATE_FORMATS.get(entry.event_precision, '%Y-%m-%d')}}")
    if entry.participants:
        about.append("with=" + ", ".join(_inline(name) for name in entry.participants))
    if entry.location:
        about.append(f"at={_inline(entry.location)}")
    return f"- [{entry.id}] {_inline(entry.text)} ({'; '.join(about)})"


def _inline(text: str) -> str:
    """Text on one line, with our marks taken apart, so that a memory can neither end the block nor start one.

    A mark in other letters that look or count the same, or with invisible ones between, is a mark to a model.
    """
    line = " ".join(text.split())
    if fold(BLOCK_MARK) not in fold(line):
        return line
    return _MARK.sub(BLOCK_MARK.replace("_", " "), normalise(line))


_MARK = re.compile(re.escape(BLOCK_MARK), re.IGNORECASE)


def place(
    messages: Sequence[Mapping[str, object]], block: str, where: Literal["system", "user"] = "system"
) -> list[dict[str, object]]:
    """Messages of a model request with the block among them; what was passed in stays as it is.

    Args:
        messages: with `role` and `content`, a string or a list of parts, as chat interfaces take them.
        block: what `preload` gave; "" changes nothing.
        where: `system`: at the end of the first system message; `user`: before the first user message's text, which
            leaves the system prompt the same for every user, and so in the model's prompt cache. Where there is no
            such message, one is made: a system message at the beginning, a user message at the end.

    Raises:
        InvalidRequestError: no such place.
    """
    if where not in {"system", "user"}:
        message = f"place {where!r}; give 'system' or 'user'"
        raise InvalidRequestError(message)
    placed = [dict(given) for given in messages]
    if not block:
        return placed
    for known in placed:
        if known.get("role") == where:
            known["content"] = _joined(known.get("content"), block, is_before=where == "user")
            return placed
    made: dict[str, object] = {"role": where, "content": block}
    return [made, *placed] if where == "system" else [*placed, made]


def _joined(content: object, block: str, *, is_before: bool) -> object:
    if isinstance(content, str) and content:
        return f"{block}\n\n{content}" if is_before else f"{content}\n\n{block}"
    if isinstance(content, list):
        parts = cast("list[object]", content)
        part = {"type": "text", "text": block}
        return [part, *parts] if is_before else [*parts, part]
    return block
