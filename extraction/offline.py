"""The offline extractor: rules that turn a delta into proposed memories, without a model. Pure and deterministic.

It splits messages into statements (`statements`), resolves dates from each message's own time (`dates`), tells what
happened from what is so, names who, where and what about (`names`, `topics`), and proposes updates where a statement
plainly changes a known one (`revisions`).

A memory is the sentence as it was said, behind the name of who said it: "Ana: I moved to Lyon yesterday (7 May 2024)".
Turning "I" into "she" takes grammar that rules do not have, and a sentence that is quoted is never wrong. Nothing is
understood: pronouns stay what they are, what is spread over two messages is not joined, and two sentences that mean the
same are two. What is dropped stays searchable as a turn. docs/offline-extractor.md says what to expect.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from memoray.entries import Kind, Precision
from memoray.extraction.dates import When, find_when
from memoray.extraction.names import people_in, place_in
from memoray.extraction.revisions import revise
from memoray.extraction.statements import has_content, statements
from memoray.extraction.topics import topics_in
from memoray.operations import Add, Operation
from memoray.protocols import Extraction, ExtractionRequest
from memoray.validation import (
    ID_BYTES_MAX,
    OPERATIONS_COUNT_MAX,
    TEXT_BYTES_MAX,
    clean_text,
    is_blank,
    normalise_participants,
    normalise_topics,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from memoray.messages import Turn

MODEL = "offline"
RULES_VERSION = "3"
UNNAMED_USER = "User"

_HAN = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_NOUN = r"(?:my|our|the|his|her|their) [\w-]{1,30}(?: (?!(?:is|are|was|were|has|had) )[\w-]{1,30})?"
_ADVERB = "(?:also|just|finally|recently|even|really|actually|already|then|never|ever|both|all)"
_SUBJECT = re.compile(
    rf"(?:\b(?:i|we|he|she|they|it|{_NOUN})|\b(?-i:[A-Z])[\w-]{{1,30}}|^) ?\b(?:{_ADVERB} )?"
    r"(?P<verb>[a-z]['\u2019a-z]{1,20})",
    re.IGNORECASE,
)
_PAST = frozenset(
    "went did got came took made saw met bought sold gave told found left lost won ate drank ran drove flew swam rode "
    "wrote read spoke sang began broke built brought caught chose fell fought forgot heard held kept led lent paid "
    "sent slept spent stood taught threw woke wore became hung shot stole tore grew drew rang".split()
)
# Past forms that tell what is so rather than what happened.
_STATES = frozenset(
    "loved liked wanted needed hated lived owned believed preferred used supposed interested excited married allergic "
    "worried tired scared bored pleased inspired motivated determined dedicated committed convinced red bed "
    "shed".split()
)


# Of every year, so the date of one of them would be wrong in the next.
_YEARLY = re.compile(r"\b(?:birthday|anniversary|name day) (?:is|falls|are)\b|(?:生日|纪念日)[是在]", re.IGNORECASE)


class OfflineExtractor:
    """Implements `Extractor`. Holds nothing, so that any number of threads may share one."""

    def extract(self, request: ExtractionRequest) -> Extraction:
        """Propose an `Add` for each statement, and an `Update` of what it plainly changes.

        Named speakers count as people, whatever their role. Without a name, the user is "User", and an assistant's
        words are not taken for facts about the user. At most `OPERATIONS_COUNT_MAX` operations, the first ones.
        """
        operations = itertools.islice(_all_operations(request), OPERATIONS_COUNT_MAX)
        return Extraction(tuple(operations), MODEL, RULES_VERSION)


def _all_operations(request: ExtractionRequest) -> Iterator[Operation]:
    speakers = {_name_of(turn) for turn in request.turns}
    for turn in request.turns:
        if turn.role == "assistant" and not _name_of(turn):
            continue
        for statement in statements(clean_text(turn.text)):
            yield from _operations(statement, turn, request, speakers)


def _name_of(turn: Turn) -> str:
    return clean_text(turn.name or "").strip()


def _operations(statement: str, turn: Turn, request: ExtractionRequest, speakers: set[str]) -> list[Operation]:
    said_at = _local_time(turn)
    when = None if said_at is None else find_when(statement, said_at)
    if when is not None and not when.is_absolute and _YEARLY.search(statement):
        when = None
    if when is not None and not has_content(statement[: when.start] + statement[when.end :]):
        return []  # "Yes, two weeks ago!": the answer to something that is not here
    name = _name_of(turn)
    speaker = f"{name or UNNAMED_USER}: "
    text = _text(statement, speaker, when)
    updates = revise(statement, text, speaker, request.known, (turn.id,))
    if any(update.text == text for update in updates):
        return list(updates)
    people = [name, *people_in(statement)]
    add = Add(
        text=text,
        kind=_kind(statement, when),
        topics=normalise_topics(_short(topics_in(statement, {*people, *speakers}))),
        event_time=None if when is None else when.time,
        event_precision=Precision.INSTANT if when is None else when.precision,
        utc_offset_minutes=0 if when is None else turn.utc_offset_minutes,
        participants=normalise_participants(_short(people)),
        location="".join(_short([place_in(statement)])),
        sources=(turn.id,),
    )
    return [*updates, add]


def _local_time(turn: Turn) -> datetime | None:
    """When a turn was said, where it was said; None on the edge of the calendar, where no zone has a time for it."""
    try:
        return turn.local_time
    except (OverflowError, ValueError):
        return None


def _short(names: list[str]) -> list[str]:
    return [name for name in names if not is_blank(name) and len(name.encode()) <= ID_BYTES_MAX]


def _text(statement: str, speaker: str, when: When | None) -> str:
    """The statement with its speaker, and with the date that its words stand for beside them."""
    shown = statement
    if when is not None and not when.is_absolute:
        label = f"\uff08{when.label}\uff09" if _HAN.search(when.label) else f" ({when.label})"
        shown = f"{statement[: when.end]}{label}{statement[when.end :]}"
    # A name can be as long as a message; what was said comes first then.
    text = speaker + shown if len(speaker) <= ID_BYTES_MAX else shown
    return text.encode()[:TEXT_BYTES_MAX].decode(errors="ignore")


def _kind(statement: str, when: When | None) -> Kind:
    """Episode: dated, or told as something that happened. Since when something holds is a fact.

    What happened is an episode also when its date is unknown: as a fact, "I bought 3 plants" would be overwritten by
    "I bought 4 plants".
    """
    if when is not None:
        return Kind.FACT if when.is_since else Kind.EPISODE
    if _HAN.search(statement):
        return Kind.FACT
    match = _SUBJECT.search(statement)
    if match is None:
        return Kind.FACT
    verb = match["verb"].lower()
    is_past = verb in _PAST or (verb.endswith("ed") and len(verb) > len("need"))
    return Kind.EPISODE if is_past and verb not in _STATES else Kind.FACT
