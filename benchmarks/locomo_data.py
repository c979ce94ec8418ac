"""LoCoMo conversations with their questions, as the benchmarks take them. The data are not part of this repository."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from memoray.errors import InvalidRequestError
from memoray.serving.locomo import load_locomo

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from memoray.messages import Message

# Those that may be tuned on; the other eight are for reporting.
TUNING = ("26", "30")
# 1 multi-hop, 2 temporal, 3 open-domain, 4 single-hop; 5, adversarial, has no right evidence.
ANSWERABLE = frozenset({1, 2, 3, 4})
_EVIDENCE = re.compile(r"D(\d+):(\d+)")


class Question(NamedTuple):
    """A question with its raw category and the `dia_id`s of its annotated evidence turns, each once, in order."""

    text: str
    category: int
    evidence: tuple[str, ...]


class Conversation(NamedTuple):
    """A conversation: its number, its sessions (id and messages, in order) and its questions with evidence."""

    name: str
    sessions: list[tuple[str, tuple[Message, ...]]]
    questions: tuple[Question, ...]


def load_conversations(folder: Path, names: Sequence[str]) -> list[Conversation]:
    """Conversations by number, such as `26`, from a folder with a file for each, or with `locomo10.json`.

    Raises:
        InvalidRequestError: one is not there, or is not LoCoMo.
    """
    known = dict(_files(folder))
    missing = [name for name in names if name not in known]
    if missing:
        message = f"{folder}: no conversation {', '.join(missing)}; there are: {', '.join(sorted(known)) or 'none'}"
        raise InvalidRequestError(message)
    return [_conversation(name, known[name], str(folder)) for name in names]


def _files(folder: Path) -> Iterator[tuple[str, Any]]:
    for path in sorted(folder.glob("*.json")):
        data = json.loads(path.read_bytes())
        if isinstance(data, list):
            yield from ((str(item.get("sample_id", "")).removeprefix("conv-"), item) for item in data)
        else:
            yield path.stem, data


def _conversation(name: str, data: Any, where: str) -> Conversation:  # noqa: ANN401 - whatever a file holds
    questions = [
        Question(str(item["question"]), int(item["category"]), evidence)
        for item in data.get("qa", [])
        if (evidence := evidence_of(item.get("evidence") or []))
    ]
    return Conversation(name, load_locomo(data, f"{where}, conversation {name}"), tuple(questions))


def evidence_of(raw: Sequence[object]) -> tuple[str, ...]:
    """Ids in annotations, some of which hold several ("D8:6; D9:17"), stray brackets or a zero too many ("D30:05")."""
    found = (f"D{int(match[1])}:{int(match[2])}" for item in raw for match in _EVIDENCE.finditer(str(item)))
    return tuple(dict.fromkeys(found))
