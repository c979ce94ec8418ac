"""Statements that change what is known: three rules that turn a new statement into an update of an entry. Pure.

- From one value to another: "we upgraded production from Go 1.23 to Go 1.24" gives the known "our production
  environment runs Go 1.23" the new value, if the two share a word beside it.
- A slot: "my favourite editor is Helix now" takes the place of "my favourite editor is Vim", said by the same person.
- An end: "I don't drink coffee any more" takes the place of "I drink coffee every morning", said by the same person.

Everything else is left to reconcile, which adds in doubt.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoray.entries import Entry, Kind
from memoray.operations import Update
from memoray.text import STOP_WORDS, fold, stems, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

    from memoray.messages import TurnId

_VALUE = r"[\w.+#-]*[\w+#](?:\s+v?\d[\w.-]*)?"
_TRANSITION = re.compile(
    rf"\b(?:upgrad|migrat|switch|mov|chang|updat|went|bump|rais|lower|renam|rotat)\w*\b[^.;,]{{0,80}}?\bfrom\s+(?P<old>{_VALUE})"
    rf"\s+to\s+(?P<new>{_VALUE})",
    re.IGNORECASE,
)
_SLOT = re.compile(
    r"\b(?:my|our)\s+(?P<slot>(?:[\w'\u2019-]+\s+){0,4}?[\w'\u2019-]+)\s+(?:is|are)\s+(?:now\s+)?(?P<value>[^.;,]+)",
    re.IGNORECASE,
)
_END = re.compile(
    r"\b(?:i|we)\s+(?:do not|don(?:'|\u2019)t|no longer|can(?:'|\u2019)t|stopped|quit|gave up)\s+(?P<what>[^.;,]+?)"
    r"(?:\s+any\s?more\b|[.;,]|$)",
    re.IGNORECASE,
)
_ENDED = re.compile(r"\bany\s?more\b|\bno longer\b|\bstopped\b|\bquit\b|\bgave up\b", re.IGNORECASE)
_GENERIC = frozenset("i we my our user now".split())


def revise(
    statement: str, text: str, speaker: str, known: Iterable[Entry], sources: tuple[TurnId, ...]
) -> list[Update]:
    """Updates that a statement makes to known entries.

    Args:
        statement: as it was said.
        text: how it would be remembered on its own.
        speaker: prefix of what the same person said: only they can change it, but for a from-to.
        known: what may be changed.
        sources: turns that say so.
    """
    updates: list[Update] = []
    for entry in known:
        if entry.kind is not Kind.FACT or entry.text == text:
            continue
        new = _moved_on(statement, entry.text)
        if new is None and entry.text.startswith(speaker):
            said = entry.text.removeprefix(speaker)
            is_replaced = _same_slot(statement, said) or _is_ended(statement, said)
            new = text if is_replaced else None
        if new is not None:
            updates.append(Update(entry.id, text=new, sources=sources, seen_version=entry.version))
    return updates


def _moved_on(statement: str, known: str) -> str | None:
    """The known text with the new value in place of the old one."""
    match = _TRANSITION.search(statement)
    if match is None:
        return None
    old, new = match["old"].strip(), match["new"].strip()
    if not re.search(r"[\dA-Z]", old):
        return None  # "from home to work": not a value that stands for itself
    place = re.compile(rf"(?<![\w.]){re.escape(old)}(?![\w]|\.\d)", re.IGNORECASE)
    if not place.search(known):
        return None
    around = _stems_of(statement[: match.start("old")] + statement[match.end("new") :])
    if not around & _stems_of(place.sub(" ", known)):
        return None
    return place.sub(lambda _: new, known)


def _same_slot(statement: str, known: str) -> bool:
    new, old = _SLOT.search(statement), _SLOT.search(known)
    if new is None or old is None:
        return False
    same = _stems_of(new["slot"]) == _stems_of(old["slot"]) != frozenset()
    return same and fold(new["value"]) != fold(old["value"])


def _is_ended(statement: str, known: str) -> bool:
    match = _END.search(statement)
    if match is None or not _ENDED.search(statement) or _ENDED.search(known):
        return False
    what = _stems_of(match["what"])
    return len(what) > 1 and what <= _stems_of(known)


def _stems_of(text: str) -> frozenset[str]:
    words = [token.text for token in tokens(text) if token.text not in STOP_WORDS and token.text not in _GENERIC]
    return frozenset(stems(words))
