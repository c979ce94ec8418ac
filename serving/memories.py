"""Commands about the memories of one user."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from memoray.entries import Kind
from memoray.errors import InvalidRequestError
from memoray.keys import UserKey
from memoray.operations import OutcomeStatus
from memoray.serving.options import (
    Address,
    App,
    AsJson,
    AsOf,
    Namespace,
    Store,
    User,
    connected,
    parsed_moment,
    parsed_time,
)
from memoray.serving.output import (
    console,
    entries_table,
    errors,
    history_table,
    hit_as_json,
    hits_table,
    outcomes_table,
    print_json,
)
from memoray.serving.transcripts import Session, load_transcript

if TYPE_CHECKING:
    from memoray.engine.memory import Memory
    from memoray.events import Receipt
    from memoray.operations import Outcome

EXTRACTION_SECONDS_MAX = 3600.0

Topics = Annotated[list[str] | None, typer.Option("--topic", help="A topic; may be given several times.")]
People = Annotated[list[str] | None, typer.Option("--with", help="A participant; may be given several times.")]
When = Annotated[
    str | None, typer.Option("--when", help="When it happened: ISO 8601; a year, month, week or day will do.")
]
Place = Annotated[str | None, typer.Option("--at", help="Where.")]


def submit(
    file: Annotated[Path, typer.Argument(help="JSON or JSON lines transcript, or a LoCoMo file.")],
    app: App,
    user: User,
    form: Annotated[str, typer.Option("--format", help="auto, json, jsonl or locomo.")] = "auto",
    session: Annotated[
        str | None, typer.Option(help="Session of messages that name none; default: the file's name.")
    ] = None,
    whole: Annotated[
        bool, typer.Option("--whole", help="Each session is its whole transcript: keep what is new.")
    ] = False,
    polluted: Annotated[
        bool, typer.Option("--polluted", help="The sessions hold outside content; see `up --skip-polluted`.")
    ] = False,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Wait until everything is extracted.")] = True,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Hand over the messages of a conversation. Doing it again with the same file changes nothing."""
    sessions = load_transcript(file, form, session)
    client, key = connected(address, namespace, store), UserKey(app, user)
    seq_before = client.status(key)[0].seq
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=errors,
        disable=as_json,
    ) as progress:
        receipts = _submit_all(client, key, sessions, progress, whole=whole, is_polluted=polluted)
        if wait:
            _await_extraction(client, key, progress)
    state = client.status(key)[0]
    # A repeat is given its first receipt, whose turns were kept then and not now.
    repeats = [receipt for receipt in receipts if receipt.seq is not None and receipt.seq <= seq_before]
    repeated = sum(len(receipt.turn_ids) for receipt in repeats)
    left_out: dict[str, int] = {}
    for receipt in receipts:
        for reason, count in receipt.left_out.items():
            left_out[reason] = left_out.get(reason, 0) + count
    counts = {
        "sessions": len(receipts),
        "turns_kept": sum(len(receipt.turn_ids) for receipt in receipts) - repeated,
        "turns_known": sum(receipt.known for receipt in receipts) + repeated,
        "left_out": left_out,
        "entries": state.entries_count,
        "turns": state.turns_count,
        "jobs_waiting": state.jobs_count,
    }
    if as_json:
        print_json({**counts, "receipts": receipts})
        return
    console.print(
        f"{counts['turns_kept']} turns kept in {counts['sessions']} sessions, {counts['turns_known']} known before."
    )
    for reason, count in left_out.items():
        console.print(f"  left out: {count} ({reason})")
    for reason in sorted({receipt.reason for receipt in receipts if receipt.reason}):
        count = sum(len(receipt.turn_ids) for receipt in receipts if receipt.reason == reason)
        console.print(f"  kept, not extracted: {count} ({reason})")
    if counts["turns_known"] and not state.turns_count:
        console.print("  They were cleared since; a message that was cleared does not come back.")
    waiting = f" {state.jobs_count} jobs wait; `memoray status` says how they are." if state.jobs_count else ""
    console.print(f"{state.turns_count} turns and {state.entries_count} memories of {key} now.{waiting}", markup=False)


