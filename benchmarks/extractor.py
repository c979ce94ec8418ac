"""The offline extractor, measured: `python -m benchmarks.extractor --data DIR`, with LoCoMo conversations in DIR.

Three things: how many annotated evidence turns some memory cites (categories 1 to 4); how many of a hundred dated
sentences get the right event time; and how much evidence is among the first turns of an answer, with messages alone
and with messages and memories. Evidence recall is that of the LoCoMo paper: of a question's evidence, the share in the
first k turns, averaged over questions; the turns of an answer are the sources of its hits, in order. The question is
asked as it stands. No model but the embedder.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

import memoray
from benchmarks.dated_sentences import DATED, SAID_AT, Dated
from benchmarks.locomo_data import ANSWERABLE, TUNING, Conversation, Question, load_conversations
from memoray.engine.embedders import build_embedder
from memoray.errors import InvalidRequestError
from memoray.extraction.offline import OfflineExtractor
from memoray.keys import UserKey
from memoray.messages import Turn, TurnId
from memoray.operations import Add
from memoray.protocols import ExtractionRequest

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from memoray.engine.memory import Memory
    from memoray.protocols import Embedder
    from memoray.requests import SearchAnswer

KS = (5, 10, 25)
SETTLE_SECONDS_MAX = 600.0
LOOK_SECONDS = 0.05
ARMS = {"turns": "none", "turns + facts": "offline"}


class Remembering:
    """An embedder that makes a text's vector once for all arms."""

    def __init__(self, inner: Embedder) -> None:
        """Begin with nothing."""
        self._inner = inner
        self._known: dict[tuple[str, bool], npt.NDArray[np.float32]] = {}
        self.name = inner.name
        self.dimension = inner.dimension

    def embed(self, texts: Sequence[str], *, is_query: bool = False) -> npt.NDArray[np.float32]:
        """As `Embedder.embed`."""
        missing = [text for text in dict.fromkeys(texts) if (text, is_query) not in self._known]
        made = self._inner.embed(missing, is_query=is_query)
        self._known.update(((text, is_query), vector) for text, vector in zip(missing, made, strict=True))
        return np.stack([self._known[text, is_query] for text in texts])


class Coverage(NamedTuple):
    """How many distinct evidence turns there are, and how many of them some memory cites."""

    cited: int
    turns: int
    entries: int


def recall(answer: SearchAnswer, question: Question, k: int) -> float:
    """Share of a question's evidence among the first k turns of an answer."""
    cited = (source.message_id for hit in answer.hits for source in hit.sources)
    found = set(itertools.islice(dict.fromkeys(cited), k))
    return len(found.intersection(question.evidence)) / len(question.evidence)


class Arm:
    """One conversation in one store."""

    def __init__(self, folder: Path, conversation: Conversation, extractor: str, embedder: Embedder) -> None:
        """Submit it, session after session, and wait until it is extracted."""
        self._conversation = conversation
        self._user = UserKey("locomo", conversation.name)
        self.memory: Memory = memoray.open(folder, embedder=embedder, extractor=extractor)
        for session, messages in conversation.sessions:
            self.memory.submit(self._user, session, messages)
        self.memory.wait(self._user, timeout=SETTLE_SECONDS_MAX)
        self._await_vectors()

    def _await_vectors(self) -> None:
        """Without an extractor no job makes the vectors of messages: they come between jobs."""
        deadline = time.monotonic() + SETTLE_SECONDS_MAX
        while self.memory.status(self._user)[0].unembedded_count:
            if time.monotonic() > deadline:
                message = f"conversation {self._conversation.name}: no vectors within {SETTLE_SECONDS_MAX:.0f} s"
                raise TimeoutError(message)
            time.sleep(LOOK_SECONDS)

    def coverage(self) -> Coverage:
        """Of the evidence turns of answerable questions."""
        known = {message.id for _, messages in self._conversation.sessions for message in messages}
        asked = (question for question in self._conversation.questions if question.category in ANSWERABLE)
        wanted = known.intersection(key for question in asked for key in question.evidence)
        answer = self.memory.read(self._user)
        cited = {source.message_id for source in answer.sources.values()}
        return Coverage(len(wanted & cited), len(wanted), len(answer.entries))

    def recalls(self, progress: Progress) -> dict[int, dict[int, list[float]]]:
        """By category and k: of each question."""
        made: dict[int, dict[int, list[float]]] = {}
        for question in progress.track(self._conversation.questions, description=f"asking {self._conversation.name}"):
            answer = self.memory.search(self._user, question.text, limit=max(KS))
            for k in KS:
                made.setdefault(question.category, {}).setdefault(k, []).append(recall(answer, question, k))
        return made


