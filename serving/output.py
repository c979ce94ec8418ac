"""How answers look on a terminal, and as JSON. Pure but for printing."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from memoray.entries import Entry, Precision

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from memoray.operations import Outcome
    from memoray.requests import HistoryAnswer, Hit, ReadAnswer, ShardStatus, Source

console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

_CONTROLS = {code: "\ufffd" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\n\t"}


def plain(value: object) -> object:
    """A value as JSON can hold it: a struct as an object with all its fields, those at their default too."""
    if isinstance(value, msgspec.Struct):
        return {name: plain(getattr(value, name)) for name in value.__struct_fields__}
    if isinstance(value, Mapping):
        items = cast("Mapping[object, object]", value).items()
        return {str(key): plain(item) for key, item in items}
    if isinstance(value, list | tuple):
        return [plain(item) for item in cast("Sequence[object]", value)]
    return msgspec.to_builtins(value)


def print_json(value: object) -> None:
    """A value as JSON on standard output, times as ISO 8601."""
    sys.stdout.write(json.dumps(plain(value), ensure_ascii=False, indent=2) + "\n")


def shown_time(moment: datetime | None, precision: Precision = Precision.INSTANT) -> str:
    """A date as exact as it is known; "" for none."""
    if moment is None:
        return ""
    if precision is Precision.INSTANT:
        return f"{moment:%Y-%m-%d %H:%M}" if moment.hour or moment.minute else f"{moment:%Y-%m-%d}"
    forms = {
        Precision.DAY: "%Y-%m-%d",
        Precision.WEEK: "week of %Y-%m-%d",
        Precision.MONTH: "%Y-%m",
        Precision.YEAR: "%Y",
    }
    return moment.strftime(forms[precision])


def hit_time(hit: Hit) -> str:
    """When a hit happened, in the zone that it was told in, as exact as it is known."""
    if hit.entry is not None:
        return shown_time(hit.entry.local_event_time, hit.entry.event_precision)
    return shown_time(None if hit.turn is None else hit.turn.local_time)


def shown_text(text: str) -> str:
    """A text without what steers a terminal: it was said by anybody."""
    return text.translate(_CONTROLS)


def shown_source(source: Source) -> str:
    """Who said it, when and where."""
    said = f"{source.speaker}, {source.local_time:%Y-%m-%d %H:%M}, {source.session_id}"
    return shown_text(f"{said} ({source.message_id})" if source.message_id else said)


def hit_as_json(hit: Hit, *, explain: bool) -> dict[str, Any]:
    """A hit as `search --json` gives it."""
    shown: dict[str, Any] = {
        "type": hit.type,
        "id": hit.id,
        "text": hit.text,
        "score": hit.score,
        "event_time": None if hit.event_time is None else hit.event_time.isoformat(),
        "sources": plain(hit.sources),
    }
    if hit.entry is not None:
        shown["kind"] = hit.entry.kind.value
    else:
        shown |= {"before": plain(hit.before), "after": plain(hit.after), "superseded": hit.is_superseded}
    if explain:
        shown["shares"] = plain(hit.shares)
    return shown


def hits_table(hits: Sequence[Hit], *, explain: bool) -> Table:
    """Hits with the messages they come from."""
    table = Table(show_lines=True, expand=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("what", ratio=3)
    table.add_column("date", no_wrap=True)
    table.add_column("said by", ratio=2)
    if explain:
        table.add_column("score", ratio=2)
    for number, hit in enumerate(hits, 1):
        kind = hit.type if hit.entry is None else hit.entry.kind.value
        if hit.is_superseded:
            kind += ", superseded"
        what = Text.assemble((f"{kind}  ", "dim"), shown_text(hit.text))
        if hit.before is not None:
            what = Text.assemble((f"{shown_text(hit.before.text)}\n", "dim"), what)
        if hit.after is not None:
            what = Text.assemble(what, (f"\n{shown_text(hit.after.text)}", "dim"))
        sources = "\n".join(shown_source(source) for source in hit.sources[:3])
        row: list[str | Text] = [str(number), what, hit_time(hit), Text(sources)]
        if explain:
            row.append(Text(explanation(hit)))
        table.add_row(*row)
    return table


def explanation(hit: Hit) -> str:
    """The arithmetic of a hit's score."""
    lines = [f"{hit.score:.5f} ="]
    for part in hit.shares:
        leg = f"{part.leg} of query {part.query + 1}" if part.query else part.leg
        lines.append(f"  {part.share:.5f}  {leg} rank {part.rank} (weight {part.weight:g}, raw {part.raw:.3f})")
    return "\n".join(lines)


def entries_table(answer: ReadAnswer) -> Table:
    """Entries, newest first."""
    table = Table(expand=True)
    for name in ("id", "kind", "date", "v"):
        table.add_column(name, no_wrap=True)
    table.add_column("memory", ratio=3)
    table.add_column("said by", ratio=2)
    for entry in answer.entries:
        table.add_row(*_entry_cells(entry, answer))
    return table


def _last_sources(entry: Entry, sources: Mapping[str, Source]) -> Text:
    """The last two messages that an entry comes from."""
    return Text("\n".join(shown_source(sources[key]) for key in entry.sources[-2:] if key in sources))


def _entry_cells(entry: Entry, answer: ReadAnswer) -> list[str | Text]:
    date = shown_time(entry.local_event_time, entry.event_precision)
    return [
        entry.id,
        entry.kind.value,
        date,
        str(entry.version),
        Text(shown_text(entry.text)),
        _last_sources(entry, answer.sources),
    ]


def history_table(answer: HistoryAnswer) -> Table:
    """Changes of one memory, oldest first."""
    table = Table(expand=True)
    for name in ("when", "what", "v", "seq"):
        table.add_column(name, no_wrap=True)
    for name, ratio in (("memory", 3), ("why", 2), ("said by", 2)):
        table.add_column(name, ratio=ratio)
    for change in answer.changes:
        by = " ".join(part for part in (change.model or "by hand", change.operation, change.job_id) if part)
        table.add_row(
            shown_time(change.recorded_at),
            change.what,
            str(change.entry.version),
            str(change.seq),
            Text(shown_text(change.entry.text)),
            Text(shown_text(f"{change.reason} ({by})")),
            _last_sources(change.entry, answer.sources),
        )
    return table


def outcomes_table(outcomes: Sequence[Outcome]) -> Table:
    """What became of each change of an undo."""
    table = Table()
    for name in ("memory", "v", "what", "why"):
        table.add_column(name, no_wrap=name == "memory")
    for outcome in outcomes:
        named = outcome.entry_id or (f"{outcome.count} memories" if outcome.count else "")
        version = "" if outcome.version is None else str(outcome.version)
        table.add_row(named, version, outcome.action or outcome.status.value, Text(shown_text(outcome.reason)))
    return table


def status_table(statuses: Sequence[ShardStatus]) -> Table:
    """Shards, or one user's shard."""
    table = Table()
    for name in ("shard", "state", "epoch", "seq", "users", "entries", "turns", "jobs", "no vector yet"):
        table.add_column(name, justify="left" if name == "state" else "right")
    for status in statuses:
        table.add_row(
            str(status.shard),
            Text(status.state if not status.error else shown_text(f"{status.state}: {status.error}")),
            *(str(number) for number in (status.epoch, status.seq, status.users_count, status.entries_count)),
            *(str(number) for number in (status.turns_count, status.jobs_count, status.unembedded_count)),
        )
    return table