def _submit_all(
    client: Memory, user: UserKey, sessions: list[Session], progress: Progress, *, whole: bool, is_polluted: bool
) -> list[Receipt]:
    task = progress.add_task("Submitting", total=len(sessions))
    receipts: list[Receipt] = []
    for session in sessions:
        # Made of the contents, so that running the command again is a repeat and not a second submit.
        contents = msgspec.json.encode((session.session_id, session.messages, *([True] if is_polluted else [])))
        request_id = "cli-" + hashlib.blake2b(contents, digest_size=16).hexdigest()
        submit_one = client.submit_session if whole else client.submit
        receipts.append(
            submit_one(user, session.session_id, session.messages, request_id=request_id, is_polluted=is_polluted)
        )
        progress.advance(task)
    return receipts


def _await_extraction(client: Memory, user: UserKey, progress: Progress) -> None:
    total = len(client.status(user)[0].jobs)
    task = progress.add_task("Extracting", total=total)

    def show(waiting: int) -> None:
        progress.update(task, completed=max(0, total - waiting), total=max(total, waiting))

    client.wait(user, EXTRACTION_SECONDS_MAX, progress=show)
    progress.update(task, completed=total)


def add(
    text: Annotated[str, typer.Argument(help="What to remember.")],
    app: App,
    user: User,
    kind: Annotated[Kind, typer.Option(help="fact or episode.")] = Kind.FACT,
    topic: Topics = None,
    when: When = None,
    with_: People = None,
    at: Place = None,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Remember a text as it is."""
    event_time, precision = parsed_time(when, "--when")
    outcome = connected(address, namespace, store).add(
        UserKey(app, user),
        text,
        kind=kind,
        topics=topic or [],
        event_time=event_time,
        event_precision=precision,
        participants=with_ or [],
        location=at or "",
    )
    _print_outcome(outcome, as_json=as_json)


def update(
    entry_id: Annotated[str, typer.Argument(help="Id of the memory, as `memoray list` shows it.")],
    app: App,
    user: User,
    text: Annotated[str | None, typer.Option(help="New text.")] = None,
    kind: Annotated[Kind | None, typer.Option(help="fact or episode.")] = None,
    topic: Topics = None,
    when: When = None,
    with_: People = None,
    at: Place = None,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Change a memory; what is not given stays. The old version stays in the history."""
    event_time, precision = parsed_time(when, "--when")
    outcome = connected(address, namespace, store).update(
        UserKey(app, user),
        entry_id,
        text=text,
        kind=kind,
        topics=topic,
        event_time=event_time,
        event_precision=None if event_time is None else precision,
        participants=with_,
        location=at,
    )
    _print_outcome(outcome, as_json=as_json)


def delete(
    entry_id: Annotated[str, typer.Argument(help="Id of the memory, as `memoray list` shows it.")],
    app: App,
    user: User,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Take a memory out of every current read; the history keeps it."""
    _print_outcome(connected(address, namespace, store).delete(UserKey(app, user), entry_id), as_json=as_json)


def clear(
    app: App,
    user: User,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask.")] = False,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Take all memories and messages of a user out of every current read; the history keeps them."""
    key = UserKey(app, user)
    if not yes:
        if not sys.stdin.isatty():
            message = f"clear would take away everything of {key}; add --yes to mean it"
            raise InvalidRequestError(message)
        typer.confirm(f"Take away everything of {key}?", abort=True, err=True)
    _print_outcome(connected(address, namespace, store).clear(key), as_json=as_json)


def undo(
    app: App,
    user: User,
    seq: Annotated[int | None, typer.Option(help="A seq of the change, as `memoray history` shows it.")] = None,
    job: Annotated[str | None, typer.Option(help="The job, as `memoray history` shows it.")] = None,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Bring memories back to what they were before a change; what was changed since stays. Itself a change."""
    answer = connected(address, namespace, store).undo(UserKey(app, user), seq=seq, job_id=job)
    if as_json:
        print_json(answer)
    else:
        console.print(outcomes_table(answer.outcomes))
        console.print(f"--seq {answer.seq} undoes this undo.", style="dim")
    if all(outcome.status is OutcomeStatus.REFUSED for outcome in answer.outcomes):
        message = "nothing was undone: every memory of that change was changed since"
        raise InvalidRequestError(message)


def list_entries(
    app: App,
    user: User,
    limit: Annotated[int | None, typer.Option(help="Most to show; default: all.")] = None,
    as_of: AsOf = None,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """The memories of a user, most recently changed first."""
    answer = connected(address, namespace, store).read(UserKey(app, user), limit, as_of=parsed_moment(as_of))
    if as_json:
        print_json(answer)
    else:
        console.print(entries_table(answer))


def history(
    entry_id: Annotated[str, typer.Argument(help="Id of the memory; a deleted one's too.")],
    app: App,
    user: User,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Why a memory is what it is: every change, with its reason and the messages it comes from."""
    answer = connected(address, namespace, store).history(UserKey(app, user), entry_id)
    if as_json:
        print_json(answer)
    else:
        console.print(history_table(answer))


def search(
    query: Annotated[list[str], typer.Argument(help="What to look for; several, in one answer, by several arguments.")],
    app: App,
    user: User,
    limit: Annotated[int, typer.Option(help="Most hits to show.")] = 10,
    kind: Annotated[
        Kind | None, typer.Option(help="Only facts, or only episodes; others fill up when there are few.")
    ] = None,
    after: Annotated[str | None, typer.Option(help="Happened at or after; ISO 8601.")] = None,
    before: Annotated[str | None, typer.Option(help="Happened before; ISO 8601.")] = None,
    dated_only: Annotated[bool, typer.Option("--dated-only", help="Only what has a date of its own.")] = False,
    recorded_after: Annotated[str | None, typer.Option(help="Recorded at or after; ISO 8601.")] = None,
    recorded_before: Annotated[str | None, typer.Option(help="Recorded before; ISO 8601.")] = None,
    with_: People = None,
    at: Place = None,
    topic: Topics = None,
    session: Annotated[
        list[str] | None, typer.Option("--session", help="From this session; may be given several times.")
    ] = None,
    turns: Annotated[bool, typer.Option("--turns/--no-turns", help="Search messages beside memories.")] = True,
    min_score: Annotated[float, typer.Option(help="Leave out hits below this score.")] = 0.0,
    by_time: Annotated[
        bool, typer.Option("--order-by-event-time", help="Show the hits in the order in which they happened.")
    ] = False,
    as_of: AsOf = None,
    page: Annotated[str, typer.Option(help="Go on behind an answer: its next page.")] = "",
    explain: Annotated[bool, typer.Option("--explain", help="Show how each score came about.")] = False,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Find the memories and messages that matter for a question."""
    answer = connected(address, namespace, store).search(
        UserKey(app, user),
        query,
        limit=limit,
        kind=kind,
        event_after=parsed_time(after, "--after")[0],
        event_before=parsed_time(before, "--before")[0],
        dated_only=dated_only,
        recorded_after=parsed_time(recorded_after, "--recorded-after")[0],
        recorded_before=parsed_time(recorded_before, "--recorded-before")[0],
        participants=with_ or [],
        location=at or "",
        topics=topic or [],
        sessions=session or [],
        turns=turns,
        min_score=min_score,
        order_by_event_time=by_time,
        page=page,
        as_of=parsed_moment(as_of),
        explain=explain,
    )
    if as_json:
        print_json({"hits": [hit_as_json(hit, explain=explain) for hit in answer.hits], "next_page": answer.next_page})
        return
    if answer.keyword_only:
        errors.print("The embedder gave no vector; only words were matched.", style="yellow")
    console.print(hits_table(answer.hits, explain=explain) if answer.hits else "Nothing found.")
    if answer.next_page:
        console.print(f"More with --page {answer.next_page}", style="dim", soft_wrap=True)


def _print_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Show what became of an operation; a refusal ends the command with an error."""
    if outcome.status in {OutcomeStatus.REFUSED, OutcomeStatus.FAILED}:
        message = f"{outcome.status.value}: {outcome.reason}"
        if outcome.entry_id:
            message += f" ({outcome.entry_id})"
        raise InvalidRequestError(message)
    if as_json:
        print_json(outcome)
        return
    version = f", version {outcome.version}" if outcome.version else ""
    count = f", {outcome.count} memories" if outcome.count is not None else ""
    console.print(f"{outcome.status.value}: {outcome.entry_id or ''}{version}{count} ({outcome.reason})", markup=False)
