"""Who, where and what about: people, places and topics of a statement, by capitals and word lists. Pure.

Capitals are all there is to go by, so a person is whom someone was with, a place is where something was, and everything
else with a capital is a topic.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoray.text import fold, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

TOPICS_COUNT_MAX = 6
TOPIC_LETTERS_MIN = 4

_NOT_NAMES = frozenset(
    "i i'm i've i'd i'll monday tuesday wednesday thursday friday saturday sunday january february march april "
    "may june july august september october november december christmas easter go python rust java javascript "
    "typescript kotlin swift ruby php c english french german spanish chinese japanese".split()
)
_NAME = r"[A-Z][\w\u00c0-\u024f'\u2019-]+"
_PEOPLE = re.compile(
    rf"\b(?:with|and|met|married|called|named)\s+(?:(?:my|our|his|her|their)\s+(?:[a-z]+\s+){{0,3}})?"
    rf"({_NAME}(?:\s+{_NAME})?(?:(?:,\s*|\s+and\s+|,\s*and\s+){_NAME}(?:\s+{_NAME})?)*)"
)
_FIRST_PERSON = re.compile(rf"^({_NAME}) and I\b")
_SEPARATOR = re.compile(r",\s*and\s+|,\s*|\s+and\s+")
_GOING = (
    "went|go|goes|going|gone|moved?|moving|travell?ed|travell?ing|trip|flew|fly|flying|drove|driving|drive|back"
    "|headed|relocated"
)
_PLACE = re.compile(
    rf"\b(?:in|at|near|around|from|visited|visit|(?:{_GOING})\s+to)\s+(?:the\s+)?"
    rf"({_NAME}(?:\s+(?:of|de|del|la|le|the|{_NAME}))*)"
)
_TRAILING = re.compile(r"(?:\s+(?:of|de|del|la|le|the))+$")
_NO_TOPICS = frozenset(
    "i im ive id ill monday tuesday wednesday thursday friday saturday sunday january february march april may june "
    "july august september october november december".split()
)
_PLAIN_WORDS = frozenset(
    "about above across after again against almost along already also although always amazing another anyone "
    "anything around asked away back became because become been before began being believe best better between "
    "both bring brought came cannot come coming could days decided definitely didn doesn doing done down during "
    "each early either else enough even ever every everyone everything excited feel feeling felt finally find "
    "first five found four from full gave getting give given goes going gone gonna good gotten great happy hard "
    "have having hear heard help helped here hope hour hours however inside instead into just keep keeps kept "
    "kind knew know known last late lately later least less like liked likes little long look looked looking lots "
    "love loved made make makes making many maybe mean means mind minutes month months more morning most much "
    "must myself need needed needs never nice night none nothing often once only open other others ours ourselves "
    "over part past people person pretty probably quite rather ready really recently right said same saying seem "
    "seems seen sent seven several shall should show since some someone something sometimes soon started still "
    "stopped stuff such super sure take taken takes taking talk talked tell than thank that their them then there "
    "these they thing things think thinking this those though thought three through time times today together "
    "told tomorrow tonight took totally toward tried trying turn turned under unless until upon used user using "
    "usually very wait want wanted wants wasn ways week weeks well went were what whatever when where whether "
    "which while whole will with within without wonderful word words work worked working worth would wouldn year "
    "years yesterday your yours".split()
)


def people_in(statement: str) -> list[str]:
    """Names of people that someone was with, met or is married to, in order."""
    found: list[str] = []
    for match in (*_FIRST_PERSON.finditer(statement), *_PEOPLE.finditer(statement)):
        found += [name for name in _SEPARATOR.split(match[1]) if _is_name(name)]
    return list(dict.fromkeys(found))


def place_in(statement: str) -> str:
    """The first place of a statement; "" if there is none."""
    for match in _PLACE.finditer(statement):
        place = _TRAILING.sub("", match[1])
        if _is_name(place) and not re.match(r"\s*v?\d", statement[match.start(1) + len(place) :]):
            return place
    return ""


def _is_name(name: str) -> bool:
    return fold(name.split(maxsplit=1)[0]) not in _NOT_NAMES


def topics_in(statement: str, not_topics: Iterable[str]) -> list[str]:
    """Up to six topics: names and technical terms first, then longer words, in the order of the statement.

    Args:
        statement: as it was said.
        not_topics: names that are said elsewhere, such as the speaker's.
    """
    left_out = {fold(word) for name in not_topics for word in name.split()}
    names: list[str] = []
    words: list[str] = []
    found = tokens(statement)
    for token, following in zip(found, [*found[1:], None], strict=True):
        if token.text in left_out or token.script == "number":
            continue
        if token.script == "unspaced":
            continue
        shown = statement[token.start : token.start + len(token.text)]
        is_term = any(char.isupper() for char in shown[1:]) or (token.is_capitalised and not token.is_first)
        if is_term and token.text not in _NO_TOPICS:
            has_version = following is not None and following.script == "number" and following.start - token.start < 30  # noqa: PLR2004 - beside it
            names.append(f"{shown} {following.text}" if has_version and following is not None else shown)
        elif len(token.text) >= TOPIC_LETTERS_MIN and token.text not in _PLAIN_WORDS and not token.is_first:
            words.append(token.text)
    return list(dict.fromkeys((*names, *words)))[:TOPICS_COUNT_MAX]
