"""Options that several commands share, and how a command runs: one readable line for an error, JSON where asked for."""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
from contextvars import ContextVar
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from memoray.entries import Precision
from memoray.errors import InvalidRequestError, MemorayError
from memoray.serving.output import errors
from memoray.storage.manifest import shard_directory
from memoray.storage.owner_lock import live_owner

if TYPE_CHECKING:
    from collections.abc import Callable

    from memoray.engine.memory import Memory

F = TypeVar("F", bound="Callable[..., Any]")

Address = Annotated[
    str | None,
    typer.Option(help="Ray cluster; default: RAY_ADDRESS, else the one on this machine.", show_default=False),
]
Namespace = Annotated[str, typer.Option(help="Ray namespace of the deployment.")]
App = Annotated[str, typer.Option("--app", help="Application name: half of the boundary that nothing crosses.")]
User = Annotated[str, typer.Option("--user", help="User id: the other half.")]
Store = Annotated[
    str | None,
    typer.Option(
        help="Work on this store: through the deployment that has it, else in this process, without Ray.",
        show_default=False,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else, to standard output.")]
Takeover = Annotated[
    bool, typer.Option("--takeover", help="Take the store over from its owner, which ends, even if it is alive.")
]
AsOf = Annotated[
    str | None,
    typer.Option(
        "--as-of", help="As it would have been answered: after the event of this seq, or at this time, ISO 8601."
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show where an error came from.")]

USAGE_EXIT = 2

# What may be given of a date, what it lacks of the first day that it names, and how exact it is.
_SPANS = (
    (re.compile(r"\d{4}"), "-01-01", Precision.YEAR),
    (re.compile(r"\d{4}-\d{2}"), "-01", Precision.MONTH),
    (re.compile(r"\d{4}-W\d{2}"), "", Precision.WEEK),
    (re.compile(r"\d{4}-\d{2}-\d{2}"), "", Precision.DAY),
)

# What the command that runs must close before it ends.
_at_end: ContextVar[contextlib.ExitStack] = ContextVar("at_end")
_takes_over: ContextVar[bool] = ContextVar("takes_over", default=False)


def command(function: F) -> F:
    """Give a command the option `--debug`, without which an error is one line on standard error.

    One that takes `--store` gets `--takeover` beside it, for `connected`. The exit code is 2 where the caller can
    correct the call, 1 for any other error.
    """

    @functools.wraps(function)
    def run(*args: object, debug: bool = False, takeover: bool = False, **kwargs: object) -> object:
        try:
            with contextlib.ExitStack() as at_end:
                _at_end.set(at_end)
                _takes_over.set(takeover)
                return function(*args, **kwargs)
        except BrokenPipeError:  # whoever reads our output has seen enough; typer ends quietly
            raise
        except (MemorayError, OSError) as error:
            if debug or os.environ.get("MEMORAY_DEBUG"):
                raise
            errors.print(f"memoray: {' '.join(str(error).split())}", style="red", markup=False, soft_wrap=True)
            raise typer.Exit(USAGE_EXIT if isinstance(error, InvalidRequestError) else 1) from None

    signature = inspect.signature(function, eval_str=True)
    added = {"debug": Debug}
    if any(part.annotation == Store for part in signature.parameters.values()):
        added["takeover"] = Takeover
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for name, annotation in added.items()
    ]
    run.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *options])  # type: ignore[attr-defined]
    run.__annotations__ = {**{name: part.annotation for name, part in signature.parameters.items()}, **added}
    return run  # type: ignore[return-value]  # the same function with one more option


def connected(address: str | None, namespace: str, store: str | None) -> Memory:
    """The running deployment; with a store the one that has it, else the engine in this process until the command ends.

    Raises:
        InvalidRequestError: both a store and an address are named, or a takeover without a store.
        OwnedElsewhereError: another process than a deployment's has the store.
    """
    takes_over = _takes_over.get()
    if store is None:
        if takes_over:
            message = "--takeover takes over a store; name it with --store"
            raise InvalidRequestError(message)
        return _joined(address, namespace)
    if address is not None:
        message = "--store finds the deployment of a directory by itself, --address names one; give one of them"
        raise InvalidRequestError(message)
    owner = live_owner(Path(shard_directory(str(Path(store).absolute()), 0)))
    if owner is not None and owner.ray_address and not takes_over:
        return _joined(owner.ray_address, owner.namespace)
    from memoray.engine.embedded import open_store  # noqa: PLC0415 - the indexes take a moment to import

    memory = open_store(store, takes_over=takes_over)
    _at_end.get().callback(memory.close)
    return memory


def _joined(address: str | None, namespace: str) -> Memory:
    from memoray.actors.client import connect  # noqa: PLC0415 - Ray takes a second to import

    return connect(address, namespace=namespace)


def parsed_time(value: str | None, option: str) -> tuple[datetime | None, Precision]:
    """A time given on the command line, and how exact it is: ISO 8601, or its year, month, week or day alone.

    Raises:
        InvalidRequestError: it is not.
    """
    if value is None:
        return None, Precision.INSTANT
    lacking, precision = "", Precision.INSTANT
    for form, rest, span in _SPANS:
        if form.fullmatch(value):
            lacking, precision = rest, span
    try:
        return datetime.fromisoformat(value + lacking), precision
    except ValueError:
        message = f"{option} {value!r}; give ISO 8601, such as 2026-03-12 or 2026-03-12T16:00+01:00"
        raise InvalidRequestError(message) from None


def parsed_moment(value: str | None) -> int | datetime | None:
    """What `--as-of` says: a number is a seq, anything else a time.

    Raises:
        InvalidRequestError: it is neither.
    """
    return int(value) if value is not None and value.isdecimal() else parsed_time(value, "--as-of")[0]