def dated_right(row: Dated) -> tuple[bool, str]:
    """Whether the offline extractor gives a sentence the right time, to the right precision; and what it gave."""
    said = SAID_AT[row.said]
    offset = said.utcoffset()
    assert offset is not None, "said_at has a zone"
    turn = Turn(
        TurnId("t1"), "s1", 0, "user", row.text, said, said, utc_offset_minutes=int(offset.total_seconds() // 60)
    )
    request = ExtractionRequest(UserKey("bench", "dates"), "s1", (turn,), (), said, 30.0)
    adds = [operation for operation in OfflineExtractor().extract(request).operations if isinstance(operation, Add)]
    if len(adds) != 1:
        return False, f"{len(adds)} memories"
    time = adds[0].event_time
    if time is None:
        return not row.expected, "no date"
    given = f"{time.astimezone(said.tzinfo):%Y-%m-%dT%H:%M}, {adds[0].event_precision.value}"
    if not row.expected:
        return False, given
    expected = datetime.fromisoformat(row.expected).replace(tzinfo=said.tzinfo)
    return time == expected and adds[0].event_precision is row.precision, given


def measure(conversations: Sequence[Conversation], embedder: Embedder, progress: Progress) -> list[dict[str, Any]]:
    """Coverage and recall of each conversation."""
    known = Remembering(embedder)
    reports: list[dict[str, Any]] = []
    for conversation in progress.track(conversations, description="conversations"):
        report: dict[str, Any] = {"conversation": conversation.name, "recall": {}}
        for name, extractor in ARMS.items():
            with tempfile.TemporaryDirectory() as folder:
                arm = Arm(Path(folder) / "store", conversation, extractor, known)
                with arm.memory:
                    by_category = arm.recalls(progress)
                    if extractor != "none":
                        report["coverage"] = arm.coverage()._asdict()
            report["recall"][name] = {str(k): _percent(by_category, ANSWERABLE, k) for k in KS}
            report["recall"][name]["10 by category"] = {
                str(category): _percent(by_category, {category}, 10) for category in sorted(by_category)
            }
        reports.append(report)
    return reports


def _percent(by_category: dict[int, dict[int, list[float]]], categories: set[int] | frozenset[int], k: int) -> float:
    values = [value for category in categories for value in by_category.get(category, {}).get(k, [])]
    return round(100 * sum(values) / len(values), 2) if values else 0.0


def _show(reports: Sequence[dict[str, Any]], right: int, console: Console) -> None:
    table = Table(title="evidence recall in percent, categories 1 to 4; cited: evidence turns that some memory cites")
    for name in ("conversation", "", *(f"R@{k}" for k in KS), "R@10 by category", "cited", "memories"):
        table.add_column(name, justify="left" if name in {"", "conversation"} else "right")
    for report in reports:
        for arm, values in report["recall"].items():
            by_category = " / ".join(f"{value:.0f}" for value in values["10 by category"].values())
            shown = [f"{values[str(k)]:.1f}" for k in KS]
            coverage = report["coverage"]
            last = [f"{coverage['cited']} of {coverage['turns']}", str(coverage["entries"])] if "facts" in arm else []
            table.add_row(report["conversation"], arm, *shown, by_category, *last)
    console.print(table)
    console.print(f"event times right: {right} of {len(DATED)} dated sentences")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.extractor", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with LoCoMo conversations")
    parser.add_argument("--conversations", nargs="*", default=TUNING, help="numbers; default: those to tune on")
    parser.add_argument("--embedder", default="minilm", help="by name")
    parser.add_argument("--wrong", action="store_true", help="list the sentences whose time is wrong")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    chosen = parser.parse_args(arguments)
    console = Console(file=sys.stderr if chosen.json else sys.stdout)
    judged = [(row, *dated_right(row)) for row in DATED]
    right = sum(is_right for _, is_right, _ in judged)
    try:
        conversations = load_conversations(chosen.data, chosen.conversations)
    except InvalidRequestError as error:
        parser.error(str(error))
    with Progress(console=console, transient=True) as progress:
        reports = measure(conversations, build_embedder(chosen.embedder), progress)
    if chosen.json:
        dates = {"right": right, "of": len(DATED), "wrong": [row.text for row, is_right, _ in judged if not is_right]}
        print(json.dumps({"embedder": chosen.embedder, "conversations": reports, "dates": dates}))
        return
    _show(reports, right, console)
    for row, is_right, given in judged:
        if chosen.wrong and not is_right:
            console.print(f"{row.text} said {row.said}: {given}; {row.expected or 'no date'}", markup=False)


if __name__ == "__main__":
    main()
