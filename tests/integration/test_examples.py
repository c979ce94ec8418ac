"""The examples run as they stand, against a real deployment of two shards."""

from __future__ import annotations

import json
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoray.actors.client import Client
from memoray.actors.cluster import Cluster, ClusterConfig
from memoray.keys import UserKey, shard_of

EXAMPLES = Path(__file__).parents[2] / "examples"
NAMESPACE = "examples-test"


@pytest.fixture(scope="module")
def client(ray_session: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    assert ray_session
    store = str(tmp_path_factory.mktemp("examples") / "store")
    cluster = Cluster(ClusterConfig(store=store, shards_count=2, namespace=NAMESPACE))
    cluster.ensure_shards()
    yield Client(NAMESPACE)
    cluster.stop()


@pytest.fixture(autouse=True)
def namespace(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORAY_NAMESPACE", NAMESPACE)


@pytest.mark.parametrize("shard", [0, 1])
def test_the_raw_driver_reads_its_receipt(
    client: Client, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shard: int
) -> None:
    user = next(key for n in range(100) if shard_of(key := UserKey("raw", f"u{n}"), 2) == shard)
    monkeypatch.setattr(sys, "argv", ["raw_driver.py", user.app_name, user.user_id, "The spare key is under the fern."])
    runpy.run_path(str(EXAMPLES / "raw_driver.py"), run_name="__main__")
    receipt = json.loads(capsys.readouterr().out)
    assert receipt["status"] == "accepted"
    client.wait(user)
    hits = client.search(user, "spare key").hits
    assert receipt["turn_ids"] == [source.turn_id for source in hits[0].sources]


def test_the_raw_driver_imports_nothing_of_ours() -> None:
    text = (EXAMPLES / "raw_driver.py").read_text(encoding="utf-8")
    assert "import memoray" not in text
    assert "from memoray" not in text


def test_the_quickstart_finds_what_was_said(client: Client, capsys: pytest.CaptureFixture[str]) -> None:
    assert client.plan.shards_count == 2
    runpy.run_path(str(EXAMPLES / "quickstart.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert shown.startswith("accepted 2 turns\n")
    assert "window seats" in shown.splitlines()[1]
    assert "PRELOADED_USER_MEMORIES BEGINS" in shown
