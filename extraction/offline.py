"""The offline extractor: rules that turn a delta into proposed memories, without a model. Pure and deterministic.

It splits messages into statements (`statements`), resolves dates from each message's own time (`dates`), tells dated
events from facts, names who and where (`names`), and proposes updates where a statement plainly changes a known one
(`revisions`). It understands nothing: it cannot follow pronouns, join what is spread over two messages, or see that two
sentences mean the same. What it drops stays searchable as a turn. docs/offline-extractor.md says what to expect.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from memoray.entries import Kind, Precision
from memoray.extraction.dates import When, find_when
from memoray.extraction.names import people_in, place_in, topics_in
from memoray.extraction.revisions import revise
from memoray.extraction.statements import statements
from memoray.operations import Add, Operation
from memoray.protocols import Extraction, ExtractionRequest
from memoray.validation import (
    ID_BYTES_MAX,
    OPERATIONS_COUNT_MAX,
    TEXT_BYTES_MAX,
    normalise_participants,
    normalise_topics,
)

if TYPE_CHECKING:
    from memoray.messages import Turn

MODEL = "offline"
RULES_VERSION = "1"

_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_SUBJECT = re.compile(
    r"\b(?:i|we|he|she|they|(?:my|our|the|his|her)\s+[\w-]+(?:\s+[\w-]+)?|[A-Z][\w-]+)\s+(?P<verb>[\w'\u2019]+)",
    re.IGNORECASE,
)
_PAST = frozenset(
    "was were went had did got came took made saw met bought sold gave told found left lost won ate drank ran "
    "drove flew swam rode wrote read spoke sang began broke built brought caught chose fell felt fought forgot "
    "heard held kept knew led lent paid put sent set shut slept spent stood taught thought threw understood "
    "woke wore became".split()
)
# Past forms that tell what is so rather than what happened.
_STATES = frozenset("was were had used loved liked wanted needed felt knew thought".split())


class OfflineExtractor:
    """Implements `Extractor`."""

    def extract(self, request: ExtractionRequest) -> Extraction:
        """Propose an `Add` for each statement, and an `Update` of what it plainly changes.

        Named speakers count as people, whatever their role. Without a name, the user is "User", and an assistant's
        words are not taken for facts about the user.
        """
        operations: list[Operation] = []
        for turn in request.turns:
            if turn.role == "assistant" and not turn.name:
                continue
            for statement in statements(turn.text):
                operations += _operations(statement, turn, request)
        return Extraction(tuple(operations[:OPERATIONS_COUNT_MAX]), MODEL, RULES_VERSION)


def _operations(statement: str, turn: Turn, request: ExtractionRequest) -> list[Operation]:
    when = find_when(statement, turn.local_time)
    speaker = f"{turn.name or 'User'}: "
    text = _text(statement, speaker, when)
    updates = revise(statement, text, speaker, request.known, (turn.id,))
    if any(update.text == text for update in updates):
        return list(updates)
    people = [turn.name] if turn.name else []
    people += people_in(statement)
    add = Add(
        text=text,
        kind=_kind(statement, when),
        topics=normalise_topics(_short(topics_in(statement, people))),
        event_time=None if when is None else when.time,
        event_precision=Precision.INSTANT if when is None else when.precision,
        utc_offset_minutes=0 if when is None else turn.utc_offset_minutes,
        participants=normalise_participants(_short(people)),
        location="".join(_short([place_in(statement)])),
        sources=(turn.id,),
    )
    return [*updates, add]


def _short(names: list[str]) -> list[str]:
    return [name for name in names if name and len(name.encode()) <= ID_BYTES_MAX]


def _text(statement: str, speaker: str, when: When | None) -> str:
    """The statement with its speaker, and with the date that its words stand for beside them."""
    shown = statement
    if when is not None and not when.is_absolute:
        shown = f"{statement[: when.end]} ({when.label}){statement[when.end :]}"
    text = speaker + shown
    return text.encode()[:TEXT_BYTES_MAX].decode(errors="ignore")


def _kind(statement: str, when: When | None) -> Kind:
    """Episode: dated, or told as something that happened. Since when something holds is a fact."""
    if when is not None:
        return Kind.FACT if when.is_since else Kind.EPISODE
    if _UNSPACED.search(statement):
        return Kind.FACT
    match = _SUBJECT.search(statement)
    if match is None:
        return Kind.FACT
    verb = match["verb"].lower()
    is_past = verb in _PAST or (verb.endswith("ed") and len(verb) > 4)  # noqa: PLR2004 - need, feed, shed
    return Kind.EPISODE if is_past and verb not in _STATES else Kind.FACT
