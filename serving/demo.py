"""The demo: a conversation of several weeks goes in, a new session asks about it, each answer shows its source."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.actors.runtime import start_ray, stop_ray
from memoray.keys import UserKey
from memoray.requests import Hit
from memoray.serving.output import console, errors, hit_as_json, hit_time, print_json, shown_source, shown_text
from memoray.serving.transcripts import Session, parse_transcript

NAMESPACE = "memoray-demo"
USER = UserKey("demo", "robin")
STEPS_COUNT = 3
EXTRACTION_SECONDS_MAX = 120.0


class Question(msgspec.Struct, frozen=True):
    """A question of the new session.

    Attributes:
        shows: what it is there to show.
        text: the question.
        expected: what must stand in the first hit: its text, its date or its people.
    """

    shows: str
    text: str
    expected: str


QUESTIONS = (
    Question("the current value, not the old one", "Which Go version does our production environment run?", "Go 1.24"),
    Question("when something happened", "When was the certificate in Frankfurt rotated?", "2026-03-12"),
    Question("who was there", "Who came along to the Dolomites?", "Lena"),
    Question("a preference that changed", "What is my favourite editor?", "Helix"),
    Question("another one", "Do I drink coffee?", "green tea"),
    Question("an exact version string", "v3.14.2-rc1", "billing service"),
    Question("a paraphrase without a shared word", "Which instrument does my kid learn?", "violin"),
    Question("a question in Chinese", "点外卖要注意什么？", "花生过敏"),
)


def conversation() -> list[Session]:
    """The sessions of the demo."""
    name = "demo_conversation.jsonl"
    text = (files("memoray.serving") / name).read_text(encoding="utf-8")
    return parse_transcript(text, name, "jsonl", "demo")


def run_demo(store: str | None, *, as_json: bool) -> bool:
    """Run the demo on a Ray of its own.

    Args:
        store: where to keep the store; None: a directory that is gone afterwards.
        as_json: print the answers as JSON, and nothing else.

    Returns:
        Whether every answer was right.
    """
    with tempfile.TemporaryDirectory(prefix="memoray-demo-") as temporary:
        path = Path(store).absolute() if store else Path(temporary) / "store"
        try:
            answers = _run(str(path), as_json=as_json)
        finally:
            stop_ray()
    is_right = [_is_right(question, hits) for question, hits in answers]
    if as_json:
        print_json({"answers": [_as_json(question, hits) for question, hits in answers], "right": all(is_right)})
    else:
        _print_next(kept=None if store is None else str(path), right=sum(is_right))
    return all(is_right)


def _run(store: str, *, as_json: bool) -> list[tuple[Question, tuple[Hit, ...]]]:
    sessions = conversation()
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=errors, disable=as_json) as progress:
        starting = progress.add_task("Starting Ray and the actors", total=STEPS_COUNT)
        start_ray(NAMESPACE)
        progress.advance(starting)
        cluster = Cluster(ClusterConfig(store=store, namespace=NAMESPACE))
        cluster.ensure_shards()
        progress.advance(starting)
        client = Client(NAMESPACE)
        progress.advance(starting)
        try:
            _submit(client, sessions, progress)
            answers = [(question, client.search(USER, question.text, limit=3).hits) for question in QUESTIONS]
            state = client.status(USER)[0]
        finally:
            cluster.stop()
    if not as_json:
        console.print(
            f"\n{state.turns_count} messages of {len(sessions)} sessions are kept; {state.entries_count} memories were "
            "drawn from them. A new session asks:\n"
        )
        for question, hits in answers:
            _print_answer(question, hits)
    return answers


def _submit(client: Client, sessions: list[Session], progress: Progress) -> None:
    submitting = progress.add_task("Submitting sessions", total=len(sessions))
    for session in sessions:
        client.submit_session(USER, session.session_id, session.messages)
        progress.advance(submitting)
    extracting = progress.add_task("Extracting memories", total=len(sessions))

    def show(waiting: int) -> None:
        progress.update(extracting, completed=len(sessions) - waiting)

    client.wait(USER, EXTRACTION_SECONDS_MAX, progress=show)


def _is_right(question: Question, hits: tuple[Hit, ...]) -> bool:
    """Whether the first hit says what was expected."""
    if not hits:
        return False
    entry = hits[0].entry
    people = " ".join(entry.participants) if entry else ""
    return question.expected in f"{hits[0].text} {hit_time(hits[0])} {people}"


def _as_json(question: Question, hits: tuple[Hit, ...]) -> dict[str, Any]:
    return {
        "question": question.text,
        "shows": question.shows,
        "expected": question.expected,
        "right": _is_right(question, hits),
        "hits": [hit_as_json(hit, explain=False) for hit in hits],
    }


def _print_answer(question: Question, hits: tuple[Hit, ...]) -> None:
    is_right = _is_right(question, hits)
    console.print(f"[bold]{question.text}[/bold]  [dim]{question.shows}[/dim]")
    if hits:
        hit = hits[0]
        date = hit_time(hit)
        mark = "[green]→[/green]" if is_right else "[red]✗[/red]"
        console.print(f"  {mark} ", end="")
        console.print(shown_text(hit.text), markup=False, end="")
        console.print(f"  [cyan]{date}[/cyan]" if date else "")
        for source in hit.sources[-2:]:
            console.print(f"    said by {shown_source(source)}: {shown_text(source.text)}", markup=False, style="dim")
    else:
        console.print("  [red]✗[/red] nothing found")
    console.print()


def _print_next(*, kept: str | None, right: int) -> None:
    console.print(f"{right} of {len(QUESTIONS)} answers as expected.", style="bold")
    console.print("\nWhat to try next:")
    store = kept or "./memory"
    for line in (
        f"memoray up --store {store}",
        "memoray submit TRANSCRIPT.jsonl --app my-app --user me   # or a LoCoMo file: --format locomo",
        'memoray search "a question" --app my-app --user me --explain',
        "memoray down",
    ):
        console.print(f"  {line}", markup=False)
    console.print("From Python: `memoray.connect()`; README.md has a first example.", markup=False)
