"""Messages to sentences. Pure.

A full stop ends a sentence unless it belongs to an abbreviation, an initial or the number of a list; one without white
space behind it (versions, decimals, URLs) never does. An ellipsis ends one if a capital follows. Line breaks end
sentences, but for hard-wrapped lines that go on in lower case. Every pattern is linear in the text.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoray.extraction.delta import without_preloaded

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT_COUNT_MAX = 200_000
"""Characters of a message that are looked at."""

_HAN = "\u3040-\u30ff\u3400-\u9fff"
_EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2764\ufe0f\u200d"
_CODE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_QUOTED_LINE = re.compile(r"^[ \t]{0,8}>.*$", re.MULTILINE)
_RECALLED = re.compile(
    r"^\W{0,5}(?:relevant|recalled|retrieved|known|existing|stored) memories\b[^\n]*:[ \t]*\n"
    r"(?:[^\n]*\S[^\n]*(?:\n|\Z))*",
    re.IGNORECASE | re.MULTILINE,
)
_WRAP = re.compile(r"(?<=[a-z0-9,])[ \t]?\n(?=[a-z])")
_BREAK = re.compile(
    rf"(?<![.!?\u2026])(?P<stop>[.!?\u2026]++)[\"'\u201d\u2019)\]]*+(?=\s|$|[{_HAN}{_EMOJI}])"
    r"|(?P<han>[\u3002\uff01\uff1f]++[\u201d\u2019\u300d\u300f\uff09]*+)"
    rf"|(?P<emoji>(?<![{_EMOJI}])[{_EMOJI}]++(?=\s+[A-Z{_HAN}]|\s*$|[{_HAN}]))"
    r"|(?P<line>\n++)"
)
_ABBREVIATION = re.compile(
    r"(?:(?:^|[\s(])(?:mr|mrs|ms|dr|prof|st|sr|jr|vs|e\.g|i\.e|approx|ca|cf|fig|jan|feb|apr|jun|jul|aug|sept?|oct|nov"
    r"|dec|u\.s|u\.k)|(?:^|[\s(])(?-i:[A-HJ-Z]))\.$",
    re.IGNORECASE,
)
# These may end a sentence: they do if what follows begins with a capital.
_OPEN_ABBREVIATION = re.compile(r"(?:^|[\s\d(])(?:etc|inc|ltd|co|corp|a\.m|p\.m|am|pm)\.$", re.IGNORECASE)
_LIST_NUMBER = re.compile(r"(?:^|\n)\s{0,8}\d{1,3}\.$")
_NUMERO = re.compile(r"(?:^|\s)no\.$", re.IGNORECASE)
_LOOK_BACK = 12


def sentences(text: str) -> Iterator[str]:
    """Sentences of a message, in order, without code, quoted lines and memory blocks."""
    plain = without_preloaded(text[:TEXT_COUNT_MAX])
    plain = _RECALLED.sub("\n", _QUOTED_LINE.sub("", _CODE.sub("\n", plain)))
    plain = _WRAP.sub(" ", plain)
    start = 0
    for match in _BREAK.finditer(plain):
        if match["stop"] and _goes_on(plain, start, match):
            continue
        yield plain[start : match.end()]
        start = match.end()
    yield plain[start:]


def _goes_on(text: str, start: int, match: re.Match[str]) -> bool:
    """Whether a sentence goes on behind a stop."""
    stop = match["stop"]
    following = text[match.end() : match.end() + _LOOK_BACK].lstrip(" \t")[:1]
    if stop == "\u2026" or stop.startswith(".."):
        return following.islower()
    if stop != ".":
        return False
    before = text[max(start, match.end("stop") - _LOOK_BACK) : match.end("stop")]
    if _NUMERO.search(before):
        return following.isdigit()
    if _OPEN_ABBREVIATION.search(before):
        return not following.isupper()
    return bool(_ABBREVIATION.search(before) or _LIST_NUMBER.search(before))
