"""The command line. Only what every command needs is imported here, so that `--help` is quick."""

from __future__ import annotations

from typing import Annotated

import typer

import memoray
from memoray.serving import deployment, memories
from memoray.serving.options import AsJson, command

app = typer.Typer(
    name="memoray",
    help="Long-term memory for LLM agents, on Ray.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        typer.echo(memoray.__version__)
        raise typer.Exit


@app.callback()
def options(
    _version_: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Long-term memory for LLM agents, on Ray."""


@app.command()
@command
def demo(
    store: Annotated[
        str | None, typer.Option(help="Keep the store in this directory; default: a temporary one.")
    ] = None,
    *,
    as_json: AsJson = False,
) -> None:
    """Remember a conversation of several weeks, and answer questions about it in a new session."""
    from memoray.serving.demo import run_demo  # noqa: PLC0415 - Ray takes a second to import

    if not run_demo(store, as_json=as_json):
        raise typer.Exit(1)


app.command()(command(deployment.up))
app.command()(command(deployment.down))
app.command()(command(deployment.status))
app.command()(command(deployment.verify))
app.command()(command(memories.submit))
app.command()(command(memories.add))
app.command()(command(memories.update))
app.command()(command(memories.delete))
app.command()(command(memories.clear))
app.command()(command(memories.undo))
app.command("list")(command(memories.list_entries))
app.command()(command(memories.history))
app.command()(command(memories.search))


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
