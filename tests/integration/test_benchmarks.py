"""The benchmark runs and puts every figure beside its rival's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import ray


def test_the_engine_benchmark_prints_a_ratio_for_each_figure() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.engine", "2x300", "--rounds", "20"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    for name in ("bulk add", "durable single add", "search", "search right after an add", "reopen"):
        assert name in done.stdout
    assert "ratio" in done.stdout


def test_the_benchmark_of_clients_measures_each_kind_with_one_and_with_many(ray_session: str) -> None:
    assert ray_session
    options = ["--clients", "4", "--drivers", "2", "--shards", "2", "--seconds", "0.2", "--json"]
    address = ray.get_runtime_context().gcs_address
    done = subprocess.run(  # noqa: S603 - python
        [sys.executable, "-m", "benchmarks.ray_clients", "--address", address, *options],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert set(result["rates"]) == {"empty call", "search", "add", "submit"}
    for one, many in result["rates"].values():
        assert (one["clients"], many["clients"]) == (1, 4)
        assert min(one["per_second"], many["per_second"], one["p50_ms"], many["cpu_us"]["shard-1"]) > 0
    assert result["texts_embedded_per_second"] > 0


TALK = {
    "speaker_a": "Ada",
    "speaker_b": "Bo",
    "session_1_date_time": "9:05 am on 3 June, 2024",
    "session_1": [
        {"speaker": "Ada", "dia_id": "D1:1", "text": "I planted plum trees behind the barn yesterday."},
        {"speaker": "Bo", "dia_id": "D1:2", "text": "My ferry to the island leaves at noon."},
        {"speaker": "Ada", "dia_id": "D1:3", "text": "Wow!"},
    ],
    "qa": [
        {"question": "What did Ada plant?", "evidence": ["D1:1; D1:3"], "category": 1},
        {"question": "When does the ferry leave?", "evidence": ["(D1:02)"], "category": 4},
        {"question": "Nothing is known of this", "evidence": [], "category": 2},
    ],
}


def extractor_benchmark(data: Path, conversation: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "benchmarks.extractor", "--data", str(data), "--json"]
    return subprocess.run(  # noqa: S603 - our own
        [*command, "--conversations", conversation],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize("form", ["a file for each", "one list"])
def test_the_extractors_benchmark_counts_what_is_cited_and_what_is_found(tmp_path: Path, form: str) -> None:
    if form == "one list":
        (tmp_path / "locomo10.json").write_text(
            json.dumps([{"sample_id": "conv-7", "conversation": TALK, "qa": TALK["qa"]}])
        )
    else:
        (tmp_path / "7.json").write_text(json.dumps(TALK))
    done = extractor_benchmark(tmp_path, "7")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    (talk,) = report["conversations"]
    assert talk["coverage"] == {"cited": 2, "turns": 3, "entries": 2}
    assert talk["recall"]["turns + facts"]["10"] >= talk["recall"]["turns"]["10"] >= 75
    assert report["dates"]["of"] == 100
    assert report["dates"]["right"] >= 90


def test_a_conversation_that_is_not_there_is_named(tmp_path: Path) -> None:
    done = extractor_benchmark(tmp_path, "99")
    assert done.returncode == 2
    assert "no conversation 99; there are: none" in done.stderr
